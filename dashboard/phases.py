"""The phases of a rollout, in their order: canaries, promotion, the rest, the end.

In: how far a deployment is, its allocations and evaluations. Out: Phases, each with its tone, its
instant and the evaluation that made it, as far as the record still knows them. Knows no reader.
"""

from collections.abc import Iterator, Sequence

import msgspec
from django.utils.translation import gettext

from dashboard.rollout_endings import what_followed, why_ended
from dashboard.rollouts import GroupProgress, RolloutProgress
from dashboard.wording import count_of, number, one_of, span
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.job import Job

#: What the cause of an evaluation says that followed a promotion.
_PROMOTED = "promoted"
_COMPLETE, _RUNNING, _CANARY, _FAILED, _PAUSED, _BLOCKED = (
    "complete", "running", "canary", "failed", "paused", "blocked",
)  # fmt: skip


class PhaseShown(msgspec.Struct, frozen=True, kw_only=True):
    """One phase, as it stands."""

    title: str
    #: Of its bar; empty for one that is still to come or was never reached.
    tone: str = ""
    is_current: bool = False
    #: When it was over, ns; 0 while it lasts and where that is not known.
    at: int = 0
    told: str = ""
    #: Since when what `told` says lasts, ns; 0 where nothing does.
    since: int = 0
    more: str = ""
    eval_id: str = ""


class PhaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What phases are told from; `job` is None once its version was collected."""

    progress: RolloutProgress
    job: Job | None = None
    allocs: Sequence[Allocation] = ()
    evaluations: Sequence[Evaluation] = ()
    #: An evaluation of its job waits for room.
    is_blocked: bool = False


def phases_of(facts: PhaseFacts) -> tuple[PhaseShown, ...]:
    """All of them, in order."""
    with_canaries = [group for group in facts.progress.groups if group.state.desired_canaries]
    phases: list[PhaseShown] = []
    if with_canaries:
        phases += _canary_phases(facts, with_canaries)
    phases += _the_rest(facts, with_canaries)
    phases.append(_end(facts))
    if facts.progress.deployment.status is DeploymentStatus.PAUSED:
        return tuple(_held(phase) for phase in phases)
    if facts.is_blocked and facts.progress.is_short:
        return tuple(_short_of_room(phase) for phase in phases)
    return tuple(phases)


def _canary_phases(facts: PhaseFacts, groups: Sequence[GroupProgress]) -> Iterator[PhaseShown]:
    is_active = facts.progress.deployment.is_active
    wanted = sum(group.state.desired_canaries for group in groups)
    there = sum(group.canaries_placed for group in groups)
    well = sum(group.canaries_healthy for group in groups)
    is_promoted = all(group.state.promoted for group in groups)
    ids = {each for group in groups for each in group.state.placed_canaries}
    canaries = [alloc for alloc in facts.allocs if alloc.id in ids]
    last = max(canaries, key=lambda alloc: (alloc.create_index, alloc.id), default=None)
    is_placed = there >= wanted
    placed_at = last.create_time if last is not None and is_placed else 0
    all_of_them = count_of(wanted, "{count} canary", "{count} canaries")
    yield PhaseShown(
        title=gettext("{all_of_them} placed").format(all_of_them=all_of_them)
        if is_placed
        else gettext("{of} canaries placed").format(of=_of(there, wanted)),
        tone=_tone(is_placed, is_active),
        is_current=is_active and not is_placed,
        at=placed_at,
        eval_id=last.eval_id if last is not None else "",
    )
    is_well = well >= wanted
    well_at = _last_judged(canaries) if is_well else 0
    seen = _seen_by_watcher(facts.evaluations, well_at)
    unhealthy = sum(group.state.unhealthy_allocs for group in groups) if not is_promoted else 0
    yield PhaseShown(
        title=gettext("{all_of_them} healthy").format(all_of_them=all_of_them)
        if is_well
        else gettext("{of} canaries healthy").format(of=_of(well, wanted)),
        tone=_tone(
            is_well,
            (is_active and is_placed) or (bool(unhealthy) and _has_failed(facts)),
            _FAILED if unhealthy else _CANARY,
        ),
        is_current=is_active and is_placed and not is_well,
        at=well_at,
        told=gettext("after {well_at}").format(well_at=span(well_at - placed_at))
        if well_at > placed_at > 0
        else "",
        more=(
            gettext("{unhealthy} unhealthy so far")
            if is_active
            else gettext("{unhealthy} unhealthy")
        ).format(unhealthy=number(unhealthy))
        if unhealthy
        else "",
        eval_id=seen.id if seen is not None else "",
    )
    yield _promotion(facts, groups, well_at, is_due=is_active and is_well)


def _unhealthy_told(count: int, *, is_active: bool) -> str:
    if not count:
        return ""
    told = (
        gettext("{unhealthy} unhealthy so far") if is_active else gettext("{unhealthy} unhealthy")
    )
    return told.format(unhealthy=number(count))


def _seen_by_watcher(evaluations: Sequence[Evaluation], at: int) -> Evaluation | None:
    """The first evaluation of the deployment's watcher from then on that no promotion made."""
    found = [
        item
        for item in evaluations
        if at
        and item.triggered_by == EvalTrigger.DEPLOYMENT_WATCHER
        and item.create_time >= at
        and not _is_of_promotion(item)
    ]
    return min(found, key=lambda item: item.create_index, default=None)


def _is_of_promotion(evaluation: Evaluation) -> bool:
    return evaluation.cause is not None and _PROMOTED in evaluation.cause.text


def _promotion(
    facts: PhaseFacts, groups: Sequence[GroupProgress], well_at: int, *, is_due: bool
) -> PhaseShown:
    is_promoted = all(group.state.promoted for group in groups)
    by_itself = all(group.state.auto_promote for group in groups)
    step = next(filter(_is_of_promotion, facts.evaluations), None)
    if is_promoted:
        return PhaseShown(
            title="Promoted",
            tone=_COMPLETE,
            at=step.create_time if step is not None else 0,
            told=step.cause.text if step is not None and step.cause else "",
            eval_id=step.id if step is not None else "",
        )
    if not facts.progress.deployment.is_active:
        return PhaseShown(title="Promote", more=gettext("not reached"))
    whose = gettext("promotes itself") if by_itself else gettext("waits for a person")
    return PhaseShown(
        title="Promote",
        tone=_CANARY if is_due else "",
        is_current=is_due,
        told=whose if is_due else "",
        since=well_at if is_due and not by_itself else 0,
        more=""
        if is_due
        else (gettext("by itself, once all are healthy") if by_itself else gettext("by a person")),
    )


def _the_rest(facts: PhaseFacts, with_canaries: Sequence[GroupProgress]) -> Iterator[PhaseShown]:
    groups = facts.progress.groups
    wanted = sum(group.rest for group in groups)
    if not wanted:
        return
    deployment = facts.progress.deployment
    well = sum(group.rest_healthy for group in groups)
    is_over = well >= wanted
    unhealthy = sum(group.state.unhealthy_allocs for group in groups)
    waits = bool(with_canaries) and not any(group.state.promoted for group in with_canaries)
    # Groups without canaries go on while others wait for their promotion.
    others = any(group.rest and not group.state.desired_canaries for group in groups)
    is_current = deployment.is_active and not is_over and (not waits or others)
    canaries = {each for group in groups for each in group.state.placed_canaries}
    placed = [alloc for alloc in facts.allocs if alloc.id not in canaries]
    last = max(placed, key=lambda alloc: (alloc.create_index, alloc.id), default=None)
    title = (
        count_of(wanted, "{count} more", "{count} more")
        if with_canaries
        else gettext("{wanted} of this version").format(wanted=number(wanted))
    )
    if not placed and not deployment.is_active and with_canaries:
        yield PhaseShown(title=title, more=gettext("not reached"))
        return
    broke = bool(unhealthy) and not waits and _has_failed(facts)
    yield PhaseShown(
        title=title,
        tone=_tone(is_over, is_current or broke, _FAILED if unhealthy else _RUNNING),
        is_current=is_current,
        told=gettext("{of} healthy").format(of=_of(well, wanted))
        + (
            gettext(" and {unhealthy} unhealthy").format(unhealthy=number(unhealthy))
            if unhealthy and not waits
            else ""
        ),
        more=at_a_time(facts.progress, facts.job),
        at=_last_judged(placed) if is_over else 0,
        # Of several batches the newest.
        eval_id=last.eval_id if last is not None else "",
    )


def _end(facts: PhaseFacts) -> PhaseShown:
    deployment = facts.progress.deployment
    version = f"v{deployment.job_version}"
    if deployment.is_active:
        is_stable = facts.job is not None and facts.job.stable
        return PhaseShown(
            title="Done",
            told=(
                gettext("{version} is stable")
                if is_stable
                else gettext("{version} becomes stable")
            ).format(version=version),
        )
    if deployment.status is DeploymentStatus.SUCCESSFUL:
        is_stable = facts.job is not None and facts.job.stable
        told = gettext("{version} is stable").format(version=version) if is_stable else ""
        return PhaseShown(title="Done", tone=_COMPLETE, at=deployment.modify_time, told=told)
    is_failed = deployment.status is DeploymentStatus.FAILED
    return PhaseShown(
        title="Failed" if is_failed else "Canceled",
        tone=_FAILED if is_failed else "canceled",
        at=deployment.modify_time,
        told="; ".join(
            each for each in (why_ended(facts.progress), what_followed(deployment)) if each
        ),
    )


def at_a_time(progress: RolloutProgress, job: Job | None) -> str:
    """`2 at a time`, or by group where they differ: `web 10 and cache 5 at a time`."""
    groups = [job.task_group(group.name) for group in progress.groups] if job is not None else []
    counts = {
        group.name: group.update.max_parallel
        for group in groups
        if group is not None and group.update is not None and group.update.max_parallel
    }
    if not counts:
        return ""
    if len(set(counts.values())) == 1:
        return gettext("{values} at a time").format(values=number(next(iter(counts.values()))))
    return gettext("{part} at a time").format(
        part=one_of([f"{name} {number(count)}" for name, count in counts.items()], "and")
    )


def _last_judged(allocs: Sequence[Allocation]) -> int:
    """When the last of them became healthy, ns; 0 where that is not known."""
    judged = [alloc.deployment_status for alloc in allocs if alloc.deployment_status]
    return max((health.timestamp for health in judged if health.healthy), default=0)


def _tone(is_over: bool, is_current: bool, tone: str = _RUNNING) -> str:  # noqa: FBT001 - two plain truths
    if is_over:
        return _COMPLETE
    return tone if is_current else ""


def _held(phase: PhaseShown) -> PhaseShown:
    return msgspec.structs.replace(phase, tone=_PAUSED) if phase.is_current else phase


def _short_of_room(phase: PhaseShown) -> PhaseShown:
    """The present phase of a rollout whose allocations find no place."""
    if not phase.is_current or phase.tone != _RUNNING:
        return phase
    waits = gettext("waits for room")
    told = f"{phase.told}, {waits}" if phase.told else waits
    return msgspec.structs.replace(phase, tone=_BLOCKED, told=told)


def _has_failed(facts: PhaseFacts) -> bool:
    return facts.progress.deployment.status is DeploymentStatus.FAILED


def _of(count: int, wanted: int) -> str:
    return gettext("{count} of {wanted}").format(
        count=number(min(count, wanted)), wanted=number(wanted)
    )
