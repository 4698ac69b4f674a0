"""The rollout that a rehearsed change of one job became, for the phases of its story.

In: a rehearsal that has ended. Out: its deployment with the allocations of it, or None.
"""

from cluster.rehearsal.result import RehearsedRollout, RolledOut
from cluster.rehearsal.run import Rehearsal
from scheduler.state.nouns import ALLOCATIONS, DEPLOYMENTS
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment

#: A larger one is told without phases.
MOST_ROLLED_OUT = 5_000


def rollout_of(rehearsal: Rehearsal) -> RehearsedRollout | None:
    """The first deployment of the one job that the scenario runs; a revert's would come after."""
    key, store = rehearsal.stage.rolls_out, rehearsal.store
    if key is None:
        return None
    own = [
        row
        for row in store.own.list_all(DEPLOYMENTS)
        if row.job_key == key and store.base.deployment(row.id) is None
    ]
    if not own:
        return None
    deployment = min(own, key=lambda row: (row.create_index, row.id))
    rows = [row for row in store.own.list_all(ALLOCATIONS) if row.deployment_id == deployment.id]
    if len(rows) > MOST_ROLLED_OUT:
        return None
    rows.sort(key=lambda row: (row.create_index, row.id))
    return RehearsedRollout(
        deployment=deployment,
        allocations=tuple(map(_rolled_out, rows)),
        at_once=_at_once(rehearsal, deployment),
    )


def _rolled_out(alloc: Allocation) -> RolledOut:
    health = alloc.deployment_status
    return RolledOut(
        id=alloc.id,
        name=alloc.name,
        task_group=alloc.task_group,
        eval_id=alloc.eval_id,
        create_index=alloc.create_index,
        create_time=alloc.create_time,
        healthy_at=health.timestamp if health is not None and health.healthy else 0,
    )


def _at_once(rehearsal: Rehearsal, deployment: Deployment) -> int:
    job = rehearsal.store.job(deployment.job_key)
    sizes = [
        group.update.max_parallel if group.update is not None else 0
        for group in (job.task_groups if job is not None else ())
        if group.name in deployment.task_groups
    ]
    return sum(sizes) if all(sizes) else 0
