"""A deployment's row: storing it, changing its status, and what allocation writes do to it.

In: a change and what is to be written. Out: rows put. Which step comes next is decided elsewhere
(control-plane.md 6.4, 6.6, 13.5, 13.6).
"""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.errors import IllegalTransition
from scheduler.ports import Change
from scheduler.state.writes.jobs import mark_stable
from scheduler.state.writes.stories import person_of
from scheduler.state.writes.story_roots import story_of_deployment
from scheduler.structs.allocation import Allocation, DeploymentHealth
from scheduler.structs.deployment import (
    KEPT_ACTS,
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)

_RUNS_AGAIN = frozenset({DeploymentStatus.RUNNING, DeploymentStatus.PAUSED})


def write_deployment(change: Change, deployment: Deployment, eval_id: str = "") -> Deployment:
    """Store a deployment as a plan describes it and return it as stored.

    What clients move (counters, deadlines) is taken from the stored row, and groups the plan does
    not mention stay. Raises IllegalTransition when it would take a promotion or an end back.
    """
    before = change.deployment(deployment.id)
    # Each run of a system job plans its deployment anew, also one that has ended: it ended then.
    has_ended = before is not None and not before.is_active
    if before is not None and _takes_back_promotion(before, deployment):
        raise IllegalTransition(f"deployment {deployment.id} was promoted meanwhile")
    stored = replace(
        deployment,
        task_groups=_merged_groups(before, deployment),
        create_index=before.create_index if before else change.index,
        modify_index=change.index,
        create_time=(before.create_time if before else deployment.create_time) or change.now,
        modify_time=before.modify_time if before and has_ended else change.now,
        story_id=before.story_id if before else story_of_deployment(change, deployment, eval_id),
        acts=before.acts if before else (),
    )
    change.put_deployment(stored)
    _follow_status(change, before, stored)
    return stored


def update_deployment_status(change: Change, update: DeploymentStatusUpdate) -> Deployment:
    """Change the status; running and paused restart every progress deadline.

    Raises IllegalTransition when the deployment is unknown or has ended.
    """
    before = change.deployment(update.deployment_id)
    if before is None:
        raise IllegalTransition(f"deployment {update.deployment_id} does not exist")
    if not before.is_active:
        raise IllegalTransition(f"deployment {before.id} has terminal status {before.status!r}")
    at = update.updated_at or change.now
    groups = before.task_groups
    if update.status in _RUNS_AGAIN:
        groups = {name: _restarted(group, at) for name, group in groups.items()}
    stored = replace(
        before,
        status=update.status,
        status_description=update.status_description,
        task_groups=groups,
        modify_index=change.index,
        modify_time=at,
    )
    change.put_deployment(stored)
    _follow_status(change, before, stored)
    return stored


def note_act(change: Change, deployment_id: str, verb: RolloutVerb) -> None:
    """Remember who did this; what the cluster did by itself has no name."""
    deployment = change.deployment(deployment_id)
    if deployment is None:
        return
    act = RolloutAct(verb=verb, by=person_of(change.by), at=change.now, index=change.index)
    change.put_deployment(replace(deployment, acts=(*deployment.acts, act)[-KEPT_ACTS:]))


def promote_groups(
    change: Change, deployment: Deployment, names: Iterable[str], description: str
) -> Deployment:
    """Promote groups and let their healthy canaries become ordinary allocations.

    `description` holds once nothing is left to promote. Whether enough canaries are healthy was
    the caller's question.
    """
    promoted = set(names)
    groups = {
        name: _promoted(group, change.now) if name in promoted else group
        for name, group in deployment.task_groups.items()
    }
    still_waits = any(group.desired_canaries and not group.promoted for group in groups.values())
    stored = replace(
        deployment,
        task_groups=groups,
        status_description=deployment.status_description if still_waits else description,
        modify_index=change.index,
        modify_time=change.now,
    )
    change.put_deployment(stored)
    for alloc in change.allocations_by_deployment(deployment.id):
        health = alloc.deployment_status
        is_counted = not alloc.is_terminal and alloc.task_group in promoted
        if is_counted and health is not None and health.canary and health.healthy:
            change.put_allocation(
                alloc.changed(
                    deployment_status=replace(health, canary=False, modify_index=change.index),
                    modify_index=change.index,
                    alloc_modify_index=change.index,
                )
            )
    return stored


def set_alloc_health(
    change: Change,
    deployment_id: str,
    *,
    healthy: Iterable[str],
    unhealthy: Iterable[str],
    at: int,
) -> None:
    """Set the health of allocations of a deployment, and count it.

    Raises IllegalTransition when one of them is unknown or of another deployment.
    """
    for verdict, alloc_ids in ((True, healthy), (False, unhealthy)):
        for alloc_id in alloc_ids:
            alloc = change.allocation(alloc_id)
            if alloc is None:
                raise IllegalTransition(f"unknown alloc {alloc_id!r}")
            if alloc.deployment_id != deployment_id:
                raise IllegalTransition(
                    f"alloc {alloc_id!r} is not part of deployment {deployment_id!r}"
                )
            health = alloc.deployment_status or DeploymentHealth()
            judged = alloc.changed(
                deployment_status=replace(
                    health, healthy=verdict, timestamp=at, modify_index=change.index
                ),
                modify_index=change.index,
                alloc_modify_index=change.index,
                modify_time=change.now,
            )
            change.put_allocation(judged)
            count_in_deployment(change, alloc, judged)


def count_in_deployment(change: Change, before: Allocation | None, after: Allocation) -> None:
    """Move the counters and deadlines of the deployment an allocation takes part in."""
    if not after.deployment_id:
        return
    deployment = change.deployment(after.deployment_id)
    group = deployment.task_groups.get(after.task_group) if deployment else None
    if deployment is None or group is None:
        return
    moved = _counted(group, before, after, change.now)
    if moved is None:
        return
    change.put_deployment(
        replace(
            deployment,
            task_groups={**deployment.task_groups, after.task_group: moved},
            modify_index=change.index,
            modify_time=change.now if deployment.is_active else deployment.modify_time,
        )
    )


def _counted(
    group: GroupRollout, before: Allocation | None, after: Allocation, now: int
) -> GroupRollout | None:
    """The group after the write; None when it did not matter to it."""
    health = after.deployment_status
    if before is None or before.deployment_id != after.deployment_id:
        moved = replace(group, placed_allocs=group.placed_allocs + 1)
        if group.progress_deadline and not group.require_progress_by:
            placed_at = after.modify_time or now
            moved = replace(moved, require_progress_by=placed_at + group.progress_deadline)
        return _with_canary(moved, after)
    old = before.deployment_status.healthy if before.deployment_status else None
    new = health.healthy if health else None
    if health is None or new is None or old is new or (old is False and new is True):
        return None
    moved = replace(
        group,
        healthy_allocs=group.healthy_allocs + (1 if new else -1 if old else 0),
        unhealthy_allocs=group.unhealthy_allocs + (0 if new else 1),
    )
    makes_progress = new or old is True
    if group.progress_deadline and makes_progress:
        due = health.timestamp + group.progress_deadline
        moved = replace(moved, require_progress_by=max(due, group.require_progress_by))
    return _with_canary(moved, after)


def _with_canary(group: GroupRollout, alloc: Allocation) -> GroupRollout:
    health = alloc.deployment_status
    if health is None or not health.canary or alloc.id in group.placed_canaries:
        return group
    return replace(group, placed_canaries=(*group.placed_canaries, alloc.id))


def _takes_back_promotion(before: Deployment, planned: Deployment) -> bool:
    return any(
        group != GroupRollout()
        and not group.promoted
        and name in before.task_groups
        and before.task_groups[name].promoted
        for name, group in planned.task_groups.items()
    )


def _merged_groups(before: Deployment | None, planned: Deployment) -> dict[str, GroupRollout]:
    if before is None:
        return planned.task_groups
    merged = dict(planned.task_groups)
    for name, stored in before.task_groups.items():
        plan = merged.get(name)
        if plan is None or plan == GroupRollout():
            merged[name] = stored
            continue
        merged[name] = replace(
            plan,
            healthy_allocs=stored.healthy_allocs,
            unhealthy_allocs=stored.unhealthy_allocs,
            placed_allocs=stored.placed_allocs,
            require_progress_by=stored.require_progress_by,
        )
    return merged


def _follow_status(change: Change, before: Deployment | None, stored: Deployment) -> None:
    """A success makes its job version the one to come back to."""
    if stored.status is DeploymentStatus.SUCCESSFUL and (
        before is None or before.status is not DeploymentStatus.SUCCESSFUL
    ):
        job = change.job_version(stored.job_key, stored.job_version, stored.job_create_index)
        if job is not None and not job.stable:
            mark_stable(change, stored.job_key, stored.job_version)


def _restarted(group: GroupRollout, at: int) -> GroupRollout:
    if not group.progress_deadline:
        return group
    return replace(group, require_progress_by=at + group.progress_deadline)


def _promoted(group: GroupRollout, now: int) -> GroupRollout:
    has_deadline = group.progress_deadline and group.require_progress_by
    due = now + group.progress_deadline if has_deadline else group.require_progress_by
    return replace(group, promoted=True, require_progress_by=due)
