"""Take rollouts onwards: look at their jobs again as allocations become healthy, or end them.

In: the log, the record, time. Out: `StepDeployments`, `PromoteDeployment` and `FailDeployment`.
Memory says where to look, what is gathered for the next step and which deadlines were met late;
the rules themselves are in `deployment_rules.py`.
"""

from collections.abc import Sequence

import msgspec

from scheduler.broker.delay_heap import DelayHeap
from scheduler.commands import Command, FailDeployment, PromoteDeployment, StepDeployments
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.watchers import deployment_rules as rules

SECOND = 1_000_000_000
#: Seconds that progress of one deployment is gathered for.
BATCH_WAIT = 1.0
#: Everything is looked at again this often, should a command have failed.
LOOK_AGAIN = 10.0


class _Gathered(msgspec.Struct):
    """What the next step of a deployment will do."""

    due: float
    #: Unhealthy allocations that may be replaced.
    replaced: dict[str, None]


class Deployments:
    """All rollouts under way (control-plane.md 6)."""

    def __init__(self) -> None:
        #: Active deployments and the deadline each one's timer was last set to.
        self._cutoffs: dict[str, int] = {}
        #: Wall clock, ns.
        self._deadlines = DelayHeap()
        #: Those whose deadline has passed once: later failures are put down to it.
        self._late: set[str] = set()
        self._dirty: set[str] = set()
        self._gathered: dict[str, _Gathered] = {}
        self._looked_at = 0.0

    def restore(self, reader: StateReader, *, now: int, monotonic: float) -> None:
        """Find the active deployments and look at all of them."""
        self._cutoffs.clear()
        self._deadlines.clear()
        self._late.clear()
        self._dirty.clear()
        self._gathered.clear()
        self._looked_at = monotonic
        for deployment in reader.deployments():
            self._follow(deployment)

    def observe(self, frame: EventFrame, *, now: int, monotonic: float) -> None:
        """Note which deployments are to be looked at."""
        for event in frame.events:
            value = event.value
            if isinstance(value, Deployment):
                self._forget(value.id) if event.deleted else self._follow(value)
            elif isinstance(value, Allocation) and value.deployment_id in self._cutoffs:
                self._dirty.add(value.deployment_id)

    def _follow(self, deployment: Deployment) -> None:
        if deployment.is_active:
            self._cutoffs.setdefault(deployment.id, 0)
            self._dirty.add(deployment.id)
        else:
            self._forget(deployment.id)

    def _forget(self, deployment_id: str) -> None:
        self._cutoffs.pop(deployment_id, None)
        self._deadlines.remove(deployment_id)
        self._gathered.pop(deployment_id, None)
        self._late.discard(deployment_id)
        self._dirty.discard(deployment_id)

    def next_deadline(self, *, now: int, monotonic: float) -> float | None:
        """At once when something has changed; else the next step, deadline or general look."""
        if not self._cutoffs:
            return None
        if self._dirty:
            return monotonic
        moments = [self._looked_at + LOOK_AGAIN]
        moments += [gathered.due for gathered in self._gathered.values()]
        cutoff = self._deadlines.next_due()
        if cutoff is not None:
            moments.append(monotonic + max(0.0, cutoff - now) / SECOND)
        return min(moments)

    def tick(self, reader: StateReader, *, now: int, monotonic: float) -> Sequence[Command]:
        """Look where something changed; hand out what is due."""
        if monotonic >= self._looked_at + LOOK_AGAIN:
            self._looked_at = monotonic
            self._dirty |= set(self._cutoffs)
        commands: list[Command] = []
        dirty, self._dirty = sorted(self._dirty), set()
        for deployment_id in dirty:
            commands += self._look(reader, deployment_id, now, monotonic)
        for deployment_id in self._deadlines.pop_due(now):
            commands += self._meet_deadline(reader, deployment_id)
        due = [key for key, gathered in self._gathered.items() if gathered.due <= monotonic]
        steps = {key: tuple(self._gathered.pop(key).replaced) for key in due}
        if steps:
            commands.append(StepDeployments(steps=steps))
        return commands

    def _look(
        self, reader: StateReader, deployment_id: str, now: int, monotonic: float
    ) -> list[Command]:
        deployment = reader.deployment(deployment_id)
        if deployment is None or not deployment.is_active:
            return []
        self._set_deadline(reader, deployment)
        progress = rules.progress_of(reader, deployment, now)
        if progress.has_failed:
            self._gathered.pop(deployment_id, None)
            return [self._failure(deployment, rolls_back=progress.rolls_back)]
        commands: list[Command] = []
        if rules.promotes_itself(reader, deployment):
            commands.append(PromoteDeployment(deployment_id=deployment_id))
        if progress.is_news or progress.replaceable:
            gathered = self._gathered.setdefault(
                deployment_id, _Gathered(due=monotonic + BATCH_WAIT, replaced={})
            )
            gathered.replaced |= dict.fromkeys(progress.replaceable)
        return commands

    def _set_deadline(self, reader: StateReader, deployment: Deployment) -> None:
        cutoff = rules.cutoff_of(reader, deployment)
        if cutoff == self._cutoffs[deployment.id]:
            return
        self._cutoffs[deployment.id] = cutoff
        self._deadlines.remove(deployment.id)
        if cutoff:
            self._deadlines.push(deployment.id, cutoff)

    def _meet_deadline(self, reader: StateReader, deployment_id: str) -> list[Command]:
        deployment = reader.deployment(deployment_id)
        if deployment is None or deployment.status is DeploymentStatus.PAUSED:
            return []
        self._late.add(deployment_id)
        lagging = rules.lagging_groups(deployment)
        if not lagging:
            return []
        rolls_back = any(group.auto_revert for group in lagging)
        return [self._failure(deployment, rolls_back=rolls_back)]

    def _failure(self, deployment: Deployment, *, rolls_back: bool) -> FailDeployment:
        return FailDeployment(
            deployment_id=deployment.id,
            is_late=deployment.id in self._late,
            rolls_back=rolls_back,
        )
