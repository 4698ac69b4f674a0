"""The phases of a rollout: canaries, promotion, batches, failure, and what is still to come.

In: a deployment, its allocations, the evaluations of its story, and an instant. Out: phases in
order, each with the evaluations that fall into it. Batches are counted by names, so that one that
is replaced does not count twice.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from django.utils.translation import gettext

from dashboard.stories.acts import act_of, with_acts
from dashboard.stories.phase import RolloutPhase
from dashboard.wording import clock_time, number
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus, RolloutVerb
from scheduler.structs.evaluation import CauseKind, Evaluation

_PROMOTED = "its canaries"


class WatchedRollout(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment and all that tells how far it is."""

    deployment: Deployment
    #: In order of creation.
    allocations: tuple[Allocation, ...]
    #: How many are replaced at a time; 0: all.
    at_once: int


def phases_of(
    rollout: WatchedRollout, evaluations: Mapping[str, Evaluation], *, until: int
) -> list[RolloutPhase]:
    """The phases, in order; `until` is the instant at which allocations are looked at."""
    canaries = _canaries(rollout.deployment)
    steps = sorted(evaluations.values(), key=lambda item: (item.create_index, item.id))
    promotion = next((item for item in steps if promotes(item)), None)
    phases: list[RolloutPhase] = []
    first = [alloc for alloc in rollout.allocations if _is_canary(alloc, rollout.deployment)]
    if canaries:
        phases.append(_placed("canary", "Canary", first, 0, until, wanted=canaries))
        phases += _promotion(rollout.deployment, promotion)
    rest = [alloc for alloc in rollout.allocations if alloc not in first]
    phases += [
        # What is kept in place was there before.
        msgspec.structs.replace(phase, began=max(phase.began, rollout.deployment.create_time))
        if phase.began
        else phase
        for phase in _batches(rollout, rest, evaluations, canaries, until)
    ]
    failure = _failure(rollout.deployment, steps)
    if rollout.deployment.status is DeploymentStatus.SUCCESSFUL:
        return with_acts(_ended_well(phases, rollout.deployment), rollout.deployment)
    if failure is not None:
        phases = [*[_cut_off(phase, failure.began) for phase in _begun(phases)], failure]
    return with_acts(phases, rollout.deployment)


def _cut_off(phase: RolloutPhase, at: int) -> RolloutPhase:
    """What was not whole when the rollout failed never became it."""
    if phase.healthy >= phase.wanted:
        return phase
    return msgspec.structs.replace(phase, tone="failed", whole_at=at)


def _ended_well(phases: Sequence[RolloutPhase], deployment: Deployment) -> list[RolloutPhase]:
    """All of it was placed and healthy then, whatever became of its allocations since.

    Those that a later version took over, or that were collected, are counted by number alone.
    """
    known = [_whole(phase, deployment) for phase in _begun(phases)]
    left = sum(phase.wanted for phase in phases if phase.is_to_come)
    if not left:
        return known
    rest = RolloutPhase(
        key="batch-rest",
        title=gettext("The rest") if known else gettext("All of it"),
        since=deployment.modify_index if known else 0,
        began=0 if known else deployment.create_time,
        wanted=left,
        is_known=False,
    )
    return [*known, _whole(rest, deployment)]


def _whole(phase: RolloutPhase, deployment: Deployment) -> RolloutPhase:
    if phase.healthy >= phase.wanted:
        return phase
    return msgspec.structs.replace(
        phase, healthy=phase.wanted, whole_at=max(phase.whole_at, deployment.modify_time)
    )


def _begun(phases: Sequence[RolloutPhase]) -> list[RolloutPhase]:
    return [phase for phase in phases if not phase.is_to_come]


def _canaries(deployment: Deployment) -> int:
    return sum(group.desired_canaries for group in deployment.task_groups.values())


def promotes(evaluation: Evaluation) -> bool:
    """Whether the promotion of canaries made it."""
    return evaluation.cause is not None and evaluation.cause.text.startswith(_PROMOTED)


def _is_canary(alloc: Allocation, deployment: Deployment) -> bool:
    group = deployment.task_groups.get(alloc.task_group)
    return group is not None and alloc.id in group.placed_canaries


def _promotion(deployment: Deployment, promotion: Evaluation | None) -> list[RolloutPhase]:
    act = act_of(deployment, RolloutVerb.PROMOTED)
    automatic = any(group.auto_promote for group in deployment.task_groups.values())
    if promotion is None and act is None:
        words, begins = (
            (gettext("when all are healthy"), gettext("Comes by itself once all are healthy."))
            if automatic
            else (gettext("when a person promotes"), gettext("Comes when a person promotes."))
        )
        return [
            RolloutPhase(
                key="promoted", title=gettext("Promoted"), since=0, is_to_come=True,
                expects=words, begins=begins,
            )
        ]  # fmt: skip
    # Its evaluation may be collected; the act is remembered with the deployment.
    index, at = (promotion.create_index, promotion.create_time) if promotion else (0, 0)
    by = act.by if act is not None else ""
    if act is not None and not index:
        index, at = act.index, act.at
    return [
        RolloutPhase(
            key="promoted", title=gettext("Promoted"), since=index, began=at, by=by,
            event=("promoted", clock_time(at)),
            notes=(gettext("It came by itself."),) if automatic and not by else (),
        )
    ]  # fmt: skip


def _batches(
    rollout: WatchedRollout,
    allocations: Sequence[Allocation],
    evaluations: Mapping[str, Evaluation],
    canaries: int,
    until: int,
) -> list[RolloutPhase]:
    total = sum(group.desired_total for group in rollout.deployment.task_groups.values())
    # Promoted canaries are part of the whole; the rest goes in batches.
    rest = max(total - canaries, 0)
    size = rollout.at_once or max(rest, 1)
    groups = _grouped(allocations, size)
    placed = sum(len({alloc.name for alloc in group}) for group in groups)
    coming = _coming(max(rest - placed, 0), size)
    if groups and coming and (missing := size - len({alloc.name for alloc in groups[-1]})) > 0:
        # The batch that is under way is filled up before the next one begins.
        coming = _coming(max(rest - placed - missing, 0), size)
    count = len(groups) + len(coming)
    phases = []
    for place, group in enumerate(groups, 1):
        names = len({alloc.name for alloc in group})
        wanted = names if place < len(groups) else min(max(size, names), names + rest - placed)
        title = (
            gettext("Batch {place} of {count}").format(place=place, count=count)
            if count > 1
            else gettext("All at once")
        )
        phases.append(
            _placed(f"batch-{place}", title, group, _since(group, evaluations), until,
                    wanted=max(wanted, names))
        )  # fmt: skip
    for place, left in enumerate(coming, len(groups) + 1):
        after, begins = _turn(place, canaries)
        is_last = place == count and place > 1
        if is_last:
            begins = gettext("{begins} It is the last one.").format(begins=begins)
        told = gettext("{count}, then done") if is_last else gettext("{count}, {after}")
        title = (
            gettext("Batch {place} of {count}").format(place=place, count=count)
            if count > 1
            else gettext("The rest")
        )
        phases.append(
            RolloutPhase(key=f"batch-{place}", title=title, since=0, wanted=left, is_to_come=True,
                  expects=told.format(count=number(left), after=after), begins=begins)
        )  # fmt: skip
    return phases


def _turn(place: int, canaries: int) -> tuple[str, str]:
    """What a batch comes after: in few words, and as a sentence."""
    if place > 1:
        before = number(place - 1)
        return (
            gettext("after batch {place}").format(place=before),
            gettext("Begins after batch {place}.").format(place=before),
        )
    if canaries:
        return gettext("after the promotion"), gettext("Begins after the promotion.")
    return gettext("the first"), gettext("Nothing of this batch is placed yet.")


def _coming(left: int, size: int) -> list[int]:
    return [min(size, left - start) for start in range(0, left, size)]


def _grouped(allocations: Sequence[Allocation], size: int) -> list[list[Allocation]]:
    """Allocations by batch: a new one begins where the last has as many names as go at once."""
    groups: list[list[Allocation]] = []
    of_name: dict[str, list[Allocation]] = {}
    index = -1
    for alloc in allocations:
        if alloc.name in of_name:
            of_name[alloc.name].append(alloc)
            continue
        is_full = groups and len({item.name for item in groups[-1]}) >= size
        # What one plan places belongs together, however much that is.
        if not groups or (is_full and alloc.create_index != index):
            groups.append([])
        groups[-1].append(alloc)
        of_name[alloc.name] = groups[-1]
        index = alloc.create_index
    return groups


def _since(group: Sequence[Allocation], evaluations: Mapping[str, Evaluation]) -> int:
    """The index of the evaluation that placed the first of them, where it is known."""
    first = group[0]
    made = evaluations.get(first.eval_id)
    if made is not None and made.create_index <= first.create_index:
        return made.create_index
    return first.create_index


def _placed(
    key: str,
    title: str,
    group: Sequence[Allocation],
    since: int,
    until: int,
    *,
    wanted: int,
) -> RolloutPhase:
    judged = {
        alloc.name: alloc.deployment_status.timestamp
        for alloc in group
        if alloc.deployment_status is not None
        and alloc.deployment_status.healthy
        and alloc.deployment_status.timestamp <= until
    }
    healthy = len(judged)
    tries = Counter(alloc.name for alloc in group)
    newest = {alloc.name: alloc for alloc in group}
    return RolloutPhase(
        key=key,
        title=title,
        since=since,
        began=min((alloc.create_time for alloc in group), default=0),
        wanted=wanted,
        healthy=healthy,
        whole_at=max(judged.values()) if healthy >= wanted > 0 else 0,
        again=tuple((newest[name], count) for name, count in tries.items() if count > 1),
    )


def goes_back(deployment: Deployment) -> bool:
    """Whether it failed and an earlier version was brought back."""
    told = deployment.status_description
    return "rolling back to job version" in told and "not rolling back" not in told


def _fails(evaluation: Evaluation, deployment: Deployment) -> bool:
    """Whether the failure of this rollout made it.

    The deployment itself goes on changing, as health is told of what it placed.
    """
    cause = evaluation.cause
    if cause is None or cause.kind is not CauseKind.DEPLOYMENT or not cause.text:
        return False
    return deployment.status_description.lower().startswith(cause.text.lower())


def _failure(deployment: Deployment, steps: Sequence[Evaluation]) -> RolloutPhase | None:
    if deployment.status is not DeploymentStatus.FAILED:
        return None
    ending = next((item for item in steps if _fails(item, deployment)), None)
    if ending is not None:
        since, at = ending.create_index, ending.create_time
    else:
        # Its evaluation is collected, or was made before causes were told.
        since, at = deployment.modify_index, deployment.modify_time
        later = (item.create_index for item in steps if item.create_index >= since)
        since = next(later, since)
    went_back = goes_back(deployment)
    act = act_of(deployment, RolloutVerb.FAILED)
    by = act.by if act is not None else ""
    return RolloutPhase(
        key="failed",
        title=gettext("Went back") if went_back else "Failed",
        since=since,
        began=at,
        by=by,
        event=(*(("failed", by) if by else ("rollout", "failed")), clock_time(at)),
        tone="failed",
    )
