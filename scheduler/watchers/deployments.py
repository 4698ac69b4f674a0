"""Take rollouts onwards: look at their jobs again as allocations become healthy, or end them.

In: the log, the record, time. Out: `StepDeployments`, `PromoteDeployment` and `FailDeployment`.
Memory holds each rollout's health as the log tells it, what is gathered for the next step and
which deadlines were met late; the rules themselves are in `deployment_rules.py`.
"""

from collections.abc import Sequence

import msgspec

from scheduler.broker.delay_heap import DelayHeap
from scheduler.commands import Command, FailDeployment, PromoteDeployment, StepDeployments
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.moment import Moment
from scheduler.watchers import deployment_rules as rules
from scheduler.watchers.deployment_tally import DeploymentTally

SECOND = 1_000_000_000
#: Seconds that progress of one deployment is gathered for.
BATCH_WAIT = 1.0
#: What asked for a command is looked at again this often, should the command have failed.
LOOK_AGAIN = 10.0


class _Rollout(msgspec.Struct):
    """What is remembered of a deployment under way."""

    tally: DeploymentTally
    #: What its timer was last set to; 0 is not set.
    cutoff: int = 0
    #: The newest index that an evaluation of its job was found to have seen.
    seen_index: int = 0
    #: Its deadline has passed once: later failures are put down to it.
    is_late: bool = False


class _Gathered(msgspec.Struct):
    """What the next step of a deployment will do."""

    due: float
    #: Unhealthy allocations that may be replaced.
    replaced: dict[str, None]


class Deployments:
    """All rollouts under way (control-plane.md 6)."""

    def __init__(self) -> None:
        #: Active deployments by id.
        self._rollouts: dict[str, _Rollout] = {}
        #: Wall clock, ns.
        self._deadlines = DelayHeap()
        self._dirty: set[str] = set()
        self._gathered: dict[str, _Gathered] = {}
        self._looked_at = 0.0

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Find the active deployments, count their health, and look at all of them."""
        self._rollouts.clear()
        self._deadlines.clear()
        self._dirty.clear()
        self._gathered.clear()
        self._looked_at = moment.monotonic
        for deployment in reader.deployments():
            if not deployment.is_active:
                continue
            self._follow(deployment)
            if not any(map(_has_judged, deployment.task_groups.values())):
                continue
            tally = self._rollouts[deployment.id].tally
            for alloc in reader.allocations_by_deployment(deployment.id):
                tally.take(alloc)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Count what allocations say; note which deployments are to be looked at."""
        # A plan may list its allocations before the deployment that it creates for them.
        for event in frame.events:
            value = event.value
            if isinstance(value, Deployment):
                self._forget(value.id) if event.deleted else self._follow(value)
        for event in frame.events:
            value = event.value
            if not isinstance(value, Allocation):
                continue
            rollout = self._rollouts.get(value.deployment_id)
            if rollout is not None and rollout.tally.take(value, deleted=event.deleted):
                self._dirty.add(value.deployment_id)

    def _follow(self, deployment: Deployment) -> None:
        if not deployment.is_active:
            self._forget(deployment.id)
            return
        if deployment.id not in self._rollouts:
            self._rollouts[deployment.id] = _Rollout(tally=DeploymentTally())
        self._dirty.add(deployment.id)

    def _forget(self, deployment_id: str) -> None:
        self._rollouts.pop(deployment_id, None)
        self._deadlines.remove(deployment_id)
        self._gathered.pop(deployment_id, None)
        self._dirty.discard(deployment_id)

    def next_deadline(self, moment: Moment) -> float | None:
        """At once when something has changed; else the next step, deadline or general look."""
        if not self._rollouts:
            return None
        if self._dirty:
            return moment.monotonic
        deadlines = [self._looked_at + LOOK_AGAIN]
        deadlines += [gathered.due for gathered in self._gathered.values()]
        cutoff = self._deadlines.next_due()
        if cutoff is not None:
            deadlines.append(moment.monotonic + max(0.0, cutoff - moment.now) / SECOND)
        return min(deadlines)

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Look where something changed; hand out what is due."""
        if moment.monotonic >= self._looked_at + LOOK_AGAIN:
            self._looked_at = moment.monotonic
            self._dirty |= {key for key, each in self._rollouts.items() if each.tally.has_judged}
        commands: list[Command] = []
        dirty, self._dirty = sorted(self._dirty), set()
        for deployment_id in dirty:
            commands += self._look(reader, deployment_id, moment)
        for deployment_id in self._deadlines.pop_due(moment.now):
            commands += self._meet_deadline(reader, deployment_id, moment.now)
        due = [key for key, gathered in self._gathered.items() if gathered.due <= moment.monotonic]
        steps = {key: tuple(self._gathered.pop(key).replaced) for key in due}
        if steps:
            commands.append(StepDeployments(steps=steps))
        return commands

    def _look(self, reader: StateReader, deployment_id: str, moment: Moment) -> list[Command]:
        deployment = reader.deployment(deployment_id)
        rollout = self._rollouts.get(deployment_id)
        if deployment is None or rollout is None or not deployment.is_active:
            return []
        self._set_deadline(deployment, rollout)
        progress = rules.progress_of(reader, deployment, rollout.tally, moment.now)
        if progress.has_failed:
            self._gathered.pop(deployment_id, None)
            return [self._failure(deployment, rolls_back=progress.rolls_back)]
        commands: list[Command] = []
        if rules.promotes_itself(reader, deployment):
            commands.append(PromoteDeployment(deployment_id=deployment_id))
        if progress.replaceable or self._has_news(reader, deployment, rollout):
            gathered = self._gathered.setdefault(
                deployment_id, _Gathered(due=moment.monotonic + BATCH_WAIT, replaced={})
            )
            gathered.replaced |= dict.fromkeys(progress.replaceable)
        return commands

    def _has_news(self, reader: StateReader, deployment: Deployment, rollout: _Rollout) -> bool:
        """One became healthy after the newest state any evaluation of the job has seen."""
        if deployment.id in self._gathered:
            return False
        newest = rollout.tally.newest_healthy_index
        if newest > rollout.seen_index:
            rollout.seen_index = rules.newest_seen_index(reader, deployment.job_key)
        return newest > rollout.seen_index

    def _set_deadline(self, deployment: Deployment, rollout: _Rollout) -> None:
        cutoff = rules.cutoff_of(deployment, rollout.tally)
        if cutoff == rollout.cutoff:
            return
        rollout.cutoff = cutoff
        self._deadlines.remove(deployment.id)
        if cutoff:
            self._deadlines.push(deployment.id, cutoff)

    def _meet_deadline(self, reader: StateReader, deployment_id: str, now: int) -> list[Command]:
        deployment = reader.deployment(deployment_id)
        if deployment is None or deployment.status is DeploymentStatus.PAUSED:
            return []
        self._rollouts[deployment_id].is_late = True
        lagging = rules.lagging_groups(deployment)
        if not lagging:
            return []
        # Met again until the record shows that it has failed.
        self._deadlines.push(deployment_id, now + round(LOOK_AGAIN * SECOND))
        rolls_back = any(group.auto_revert for group in lagging)
        return [self._failure(deployment, rolls_back=rolls_back)]

    def _failure(self, deployment: Deployment, *, rolls_back: bool) -> FailDeployment:
        return FailDeployment(
            deployment_id=deployment.id,
            is_late=self._rollouts[deployment.id].is_late,
            rolls_back=rolls_back,
        )


def _has_judged(group: GroupRollout) -> bool:
    return bool(group.healthy_allocs or group.unhealthy_allocs)
