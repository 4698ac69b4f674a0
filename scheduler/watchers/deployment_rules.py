"""What the state of a rollout asks for: another look at its job, a promotion, its end.

In: a reader, a deployment and the tally of its health. Out: facts. Pure; when to ask, and who
acts, is not known here.
"""

import msgspec

from scheduler.ports import StateReader
from scheduler.state.writes.rescheduling import may_reschedule
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.watchers.deployment_tally import DeploymentTally


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What the unhealthy allocations of a deployment ask for."""

    #: Those that may be replaced and are not marked yet.
    replaceable: tuple[str, ...] = ()
    #: One is unhealthy for good.
    has_failed: bool = False
    rolls_back: bool = False


def progress_of(
    reader: StateReader, deployment: Deployment, tally: DeploymentTally, now: int
) -> Progress:
    """Judge every unhealthy allocation of the deployment's groups (control-plane.md 6.3)."""
    if not tally.unhealthy:
        return Progress()
    job = reader.job_version(
        deployment.job_key, deployment.job_version, deployment.job_create_index
    )
    replaceable, failed = [], []
    for alloc in tally.unhealthy.values():
        group = deployment.task_groups.get(alloc.task_group)
        if group is None:
            continue
        if not group.progress_deadline or not _may_be_replaced(alloc, job, now):
            failed.append(group)
        elif not alloc.desired_transition.reschedule:
            replaceable.append(alloc.id)
    return Progress(
        replaceable=tuple(replaceable),
        has_failed=bool(failed),
        rolls_back=any(group.auto_revert for group in failed),
    )


def newest_seen_index(reader: StateReader, key: JobKey) -> int:
    """The newest index an evaluation of the job has looked at, or will."""
    return max(
        (
            max(evaluation.snapshot_index, evaluation.create_index)
            for evaluation in reader.evaluations_by_job(key)
            if evaluation.status is not EvalStatus.CANCELED
        ),
        default=0,
    )


def promotes_itself(reader: StateReader, deployment: Deployment) -> bool:
    """Every group with canaries wants to be promoted without being asked, and all are healthy."""
    groups = {
        name: group for name, group in deployment.task_groups.items() if group.desired_canaries
    }
    if deployment.status is not DeploymentStatus.RUNNING:
        return False
    if all(group.promoted for group in groups.values()):
        return False
    return all(
        group.auto_promote
        and len(group.placed_canaries) >= group.desired_canaries
        and sum(_is_healthy(reader.allocation(each)) for each in group.placed_canaries)
        == group.desired_canaries
        for group in groups.values()
    )


def cutoff_of(deployment: Deployment, tally: DeploymentTally) -> int:
    """The earliest moment by which a group must have made progress, ns; 0 when all have."""
    return min(
        (
            group.require_progress_by
            for name, group in deployment.task_groups.items()
            if group.require_progress_by and not _is_done(group, tally.healthy_count(name))
        ),
        default=0,
    )


def lagging_groups(deployment: Deployment) -> list[GroupRollout]:
    """Groups a passed deadline fails; healthy canaries wait for their promotion for ever."""
    return [
        group
        for group in deployment.task_groups.values()
        if group.healthy_allocs
        < (group.desired_canaries if _waits_for_promotion(group) else group.desired_total)
    ]


def _is_done(group: GroupRollout, healthy: int) -> bool:
    return healthy >= group.desired_total and not _waits_for_promotion(group)


def _waits_for_promotion(group: GroupRollout) -> bool:
    return bool(group.desired_canaries) and not group.promoted


def _is_healthy(alloc: Allocation | None) -> bool:
    return (
        alloc is not None
        and alloc.deployment_status is not None
        and alloc.deployment_status.healthy is True
    )


def _may_be_replaced(alloc: Allocation, job: Job | None, now: int) -> bool:
    group = job.task_group(alloc.task_group) if job else None
    policy = group.reschedule_policy if group else None
    return may_reschedule(alloc.reschedule_tracker, policy, now)
