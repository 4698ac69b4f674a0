"""What stands beside the allocations of a result: nodes before and after, what was assumed.

In: a rehearsal that has ended. Out: parts of `Rehearsed`.
"""

from collections.abc import Iterable, Iterator

from cluster.rehearsal.result import Assumption, RehearsedAllocation, RehearsedNode
from cluster.rehearsal.run import Rehearsal
from scheduler.state.nouns import NODE_USES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType


def nodes_of(rehearsal: Rehearsal) -> Iterator[RehearsedNode]:
    """Nodes that something was done to, then those whose use changed."""
    store, fates = rehearsal.store, rehearsal.stage.fates
    used = (use.node_id for use in store.own.list_all(NODE_USES))
    for node_id in dict.fromkeys([*fates, *used]):
        node = store.node(node_id) or store.base.node(node_id)
        if node is None:
            continue
        before = store.base.node_use(node_id).held
        after = store.node_use(node_id).held
        has, kept = node.node_resources, node.reserved_resources
        yield RehearsedNode(
            id=node_id,
            name=node.name,
            fate=fates.get(node_id, ""),
            cpu_mhz=has.cpu.cpu_shares - kept.cpu.cpu_shares,
            memory_mb=has.memory.memory_mb - kept.memory.memory_mb,
            cpu_before=before.cpu,
            cpu_after=after.cpu,
            memory_before=before.memory_mb,
            memory_after=after.memory_mb,
        )


def assumptions_of(
    rehearsal: Rehearsal, allocations: Iterable[RehearsedAllocation]
) -> Iterator[Assumption]:
    """What was taken for granted, where it mattered."""
    store = rehearsal.store
    if rehearsal.was_paused:
        yield Assumption.NOT_PAUSED
    if rehearsal.ledger.placed:
        yield Assumption.TASKS_START
    keys = dict.fromkeys(key for key, _ in rehearsal.ledger.lines)
    keys |= dict.fromkeys(JobKey(each.namespace, each.job_id) for each in allocations)
    jobs = [job for key in keys if (job := store.job(key)) is not None]
    if any(job.type in (JobType.BATCH, JobType.SYSBATCH) for job in jobs):
        yield Assumption.BATCH_RUNS_ON
    if any(_waits_for_promotion(rehearsal, job) for job in jobs):
        yield Assumption.NOT_PROMOTED


def _waits_for_promotion(rehearsal: Rehearsal, job: Job) -> bool:
    return any(
        group.desired_canaries and not group.promoted
        for rollout in rehearsal.store.deployments_by_job(job.key)
        if rollout.is_active
        for group in rollout.task_groups.values()
    )
