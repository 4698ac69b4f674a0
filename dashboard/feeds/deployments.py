"""Rollouts, live: the list, and one of them with all that happens in its name.

In: frames. Out: panels, and the rows of what has ended.
"""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.feeds.lists import ListFeed
from dashboard.needs import stuck_at
from dashboard.queries.deployments import active_rollouts
from dashboard.rollouts import progress_of
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Nanoseconds between two readings while allocations of a rollout come and go.
BETWEEN_READINGS = 250_000_000


class DeploymentsFeed(ListFeed):
    """The lists of rollouts; one without progress becomes stuck by time alone.

    One whose job waits for room says so, from the moment an evaluation is blocked until it is not.
    """

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        #: When each that is under way counts as stuck.
        self._turns: dict[str, int] = {}
        #: The job of each that is under way, and the evaluations that wait for room.
        self._jobs: dict[str, JobKey] = {}
        self._blocked: set[str] = set()

    def load(self, reader: RecordReader) -> None:
        """Know when the next one counts as stuck, and what waits for room."""
        for each in active_rollouts(reader, self.subscription.namespaces):
            self._turn(each.id, each)
            self._jobs[each.id] = each.job_key
        waiting = reader.blocked_among({*self._jobs.values()}) if self._jobs else {}
        self._blocked = {each.id for each in waiting.values()}

    def concerns(self, event: StateEvent) -> bool:
        """Rollouts, and evaluations of their jobs that begin or cease to wait for room."""
        if event.topic is Topic.EVALUATION:
            return event.key in self._blocked or self._waits_for_room(event.value)
        return super().concerns(event)

    def _waits_for_room(self, value: object) -> bool:
        return (
            isinstance(value, Evaluation)
            and value.status is EvalStatus.BLOCKED
            and value.job_key in self._jobs.values()
        )

    def _turn(self, key: str, deployment: Deployment | None) -> None:
        self._turns.pop(key, None)
        if deployment is not None and deployment.status is DeploymentStatus.RUNNING:
            turn = stuck_at(progress_of(deployment))
            if turn:
                self._turns[key] = turn

    def is_due(self, now: int) -> bool:
        """Whether one counts as stuck that did not before."""
        passed = [key for key, turn in self._turns.items() if turn <= now]
        for key in passed:
            del self._turns[key]
        if passed:
            self._stale |= {panel.target for panel in self.panels}
        # Both are to be asked.
        return super().is_due(now) or bool(passed)

    def _note(self, event: StateEvent, index: int) -> None:
        if event.topic is Topic.EVALUATION:
            waits = not event.deleted and self._waits_for_room(event.value)
            (self._blocked.add if waits else self._blocked.discard)(event.key)
            self._stale |= {panel.target for panel in self.panels}
            return
        super()._note(event, index)
        value = event.value if isinstance(event.value, Deployment) else None
        value = None if event.deleted else value
        self._turn(event.key, value)
        self._jobs.pop(event.key, None)
        if value is not None and value.is_active:
            self._jobs[event.key] = value.job_key


class DeploymentFeed(Feed):
    """One rollout: itself, its allocations, the evaluations and versions of its job."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._job: JobKey | None = None
        self._placed: set[str] = set()
        self._waits: set[str] = set()
        self._read_at = 0
        self._turn = 0

    def load(self, reader: RecordReader) -> None:
        """Know whose rollout it is."""
        deployment = reader.deployment(self.subscription.key)
        self._job = deployment.job_key if deployment is not None else None
        allocs = reader.allocations_by_deployment(self.subscription.key)
        self._placed = {alloc.id for alloc in allocs}
        self._turn = stuck_at(progress_of(deployment)) if deployment is not None else 0

    def concerns(self, event: StateEvent) -> bool:
        """Whether it belongs to the rollout or to its job's versions and evaluations."""
        if event.topic is Topic.DEPLOYMENT:
            return event.key == self.subscription.key
        value = event.value
        if isinstance(value, Allocation):
            # One that a later version keeps in place is from then on of that one's rollout.
            return event.key in self._placed or value.deployment_id == self.subscription.key
        if isinstance(value, Evaluation):
            return value.job_key == self._job
        return isinstance(value, Job) and value.key == self._job

    def _note(self, event: StateEvent, index: int) -> None:
        before = set(self._stale)
        super()._note(event, index)
        if isinstance(event.value, Allocation):
            is_own = event.value.deployment_id == self.subscription.key
            (self._placed.add if is_own else self._placed.discard)(event.key)
        if isinstance(event.value, Deployment):
            self._turn = stuck_at(progress_of(event.value))
        if event.topic is Topic.ALLOCATION:
            # A rollout of a thousand is read whole: not at each of their reports.
            self._waits |= self._stale - before
            self._stale = before

    def is_due(self, now: int) -> bool:
        """Whether its allocations moved and the last reading is old enough, or it is stuck now."""
        if self._turn and now >= self._turn:
            self._waits, self._turn = {panel.target for panel in self.panels}, 0
        if not self._waits or now < self._read_at + BETWEEN_READINGS:
            return False
        self._stale |= self._waits
        self._waits, self._read_at = set(), now
        return True

    @property
    def asks_at(self) -> int | None:
        """The next reading, where its allocations moved since the last."""
        return self._read_at + BETWEEN_READINGS if self._waits else None
