"""Which allocations of a rehearsal end for good, and by what."""

from cluster.rehearsal.result import Rehearsed, RehearsedOutcome
from scheduler.structs.job import JobType


def ended_by_drain(result: Rehearsed) -> frozenset[str]:
    """Ids of batch work whose job goes on, and that a drain stops for good."""
    drained = {node.id for node in result.nodes if node.fate == "drained"}
    ended = {
        (group.namespace, group.job_id, group.task_group)
        for group in result.groups
        if not group.count
    }
    return frozenset(
        each.id
        for each in result.allocations
        if each.job_type == JobType.BATCH
        and each.outcome is RehearsedOutcome.STOPPED
        and each.from_node_id in drained
        and (each.namespace, each.job_id, each.task_group) not in ended
    )
