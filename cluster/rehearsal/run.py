"""Rehearse: make the changes in a branch of the record, and let the real parts run to their rest.

In: a snapshot, a scenario, limits, and from outside real time. Out: what happened, as it stands in
the branch and in the ledger. Time is virtual and jumps to whatever comes next; nothing is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.control_plane.means import CountedIDs, VirtualClock
from cluster.control_plane.plane import TYPES, ControlPlane
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.rehearsal.clients import Clients
from cluster.rehearsal.ledger import Ledger
from cluster.rehearsal.result import RehearsalEnd, RehearsalProgress
from cluster.rehearsal.scenario import Scenario
from cluster.rehearsal.stage import ScenarioStage
from scheduler.access.caller import CLUSTER
from scheduler.ports import MirroredSnapshot, Snapshot
from scheduler.state.branch_store import BranchStore
from scheduler.state.events import WriteKind
from scheduler.structs.allocation import Allocation
from scheduler.watchers.deployments import Deployments
from scheduler.watchers.drains import Drains
from scheduler.watchers.stages import Stages
from scheduler.watchers.watcher import Watcher
from scheduler.worker import Batch

SECOND = 1_000_000_000
#: Ids of a rehearsal begin so, and those of the record never do but once in four thousand million.
PREFIX = "ffffffff"
#: Evaluations taken at once, as a worker does.
AT_ONCE = 16
#: Nothing that watches looks more seldom, virtual seconds: after so long without a write only what
#: has a time of its own can still happen.
STILL = 65.0
#: No two looks are closer together, virtual seconds.
_STEP = 0.05


@dataclass(frozen=True)
class RehearsalLimits:
    """How much a rehearsal may take."""

    #: Real time.
    seconds: float = 60.0
    evaluations: int = 200_000
    #: Real time of its beginning, where that was before; None: now.
    began: float | None = None
    #: Virtual time.
    horizon: float = 7 * 24 * 3600.0


class _LimitReachedError(Exception):
    """A rehearsal that ends before all is quiet."""

    def __init__(self, end: RehearsalEnd) -> None:
        super().__init__(end.value)
        self.end = end


class RehearsedPlane(ControlPlane):
    """A control plane of a rehearsal: nobody falls silent, nothing is collected or launched."""

    collection = None
    #: Asked before each batch of evaluations.
    before_batch: Callable[[], None] = staticmethod(lambda: None)

    def new_watchers(self) -> tuple[Watcher, ...]:
        return Drains(), Stages(), Deployments()

    def new_batch(self, process: str, limit: int = 4, types: tuple[str, ...] = TYPES) -> Batch:
        self.before_batch()
        return super().new_batch(process, limit, types)


class Rehearsal:
    """One rehearsal. `under_way` are allocations that something is happening to already."""

    def __init__(
        self,
        snapshot: MirroredSnapshot,
        *,
        now: int,
        seconds: Callable[[], float],
        limits: RehearsalLimits | None = None,
        under_way: tuple[Allocation, ...] = (),
        tell: Callable[[RehearsalProgress], None] | None = None,
    ) -> None:
        """`seconds` is real time; `tell` is told how far it is, and may raise to end it."""
        self.store = BranchStore(snapshot)
        self.clock = VirtualClock(wall=now)
        self.begin = now
        self.end = RehearsalEnd.QUIET
        self.was_paused = False
        #: When most evaluations waited for room: the record of that moment, and the moment. Later
        #: a rollout may have been given up, and nothing of it would be placed any more.
        self.fullest: tuple[Snapshot, int] | None = None
        self._most_waiting = 0
        self._limits = limits or RehearsalLimits()
        self._seconds, self._tell = seconds, tell
        began = self._limits.began
        self._began = seconds() if began is None else began
        self._unpause()
        ids = CountedIDs(prefix=PREFIX)
        self.plane = RehearsedPlane(clock=self.clock, store=self.store, ids=ids)
        self.plane.before_batch = self._check
        self.stage = ScenarioStage(self.store, self.clock, ids)
        self.clients = Clients(self.store, ids)
        self.ledger = Ledger(self.store, now)
        self._seen = self.store.index
        self._moved_at = self.clock.monotonic()
        self._horizon = self.clock.monotonic() + self._limits.horizon
        for alloc in under_way:
            self.clients.look_at(alloc, now)

    @property
    def took(self) -> int:
        """Real time so far, ns."""
        return round((self._seconds() - self._began) * SECOND)

    @property
    def lasts(self) -> int:
        """From the beginning to the last thing that moved, virtual ns."""
        return self.ledger.moved_at - self.begin

    def run(self, scenario: Scenario) -> None:
        """All of it. Raises ScenarioProblems where the scenario does not suit the record."""
        self.stage.set_up(scenario)
        try:
            self._settle()
            while (due := self._next_due()) is not None:
                self.clock.advance(max(_STEP, due - self.clock.monotonic()))
                self._settle()
        except _LimitReachedError as error:
            self.end = error.end
        self._listen()

    def progress(self) -> RehearsalProgress:
        """How far it is."""
        return RehearsalProgress(
            evaluations=self.ledger.evaluations,
            placed=self.ledger.placed,
            waiting=self.plane.leader.blocked.stats().total_blocked,
            lasts=self.clock.now() - self.begin,
            took=self.took,
        )

    def _unpause(self) -> None:
        settings = self.store.scheduler_settings()
        if settings.pause_eval_broker:
            self.was_paused = True
            running = replace(settings, pause_eval_broker=False)
            set_scheduler_settings(self.store, running, by=CLUSTER, now=self.begin)

    def _check(self) -> None:
        self._listen()
        if self._seconds() - self._began > self._limits.seconds:
            raise _LimitReachedError(RehearsalEnd.TIME)
        if self.ledger.evaluations > self._limits.evaluations:
            raise _LimitReachedError(RehearsalEnd.EVALUATIONS)
        if self._tell is not None:
            self._tell(self.progress())

    def _settle(self) -> None:
        """Everybody acts until nobody has anything left to do at this moment."""
        while True:
            before = self.store.index
            self.plane.tick()
            self.plane.work_off("rehearsal", AT_ONCE)
            self._listen()
            self.clients.act(self.clock.now())
            if self.store.index == before:
                break
            self._check()
        waiting = self.plane.leader.blocked.stats().total_blocked
        if waiting > self._most_waiting:
            self._most_waiting = waiting
            self.fullest = self.store.snapshot(), self.clock.now()

    def _listen(self) -> None:
        frames = self.store.frames_since(self._seen, 1_000_000)
        if not frames:
            return
        self._seen = frames[-1].index
        if any(frame.kind != WriteKind.LIFECYCLE_RECORDED for frame in frames):
            self._moved_at = self.clock.monotonic()
        self.clients.observe(frames, self.clock.now())
        self.ledger.observe(frames)

    def _next_due(self) -> float | None:
        """When something can happen next, on the clock that never jumps; None: nothing will."""
        moment, leader = self.plane.moment, self.plane.leader
        looks = [leader.next_deadline(moment), leader.watch_deadline(moment), self._client_due()]
        due = min((at for at in looks if at is not None), default=None)
        if due is None or due > self._moved_at + STILL:
            due = self._own_time()
        if due is not None and due > self._horizon:
            self.end = RehearsalEnd.HORIZON
            return None
        return due

    def _client_due(self) -> float | None:
        at = self.clients.next_at
        return None if at is None else self._monotonic(at)

    def _own_time(self) -> float | None:
        """The first deadline or delay that is set for a time of its own."""
        drains = (
            node.drain_strategy.force_deadline
            for node in self.store.nodes()
            if node.drain_strategy is not None
        )
        rollouts = (
            group.require_progress_by
            for rollout in self.store.deployments()
            if rollout.is_active
            for group in rollout.task_groups.values()
        )
        now = self.clock.now()
        ahead = [self._monotonic(at) for at in (*drains, *rollouts) if at > now]
        delayed = self.plane.leader.broker.next_deadline(self.plane.moment)
        if delayed is not None:
            ahead.append(delayed)
        if (client := self._client_due()) is not None:
            ahead.append(client)
        return min(ahead, default=None)

    def _monotonic(self, wall: int) -> float:
        return self.clock.monotonic() + max(0.0, (wall - self.clock.now()) / SECOND)
