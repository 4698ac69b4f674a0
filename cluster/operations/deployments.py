"""Promote, pause, resume, fail and judge deployments, and take them a step further.

In: a store, a deployment's id, `now`, ids, and the leader's fence where a watcher asks. Out: facts
for the answer, or `OperationRefused` with nothing written.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require, require_management
from scheduler.access.caller import Caller
from scheduler.errors import IllegalTransition
from scheduler.ports import Change, Fence, IDSource, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes import rollouts
from scheduler.state.writes.deployments import (
    note_act,
    promote_groups,
    set_alloc_health,
    update_deployment_status,
)
from scheduler.state.writes.jobs import version_to_go_back_to
from scheduler.state.writes.rollouts import RolledBack, end_failed, roll_back, write_step
from scheduler.state.writes.transitions import mark_transitions
from scheduler.structs.allocation import DesiredTransition
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    RolloutVerb,
)
from scheduler.watchers.deployment_rules import promotes_itself

NOT_FOUND = "deployment not found"


class DeploymentWritten(msgspec.Struct, frozen=True, kw_only=True):
    """What a write to a deployment left behind. `eval_id` is empty when none was made."""

    index: int
    eval_id: str = ""
    eval_create_index: int = 0
    modify_index: int = 0
    #: The version that was brought back; None when none was.
    reverted_version: int | None = None


def promote_deployment(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    deployment_id: str,
    *,
    by: Caller,
    groups: tuple[str, ...] = (),
    every_group: bool = False,
    now: int,
    ids: IDSource,
) -> DeploymentWritten:
    """Let the canaries of groups become ordinary allocations; all of them must be healthy."""

    def work(change: Change) -> DeploymentWritten:
        deployment = _active(change, deployment_id, "promote", by)
        names = tuple(deployment.task_groups) if every_group else groups
        lacking = _lacking_canaries(change, deployment, names)
        if lacking:
            raise OperationRefused(error_text(lacking))
        promote_groups(change, deployment, names, rollouts.RUNNING)
        note_act(change, deployment.id, RolloutVerb.PROMOTED)
        return _stepped(change, deployment, ids, "its canaries were promoted")

    return _write(store, WriteKind.DEPLOYMENT_PROMOTION, work, by=by, now=now)


def pause_deployment(
    store: StateStore, deployment_id: str, *, by: Caller, pause: bool, now: int, ids: IDSource
) -> DeploymentWritten:
    """Hold a rollout, or let it go on; going on makes an evaluation."""

    def work(change: Change) -> DeploymentWritten:
        deployment = _active(change, deployment_id, "pause" if pause else "resume", by)
        status = DeploymentStatus.PAUSED if pause else DeploymentStatus.RUNNING
        text = rollouts.PAUSED if pause else rollouts.RUNNING
        update = DeploymentStatusUpdate(
            deployment_id=deployment.id, status=status, status_description=text
        )
        update_deployment_status(change, update)
        note_act(change, deployment.id, RolloutVerb.PAUSED if pause else RolloutVerb.RESUMED)
        if pause:
            return DeploymentWritten(index=0, modify_index=change.index)
        return _stepped(change, deployment, ids, "the rollout was resumed")

    return _write(store, WriteKind.DEPLOYMENT_STATUS_UPDATE, work, by=by, now=now)


def fail_deployment(
    store: StateStore, deployment_id: str, *, by: Caller, now: int, ids: IDSource
) -> DeploymentWritten:
    """End a rollout as failed; any group with auto_revert brings the stable version back."""

    def work(change: Change) -> DeploymentWritten:
        deployment = _active(change, deployment_id, "fail", by)
        reverts = any(group.auto_revert for group in deployment.task_groups.values())
        written = _failed(change, deployment, rollouts.MARKED_FAILED, ids, rolls_back=reverts)
        note_act(change, deployment.id, RolloutVerb.FAILED)
        return written

    return _write(store, WriteKind.DEPLOYMENT_STATUS_UPDATE, work, by=by, now=now)


def set_allocation_health(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    deployment_id: str,
    *,
    by: Caller,
    healthy: tuple[str, ...],
    unhealthy: tuple[str, ...],
    now: int,
    ids: IDSource,
) -> DeploymentWritten:
    """Say which allocations are healthy; an unhealthy one ends the rollout."""
    if not healthy and not unhealthy:
        raise OperationRefused("must specify at least one healthy/unhealthy allocation ID")

    def work(change: Change) -> DeploymentWritten:
        deployment = _active(change, deployment_id, "set health of allocations for a", by)
        try:
            set_alloc_health(
                change, deployment_id, healthy=healthy, unhealthy=unhealthy, at=change.now
            )
        except IllegalTransition as error:
            raise OperationRefused(str(error)) from error
        if not unhealthy:
            return _stepped(change, deployment, ids, "health of allocations was set")
        versions = change.job_versions(deployment.job_key)
        may_revert = version_to_go_back_to(versions) is not None
        reverts = may_revert and _any_reverts(change, deployment, unhealthy)
        return _failed(change, deployment, rollouts.UNHEALTHY, ids, rolls_back=reverts)

    return _write(store, WriteKind.DEPLOYMENT_ALLOC_HEALTH, work, by=by, now=now)


def step_deployments(
    store: StateStore,
    steps: Mapping[str, tuple[str, ...]],
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> int:
    """Rollouts made progress: an evaluation each; the allocations named may be replaced."""
    require_management(by)

    def work(change: Change) -> None:
        for deployment_id, replaced in steps.items():
            deployment = change.deployment(deployment_id)
            if deployment is None or not deployment.is_active:
                continue
            transition = DesiredTransition(reschedule=True)
            mark_transitions(change, dict.fromkeys(replaced, transition))
            text = "allocations may be replaced" if replaced else "allocations became healthy"
            write_step(change, deployment, ids.next_id(), text)

    kind = WriteKind.ALLOCATION_UPDATE_DESIRED_STATUS
    index, _ = store.write(kind, work, now=now, by=by, fence=fence)
    return index


def end_deployment(  # noqa: PLR0913 - what a watcher knows
    store: StateStore,
    deployment_id: str,
    *,
    by: Caller,
    is_late: bool,
    rolls_back: bool,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> None:
    """The watcher gives a rollout up; nothing happens when it has ended meanwhile."""
    require_management(by)

    def work(change: Change) -> None:
        deployment = change.deployment(deployment_id)
        if deployment is not None and deployment.is_active:
            text = rollouts.LATE if is_late else rollouts.UNHEALTHY
            _failed(change, deployment, text, ids, rolls_back=rolls_back)

    store.write(WriteKind.DEPLOYMENT_STATUS_UPDATE, work, now=now, by=by, fence=fence)


def promote_by_itself(
    store: StateStore,
    deployment_id: str,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> None:
    """The watcher promotes every group, if that still is what the groups ask for."""
    require_management(by)

    def work(change: Change) -> None:
        deployment = change.deployment(deployment_id)
        if deployment is not None and promotes_itself(change, deployment):
            promote_groups(change, deployment, deployment.task_groups, rollouts.RUNNING)
            write_step(change, deployment, ids.next_id(), "its canaries promoted themselves")

    store.write(WriteKind.DEPLOYMENT_PROMOTION, work, now=now, by=by, fence=fence)


#: Beside `submit-job`, what lets a caller do the deeds of these verbs.
_RIGHTS = {
    "promote": "promote-deployment",
    "pause": "pause-deployment",
    "resume": "pause-deployment",
    "fail": "fail-deployment",
    "set health of allocations for a": "set-alloc-health-deployment",
}


def _active(change: Change, deployment_id: str, verb: str, by: Caller) -> Deployment:
    deployment = change.deployment(deployment_id)
    if deployment is None:
        raise NotFound(NOT_FOUND)
    require(by, deployment.namespace, "submit-job", _RIGHTS[verb])
    if not deployment.is_active:
        raise OperationRefused(f"can't {verb} terminal deployment")
    return deployment


def _lacking_canaries(change: Change, deployment: Deployment, names: tuple[str, ...]) -> list[str]:
    """For each of these groups with too few healthy canaries, the sentence that says so."""
    healthy: dict[str, int] = {}
    for alloc in change.allocations_by_deployment(deployment.id):
        health = alloc.deployment_status
        if health and health.canary and health.healthy and not alloc.is_terminal:
            healthy[alloc.task_group] = healthy.get(alloc.task_group, 0) + 1
    lacking = []
    for name in names:
        group = deployment.task_groups.get(name)
        if group is None or group.promoted or healthy.get(name, 0) >= group.desired_canaries:
            continue
        count = f"{healthy.get(name, 0)}/{group.desired_canaries}"
        lacking.append(f'Task group "{name}" has {count} healthy allocations')
    return lacking


def _any_reverts(change: Change, deployment: Deployment, alloc_ids: tuple[str, ...]) -> bool:
    allocs = (change.allocation(alloc_id) for alloc_id in alloc_ids)
    groups = (deployment.task_groups.get(alloc.task_group) for alloc in allocs if alloc)
    return any(group is not None and group.auto_revert for group in groups)


def _failed(
    change: Change, deployment: Deployment, text: str, ids: IDSource, *, rolls_back: bool
) -> DeploymentWritten:
    rolled_back = roll_back(change, deployment) if rolls_back else RolledBack()
    end_failed(change, deployment, text, rolled_back)
    written = _stepped(change, deployment, ids, text[0].lower() + text[1:])
    return replace(written, reverted_version=rolled_back.version)


def _stepped(
    change: Change, deployment: Deployment, ids: IDSource, text: str
) -> DeploymentWritten:
    made = write_step(change, deployment, ids.next_id(), text)
    return DeploymentWritten(
        index=0,
        eval_id=made[0].id if made else "",
        eval_create_index=change.index if made else 0,
        modify_index=change.index,
    )


def _write(
    store: StateStore,
    kind: str,
    work: Callable[[Change], DeploymentWritten],
    *,
    by: Caller,
    now: int,
) -> DeploymentWritten:
    index, written = store.write(kind, work, now=now, by=by)
    return replace(written, index=index)
