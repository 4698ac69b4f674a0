"""What is asked of stories beside their columns: whether they run, and what had part in them.

In: names. Out: conditions of statements, whose values are parameters. Nothing is read here.
"""

from collections.abc import Callable, Collection
from typing import Any

from cluster.store.statements import placeholders
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE
from scheduler.structs.identity import JobKey
from scheduler.structs.story import StoryKind

_ACTIVE = ", ".join(f"'{status.value}'" for status in sorted(DEPLOYMENT_ACTIVE))
#: The stories in which something is still to come: an evaluation, a rollout, a drain.
RUNNING = (
    "SELECT story_id FROM evaluation WHERE status IN ('pending', 'blocked')"  # noqa: S608 - our own text
    f" UNION SELECT story_id FROM deployment WHERE status IN ({_ACTIVE})"
    " UNION SELECT link.story_id FROM node CROSS JOIN story_node link"
    " WHERE node.is_draining AND link.node_id = node.id AND link.kind = 'drain'"
    " AND link.linked_index = (SELECT MAX(linked_index) FROM story_node"
    " WHERE node_id = node.id AND kind = 'drain')"
)
#: That it is of the job itself, by an index that has the order of creation too.
OF_JOB_ALONE = "namespace = %s AND job_id = %s AND NOT (job_id = '')"
#: What set a job going, and what it had part in.
_OF_JOB = (
    f"SELECT id FROM story WHERE {OF_JOB_ALONE}{{since}}",  # noqa: S608 - our own text
    (
        "SELECT id FROM story WHERE namespace = %s AND parent_job_id = %s"
        " AND NOT (parent_job_id = ''){since}"
    ),
    "SELECT story_id FROM evaluation WHERE namespace = %s AND job_id = %s{since}",
    "SELECT story_id FROM evaluation_stub WHERE namespace = %s AND job_id = %s{since}",
)
_NAMED = "SELECT id FROM node WHERE name = %s"


def runs(*, is_running: bool) -> str:
    """That something of it is still to come, or that nothing is."""
    return f"id {'' if is_running else 'NOT '}IN ({RUNNING})"


def of_job(key: JobKey, since: int = 0) -> tuple[str, list[Any]]:
    """That the job set it going, or had part in it; `since`: it began at that index or later.

    No evaluation is older than its story, so older ones need not be looked at.
    """
    text = " AND create_index >= %s" if since else ""
    parts = " UNION ".join(part.format(since=text) for part in _OF_JOB)
    return f"id IN ({parts})", [*key, *([since] if since else [])] * 4


def each_of_job(key: JobKey, hidden: Callable[[str], str]) -> tuple[str, list[Any]]:
    """The same, asked of each story by itself: for few of them, whatever the job has."""
    own = "story.namespace = %s AND story.job_id = %s AND NOT (story.job_id = '')"
    made = "story.namespace = %s AND story.parent_job_id = %s AND NOT (story.parent_job_id = '')"
    parts = [own, made]
    for table in ("evaluation", "evaluation_stub"):
        named = " AND ".join(
            f"{hidden(f'{table}.{column}')} = %s" for column in ("namespace", "job_id")
        )
        parts.append(f"EXISTS (SELECT 1 FROM {table} WHERE story_id = story.id AND {named})")  # noqa: S608 - our own text
    return f"({' OR '.join(parts)})", [*key] * 4


def with_node(name: str) -> tuple[str, list[Any]]:
    """That a node with this id or name had part in it."""
    among = f"SELECT story_id FROM story_node WHERE node_id = %s OR node_id IN ({_NAMED})"  # noqa: S608 - our own text
    return f"id IN ({among})", [name, name]


def without_hidden(kinds: Collection[StoryKind]) -> tuple[str, list[Any]]:
    """That it is of a namespace, or not of these kinds."""
    names = sorted(kind.value for kind in kinds)
    return f"(namespace <> '' OR kind NOT IN ({placeholders(len(names))}))", [*names]
