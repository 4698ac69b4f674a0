"""What scaling a group would do, beside the number that was typed: how far, or what was found.

In: a reader, the id of a rehearsal of one group's scaling. Out: the context of
`_scale_rehearsed.html`, in two reads.
"""

from typing import Any

from cluster.rehearsal.result import Rehearsed, RehearsedGroup
from cluster.rehearsal.scenario import ScaleJob
from cluster.store.ports import RecordReader
from dashboard.queries.rehearsals import kept_rehearsal, rehearsal_context
from dashboard.rehearsed import group_lines
from dashboard.viewer import Absent, Viewer


def scale_rehearsed(reader: RecordReader, viewer: Viewer, rehearsal_id: str) -> dict[str, Any]:
    """One that is kept. Raises Absent, as of one that scales no group or may not be told."""
    kept = kept_rehearsal(reader, rehearsal_id, viewer.caller)
    changes = kept.scenario.changes if kept is not None and kept.may_tell else ()
    context = rehearsal_context(reader, rehearsal_id, viewer.caller, viewer.now)
    if context is None or len(changes) != 1 or not isinstance(changes[0], ScaleJob):
        raise Absent
    change, found = changes[0], context["found"]
    return {
        "rehearsal": context,
        "group": change.group,
        "count": change.count,
        "waits": _waits(found["result"], change) if found else "",
    }


def _waits(result: Rehearsed, change: ScaleJob) -> str:
    """What those of the group that find no place lack; "" where all find one."""
    key = change.key

    def is_meant(group: RehearsedGroup) -> bool:
        return (group.namespace, group.job_id, group.task_group) == (*key, change.group)

    lines = [line for line in group_lines(result) if is_meant(line.value) and line.why]
    if not lines:
        return ""
    node = lines[0].why_node
    return f"{lines[0].why} {node.node_name}" if node is not None else lines[0].why
