"""What became of stories, in a fixed number of statements: placed, waiting, left, rolled out.

In: ids of stories, and the namespaces that count. Out: plain numbers and a few structs. What they
mean for a kind of story is not known here.
"""

from collections.abc import Collection

from cluster.store.ports import Namespaces, StoryFigures
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.tallies import within
from scheduler.state.nouns import DEPLOYMENTS, EVALUATIONS
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation

#: Waiting evaluations of one list that are read; a storm has more.
_BLOCKED = 500
#: Of stories with so few evaluations it is read what became of each.
MOST_ENDED = 2


def figures(
    reader: DjangoStateReader, story_ids: Collection[str], namespaces: Namespaces
) -> dict[str, StoryFigures]:
    """Of each of these stories."""
    ids = sorted(story_ids)
    if not ids:
        return {}
    placed = _placed(reader, ids, namespaces)
    left = _left(reader, ids, namespaces)
    blocked: dict[str, list[Evaluation]] = {}
    for evaluation in _blocked(reader, ids, namespaces):
        blocked.setdefault(evaluation.story_id, []).append(evaluation)
    ended: dict[str, list[Evaluation]] = {}
    quiet = [each for each in ids if not (placed.get(each) or left.get(each) or each in blocked)]
    for evaluation in _ended(reader, quiet, namespaces):
        ended.setdefault(evaluation.story_id, []).append(evaluation)
    # The newest comes last, and stays.
    rollouts = {row.story_id: row for row in _deployments(reader, ids, namespaces)}
    return {
        story_id: StoryFigures(
            placed.get(story_id, {}),
            left.get(story_id, 0),
            tuple(blocked.get(story_id, ())),
            rollouts.get(story_id),
            tuple(ended.get(story_id, ())),
        )
        for story_id in ids
    }


def _placed(
    reader: DjangoStateReader, ids: list[str], namespaces: Namespaces
) -> dict[str, dict[str, int]]:
    where, spaces = within(namespaces, f"e.story_id IN ({placeholders(len(ids))})", "e.namespace")
    rows = reader.rows(
        "SELECT e.story_id, a.desired_status, a.client_status, COUNT(*)"  # noqa: S608 - names of our own tables only
        f" FROM evaluation e JOIN allocation a ON a.eval_id = e.id{where}"
        " GROUP BY e.story_id, a.desired_status, a.client_status",
        [*ids, *spaces],
    )
    found: dict[str, dict[str, int]] = {}
    for story_id, desired, client, count in rows:
        of_story = found.setdefault(str(story_id), {})
        word = str(client) if desired == "run" or client in ("failed", "lost") else "stopped"
        of_story[word] = of_story.get(word, 0) + int(count)
    return found


def _left(reader: DjangoStateReader, ids: list[str], namespaces: Namespaces) -> dict[str, int]:
    where, spaces = within(
        namespaces,
        f"link.story_id IN ({placeholders(len(ids))}) AND link.kind = 'drain'"
        " AND link.is_current AND node.is_draining AND a.desired_status = 'run'"
        " AND a.client_status IN ('pending', 'running', 'unknown')",
        "a.namespace",
    )
    rows = reader.rows(
        "SELECT link.story_id, COUNT(*) FROM story_node link JOIN node ON node.id = link.node_id"  # noqa: S608 - names of our own tables only
        f" JOIN allocation a ON a.node_id = node.id{where} GROUP BY link.story_id",
        [*ids, *spaces],
    )
    return {str(story_id): int(count) for story_id, count in rows}


def _blocked(
    reader: DjangoStateReader, ids: list[str], namespaces: Namespaces
) -> list[Evaluation]:
    where, spaces = within(
        namespaces, f"story_id IN ({placeholders(len(ids))}) AND status = 'blocked'"
    )
    return reader.select(
        EVALUATIONS,
        where.removeprefix(" WHERE "),
        [*ids, *spaces],
        f"create_index, id LIMIT {_BLOCKED}",
    )


def _ended(reader: DjangoStateReader, ids: list[str], namespaces: Namespaces) -> list[Evaluation]:
    """Of those of these stories that have few evaluations, all of which have ended."""
    if not ids:
        return []
    where, spaces = within(namespaces, f"story_id IN ({placeholders(len(ids))})")
    few = (
        f"SELECT story_id FROM evaluation{where} GROUP BY story_id"  # noqa: S608 - names of our own tables only
        f" HAVING COUNT(*) <= {MOST_ENDED}"
        " AND SUM(CASE WHEN status IN ('pending', 'blocked') THEN 1 ELSE 0 END) = 0"
    )
    of_them, own = within(namespaces, f"story_id IN ({few})")
    return reader.select(
        EVALUATIONS, of_them.removeprefix(" WHERE "), [*ids, *spaces, *own], "create_index, id"
    )


def _deployments(
    reader: DjangoStateReader, ids: list[str], namespaces: Namespaces
) -> list[Deployment]:
    # The second half lets the planner see that the partial index will do.
    where, spaces = within(
        namespaces, f"story_id IN ({placeholders(len(ids))}) AND NOT (story_id = '')"
    )
    return reader.select(
        DEPLOYMENTS, where.removeprefix(" WHERE "), [*ids, *spaces], "create_index, id"
    )
