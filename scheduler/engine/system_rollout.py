"""What the deployment of a system job makes of an attempt: totals, canaries, completion.

In: the placements made so far. Out: the deployment as part of the plan, surplus canaries taken
back (reconciler.md 21, steps 10 to 13).
"""

import msgspec

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.history import is_canary
from scheduler.engine.reconcile.node_results import NodeResults
from scheduler.engine.reconcile.rollout import completion, described, status_update
from scheduler.engine.system_work import SystemWork
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
)
from scheduler.structs.task_group import TaskGroup


def settle_deployment(work: SystemWork, results: NodeResults) -> None:
    """Bring the deployment up to date with the attempt, and put it into the plan."""
    job, deployment = work.attempt.job, work.deployment
    assert deployment is not None, "callers have one"
    is_everything_complete = True
    states = dict(deployment.task_groups)
    for group in job.task_groups if job else ():
        if work.candidates[group.name] < 1:
            if deployment.status is DeploymentStatus.SUCCESSFUL:
                states.pop(group.name, None)
            continue
        state = states.get(group.name)
        if state is None:
            continue
        states[group.name], is_complete = _settled(work, results, group, state)
        is_everything_complete = is_everything_complete and is_complete
    plan = work.attempt.plan
    if not states:
        # Nothing of it is left to name: the evaluation is not told to belong to it either.
        work.deployment = plan.deployment = None
        plan.deployment_updates = ()
        return
    deployment = msgspec.structs.replace(deployment, task_groups=states)
    plan.deployment = described(deployment)
    _conclude(work, deployment, is_complete=is_everything_complete)


def _settled(
    work: SystemWork, results: NodeResults, group: TaskGroup, state: GroupRollout
) -> tuple[GroupRollout, bool]:
    """The group's part with its totals, and whether the group is done."""
    total = work.candidates[group.name]
    state = msgspec.structs.replace(state, desired_total=total)
    required = _required_canaries(work, group, state)
    if required == 0:
        return state, state.healthy_allocs >= total
    kept = _trim_canaries(work, results, group, required)
    work.desired[group.name] = msgspec.structs.replace(work.desired[group.name], canary=len(kept))
    return msgspec.structs.replace(
        state, desired_canaries=required, placed_canaries=tuple(kept)
    ), False


def _required_canaries(work: SystemWork, group: TaskGroup, state: GroupRollout) -> int:
    """How many canaries the group wants while it waits for a promotion; 0 when it does not."""
    update, job = group.update, work.attempt.job
    changing = work.destructive_counts[group.name]
    if update is None or job is None or update.max_parallel == 0 or update.canary == 0:
        return 0
    if state.promoted or job.version == 0 or changing <= 0:
        return 0
    share = -(-update.canary * (changing + work.existing_canaries[group.name]) // 100)
    return min(update.max_parallel, share)


def _trim_canaries(
    work: SystemWork, results: NodeResults, group: TaskGroup, required: int
) -> list[str]:
    """Take back the canaries beyond the required number; the ids of those that stay."""
    placed = [alloc for alloc in work.placed if alloc.task_group == group.name]
    running = [
        entry.alloc.id
        for entry in results.ignore
        if entry.group_name == group.name and entry.alloc is not None and is_canary(entry.alloc)
    ]
    budget = required - len(running) - sum(_replaces_failed(work, alloc) for alloc in placed)
    kept = list(running)
    for alloc in placed:
        if not is_canary(alloc):
            continue
        if _replaces_failed(work, alloc) or budget > 0:
            kept.append(alloc.id)
            budget -= 1
            continue
        work.attempt.unplace(alloc)
        previous = work.attempt.snapshot.allocation(alloc.previous_allocation)
        if previous is not None:
            work.attempt.unstop(previous)
    return kept


def _replaces_failed(work: SystemWork, alloc: Allocation) -> bool:
    previous = work.attempt.snapshot.allocation(alloc.previous_allocation)
    return (
        previous is not None
        and is_canary(previous)
        and previous.client_status is ClientStatus.FAILED
    )


def _conclude(work: SystemWork, deployment: Deployment, *, is_complete: bool) -> None:
    plan = work.attempt.plan
    needs_promotion = deployment.status is DeploymentStatus.RUNNING and any(
        state.desired_canaries > 0 and not state.promoted
        for state in deployment.task_groups.values()
    )
    updates: list[DeploymentStatusUpdate] = []
    if is_complete and not needs_promotion:
        updates.extend(completion(deployment))
    if deployment.status is DeploymentStatus.INITIALIZING:
        updates.append(
            status_update(deployment, DeploymentStatus.PENDING, reasons.DEPLOYMENT_PENDING)
        )
    plan.deployment_updates = (*plan.deployment_updates, *updates)
