"""What a loss took, in a few statements: allocations of its nodes, and what was placed.

In: the id of a story of lost nodes, and the namespaces that count. Out: plain rows. An allocation
remembers when it was lost, whatever its node said of it later. Those that were collected since are
not among them.
"""

from cluster.store.lost_allocations import (
    MOST_LOST,
    LostAlloc,
    ReplacedAlloc,
    StoryLosses,
    lost_at,
)
from cluster.store.ports import Namespaces
from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import within
from cluster.store.timestamps import instant
from scheduler.state.nouns import ALLOCATIONS
from scheduler.state.story_nouns import STORY_NODES
from scheduler.structs.story import StoryKind


def losses(reader: DjangoStateReader, story_id: str, namespaces: Namespaces) -> StoryLosses:
    """Of one story."""
    story = reader.story(story_id)
    links = reader.list_by(STORY_NODES, "story", story_id)
    since = {link.node_id: link.index for link in links if link.kind is StoryKind.LOSS}
    if story is None or not since:
        return StoryLosses((), (), is_cut=False)
    where, spaces = within(
        namespaces,
        "node_id IN (SELECT node_id FROM story_node WHERE story_id = %s AND kind = 'loss')"
        " AND create_index <= %s AND modify_index >= %s",
    )
    held = reader.select(
        ALLOCATIONS,
        where.removeprefix(" WHERE "),
        [story_id, max(since.values()), story.create_index, *spaces],
        f"create_index, id LIMIT {MOST_LOST + 1}",
    )
    lost = [
        LostAlloc.of(alloc)
        for alloc in held[:MOST_LOST]
        if alloc.create_index <= since[alloc.node_id] and lost_at(alloc) >= story.create_time
    ]
    among, spaces = within(namespaces, "e.story_id = %s", "e.namespace")
    made = reader.rows(
        "SELECT a.id, a.create_index, a.created_at"  # noqa: S608 - names of our own tables only
        f" FROM evaluation e JOIN allocation a ON a.eval_id = e.id{among}",
        [story_id, *spaces],
    )
    return StoryLosses(
        lost=tuple(sorted(lost)),
        placed=tuple(
            sorted(ReplacedAlloc(str(key), int(index), instant(at)) for key, index, at in made)
        ),
        is_cut=len(held) > MOST_LOST,
    )
