"""What a loss took, in a few statements: allocations of its nodes, and what was placed.

In: the id of a story of lost nodes, and the namespaces that count. Out: plain rows. An allocation
remembers when it was lost, whatever its node said of it later. Those that were collected since are
not among them.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import msgspec

from cluster.store.lost_allocations import (
    MOST_LOST,
    LostAlloc,
    ReplacedAlloc,
    Stood,
    StoryLosses,
    lost_at,
)
from cluster.store.ports import Namespaces
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.tallies import within
from cluster.store.timestamps import instant
from scheduler.structs.job import JobType
from scheduler.structs.story import StoryKind

#: Databases bound how many parameters a statement may have.
_KEYS_AT_ONCE = 500
_JOBS_AT_ONCE = _KEYS_AT_ONCE // 2
#: Their allocations on all nodes have one name.
_ONE_ON_EACH_NODE = (JobType.SYSTEM, JobType.SYSBATCH)
_STOOD: msgspec.msgpack.Decoder[Stood] = msgspec.msgpack.Decoder(Stood)


def losses(reader: DjangoStateReader, story_id: str, namespaces: Namespaces) -> StoryLosses:
    """Of one story."""
    story = reader.story(story_id)
    links = reader.rows(
        "SELECT node_id, linked_index FROM story_node WHERE story_id = %s AND kind = %s",
        (story_id, StoryKind.LOSS.value),
    )
    since = {str(node_id): int(index) for node_id, index in links}
    if story is None or not since:
        return StoryLosses((), (), is_cut=False)
    where, spaces = within(
        namespaces,
        "node_id IN (SELECT node_id FROM story_node WHERE story_id = %s AND kind = 'loss')"
        " AND create_index <= %s AND modify_index >= %s",
    )
    # Ids are ordered and cut: to carry the bodies along would cost three times as much.
    first = f"SELECT id FROM allocation{where} ORDER BY create_index, id LIMIT {MOST_LOST + 1}"  # noqa: S608 - names of our own tables only
    held = reader.rows(
        f"SELECT body FROM allocation WHERE id IN ({first}) ORDER BY create_index, id",  # noqa: S608 - our own text
        [story_id, max(since.values()), story.create_index, *spaces],
    )
    stood = [_STOOD.decode(body) for (body,) in held[:MOST_LOST]]
    lost = [
        LostAlloc.of(alloc)
        for alloc in stood
        if alloc.create_index <= since[alloc.node_id] and lost_at(alloc) >= story.create_time
    ]
    lost = _with_namesakes(reader, lost, story.create_index)
    return StoryLosses(
        lost=tuple(sorted(lost)),
        placed=tuple(sorted(_placed(reader, [alloc.next_id for alloc in lost if alloc.next_id]))),
        is_cut=len(held) > MOST_LOST,
    )


def _with_namesakes(
    reader: DjangoStateReader, lost: Sequence[LostAlloc], since: int
) -> list[LostAlloc]:
    """With the first of the same name that came after `since`, where none says that it follows.

    Where a plan was committed in part, the next try finds a name without an allocation: what it
    places takes that name, and follows nobody.
    """
    open_names = {
        (alloc.namespace, alloc.job_id, alloc.name)
        for alloc in lost
        if not alloc.next_id and alloc.job_type not in _ONE_ON_EACH_NODE
    }
    keys = sorted({(namespace, job_id) for namespace, job_id, _ in open_names})
    found: dict[tuple[str, str, str], str] = {}
    for start in range(0, len(keys), _JOBS_AT_ONCE):
        some = keys[start : start + _JOBS_AT_ONCE]
        rows = reader.rows(
            "SELECT namespace, job_id, name, id FROM allocation"  # noqa: S608 - our own text
            f" WHERE (namespace, job_id) IN (VALUES {', '.join(['(%s, %s)'] * len(some))})"
            " AND create_index > %s ORDER BY create_index, id",
            [*chain.from_iterable(some), since],
        )
        for namespace, job_id, name, key in rows:
            if (namespace, job_id, name) in open_names:
                found.setdefault((namespace, job_id, name), key)
    return [
        alloc
        if alloc.next_id
        else alloc._replace(next_id=found.get((alloc.namespace, alloc.job_id, alloc.name), ""))
        for alloc in lost
    ]


def _placed(reader: DjangoStateReader, ids: Sequence[str]) -> Iterator[ReplacedAlloc]:
    """Of these what is kept: when it was placed."""
    at = cache(instant)
    for start in range(0, len(ids), _KEYS_AT_ONCE):
        some = ids[start : start + _KEYS_AT_ONCE]
        rows = reader.rows(
            f"SELECT id, create_index, {reader.as_stored('created_at')} FROM allocation"  # noqa: S608 - names of our own tables only
            f" WHERE id IN ({placeholders(len(some))})",
            some,
        )
        yield from (ReplacedAlloc(key, index, at(made)) for key, index, made in rows)
