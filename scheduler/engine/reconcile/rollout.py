"""What the deployment allows now: triage, canaries, limits, creation, completion.

In: the job's deployment and one group's working sets. Out: the same sets and the rollout, changed.
Health is read, never judged; promotion is somebody else's decision.
"""

import msgspec

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.buckets import classify
from scheduler.engine.reconcile.group_work import GroupWork, Rollout
from scheduler.engine.reconcile.history import is_healthy, is_unhealthy
from scheduler.engine.reconcile.new_deployment import new_deployment
from scheduler.engine.reconcile.results import Placement
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
)
from scheduler.structs.task_group import TaskGroup


def triage(situation: Situation) -> tuple[Rollout, tuple[DeploymentStatusUpdate, ...]]:
    """Tell an old deployment from the current one; an old active one is cancelled."""
    deployment, job = situation.deployment, situation.job
    if deployment is None:
        return Rollout(), ()
    if job is None or job.stop:
        return Rollout(old=deployment), cancelled(deployment, reasons.DEPLOYMENT_STOPPED_JOB)
    if deployment.job_create_index != job.create_index or deployment.job_version != job.version:
        return Rollout(old=deployment), cancelled(deployment, reasons.DEPLOYMENT_NEWER_JOB)
    if deployment.status is DeploymentStatus.SUCCESSFUL:
        return Rollout(old=deployment), ()
    return Rollout(current=deployment), ()


def cancelled(deployment: Deployment, reason: str) -> tuple[DeploymentStatusUpdate, ...]:
    """The update that ends an active deployment; nothing for one that has ended."""
    if not deployment.is_active:
        return ()
    return (status_update(deployment, DeploymentStatus.CANCELLED, reason),)


def status_update(
    deployment: Deployment, status: DeploymentStatus, description: str
) -> DeploymentStatusUpdate:
    """A change of a deployment's status."""
    return DeploymentStatusUpdate(
        deployment_id=deployment.id, status=status, status_description=description
    )


def fresh_state(group: TaskGroup) -> GroupRollout:
    """The part of a group in a new deployment."""
    update = group.update
    if update is None or update.max_parallel == 0:
        return GroupRollout()
    return GroupRollout(
        auto_revert=update.auto_revert,
        auto_promote=update.auto_promote,
        progress_deadline=update.progress_deadline,
    )


def cancel_canaries(work: GroupWork) -> None:
    """Stop canaries nobody waits for; `canaries` become those that count (reconciler.md 7.1)."""
    rollout = work.rollout
    unneeded: set[str] = set()
    for deployment in (rollout.old, rollout.current if rollout.has_failed else None):
        for state in deployment.task_groups.values() if deployment else ():
            if not state.promoted:
                unneeded.update(state.placed_canaries)
    cancelled_ones = work.all.of_ids(unneeded)
    work.stop_all(cancelled_ones, reasons.NOT_NEEDED)
    work.tally["stop"] += len(cancelled_ones)
    work.all = work.all.difference(cancelled_ones)
    if rollout.current is None:
        return
    placed = work.all.of_ids(
        alloc_id
        for state in rollout.current.task_groups.values()
        for alloc_id in state.placed_canaries
    )
    buckets = classify(placed, work.situation)
    # Not counted: new canaries take their place, so for the operator nothing was stopped.
    work.stop_all(buckets.migrating, reasons.MIGRATING)
    work.stop_all(buckets.lost, reasons.LOST, ClientStatus.LOST)
    work.all = work.all.difference(buckets.migrating, buckets.lost)
    work.canaries = buckets.untainted


def requires_canaries(work: GroupWork) -> bool:
    """Whether more canaries must run before anything is replaced."""
    update = work.wanted.update
    return (
        update is not None
        and len(work.destructive) > 0
        and len(work.canaries) < update.canary
        and not work.state.promoted
    )


def place_canaries(work: GroupWork) -> None:
    """Ask for the canaries that are missing, unless the deployment is held (reconciler.md 7.2)."""
    update = work.wanted.update
    assert update is not None, "requires_canaries() holds"
    set_state(work, desired_canaries=update.canary)
    if work.rollout.is_paused or work.rollout.has_failed:
        return
    missing = update.canary - len(work.canaries)
    work.tally["canary"] += missing
    work.place.extend(
        Placement(name=name, task_group=work.wanted, is_canary=True)
        for name in work.names.next_canaries(missing, work.canaries, work.destructive)
    )


def set_state(
    work: GroupWork, *, desired_canaries: int | None = None, more_total: int = 0
) -> None:
    """Change the group's part; one that is in the deployment already changes there too."""
    state = work.state
    if desired_canaries is not None:
        state = msgspec.structs.replace(state, desired_canaries=desired_canaries)
    if more_total:
        state = msgspec.structs.replace(state, desired_total=state.desired_total + more_total)
    work.state = state
    if work.has_state:
        _attach(work)


def limit(work: GroupWork) -> int:
    """How many allocations may be replaced now (reconciler.md 14.1)."""
    update = work.wanted.update
    if update is None or update.max_parallel == 0:
        return work.wanted.count
    if not work.destructive and not work.migrate:
        return work.wanted.count
    deployment = work.rollout.current
    if deployment is None:
        return update.max_parallel
    if not work.may_place:
        return 0
    members = [alloc for alloc in work.untainted.values() if alloc.deployment_id == deployment.id]
    if any(is_unhealthy(alloc) for alloc in members):
        return 0
    return max(0, update.max_parallel - sum(not is_healthy(alloc) for alloc in members))


def create_deployment(work: GroupWork) -> None:
    """Start a deployment, or join the one another group started (reconciler.md 17.1)."""
    situation, rollout, job = work.situation, work.rollout, work.situation.job
    assert job is not None, "a stopped job has no rollout"
    if work.has_state or not work.has_update_block or work.state.desired_total == 0:
        return
    had_running = any(situation.is_current(alloc) for alloc in work.all.values())
    is_updating = bool(work.destructive) or work.tally["in_place_update"] > 0
    if had_running and not is_updating:
        return
    if rollout.current is None:
        rollout.current = new_deployment(
            job,
            situation.ids.next_id(),
            eval_priority=situation.eval_priority,
            now=situation.now,
        )
        rollout.is_returned = True
    _attach(work)


def is_complete(work: GroupWork) -> bool:
    """Whether the group has nothing left to do for the deployment (reconciler.md 17.2)."""
    is_busy = (
        work.destructive
        or work.inplace
        or work.place
        or work.migrate
        or work.reschedule_now
        or work.reschedule_later
        or requires_canaries(work)
    )
    deployment = work.rollout.current
    if is_busy or deployment is None:
        return False
    state = deployment.task_groups.get(work.name)
    if state is None:
        return True
    is_promoted = state.promoted or state.desired_canaries == 0
    return is_promoted and state.healthy_allocs >= max(state.desired_total, state.desired_canaries)


def final_updates(
    rollout: Rollout, *, is_everything_complete: bool
) -> tuple[DeploymentStatusUpdate, ...]:
    """What becomes of the current deployment after all groups (reconciler.md 3, step 7)."""
    deployment = rollout.current
    if deployment is None:
        return ()
    updates = list(completion(deployment) if is_everything_complete else ())
    if deployment.status is DeploymentStatus.INITIALIZING:
        updates.append(
            status_update(deployment, DeploymentStatus.PENDING, reasons.DEPLOYMENT_PENDING)
        )
    return tuple(updates)


def completion(deployment: Deployment) -> tuple[DeploymentStatusUpdate, ...]:
    """The update that a deployment gets when all its groups are complete."""
    if not deployment.is_multiregion:
        return (
            status_update(deployment, DeploymentStatus.SUCCESSFUL, reasons.DEPLOYMENT_SUCCESSFUL),
        )
    if deployment.status in (DeploymentStatus.UNBLOCKING, DeploymentStatus.SUCCESSFUL):
        return ()
    return (status_update(deployment, DeploymentStatus.BLOCKED, reasons.DEPLOYMENT_BLOCKED),)


def described(deployment: Deployment) -> Deployment:
    """The deployment, saying that it waits for a promotion if it does."""
    waiting = [state for state in deployment.task_groups.values() if state.desired_canaries > 0]
    if deployment.status is not DeploymentStatus.RUNNING or all(
        state.promoted for state in waiting
    ):
        return deployment
    promotes_itself = all(state.auto_promote for state in waiting)
    return msgspec.structs.replace(
        deployment,
        status_description=reasons.DEPLOYMENT_AUTO_PROMOTION
        if promotes_itself
        else reasons.DEPLOYMENT_NEEDS_PROMOTION,
    )


def _attach(work: GroupWork) -> None:
    deployment = work.rollout.current
    assert deployment is not None, "callers made or found one"
    work.rollout.current = msgspec.structs.replace(
        deployment, task_groups={**deployment.task_groups, work.name: work.state}
    )
