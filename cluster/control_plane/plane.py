"""Leader, applier and workers over a record in memory, each doing its part when told to.

In: a record, time, chance. Out: what they write to it. Who acts when, and what befalls them, is
for whoever drives it to say; here every message arrives.
"""

from typing import Protocol

import numpy as np

from cluster.control_plane.means import CountedIDs, VirtualClock
from cluster.jobspec.launch_times import next_due
from cluster.jobspec.patterns import Re2Matcher
from cluster.operations import garbage
from cluster.operations.errors import OperationRefused
from cluster.operations.finishes import kind_of, write_finishes, writes_anything
from cluster.operations.leader_commands import CommandRunner, Hands
from scheduler.access.caller import CLUSTER
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.commands import Command
from scheduler.engine.registry import new_scheduler
from scheduler.errors import SchedulerError, StaleSnapshot
from scheduler.leader import Leader
from scheduler.messages import FinishRequest, PlanOutcome, QueuedPlan, ReapRequest
from scheduler.plan_applier import GROUP_LIMIT, PlanApplier
from scheduler.ports import IDSource, MirroredSnapshot, PatternMatcher, StateReader, StateStore
from scheduler.state.claims import claim_of
from scheduler.state.events import EventFrame
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.collection import CORE_TYPE, CollectionSettings
from scheduler.structs.moment import Moment
from scheduler.watchers.deployments import Deployments
from scheduler.watchers.drains import Drains
from scheduler.watchers.heartbeats import Heartbeats
from scheduler.watchers.periodic import Launches
from scheduler.watchers.stages import Stages
from scheduler.watchers.watcher import Watcher
from scheduler.worker import Batch, SchedulerFactory, Turn, WorkerTools

TYPES = ("service", "batch", "system", "sysbatch")
#: Frames that no leader heard of are looked up so far back.
MOST_UNHEARD = 2000


class PlaneStore(StateReader, StateStore, Protocol):
    """A record in memory: read and written without anybody else meanwhile."""

    def snapshot(self) -> MirroredSnapshot:
        """The record as it is now, with its nodes as columns."""


class ControlPlane:
    """One control plane. Its parts are public: whoever drives it reaches into it."""

    #: How often and what the core jobs collect; None: only what is demanded.
    collection: CollectionSettings | None = CollectionSettings()
    #: Patterns of constraints, as the product reads them.
    matcher: PatternMatcher = Re2Matcher()

    def __init__(
        self,
        seed: int = 1,
        settings: LeaderSettings | None = None,
        factory: SchedulerFactory = new_scheduler,
        clock: VirtualClock | None = None,
        store: PlaneStore | None = None,
        ids: IDSource | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.ids = ids or CountedIDs()
        self.chance = np.random.default_rng(seed)
        self.settings = settings or LeaderSettings()
        self.factory = factory
        self.store: PlaneStore = store or MemoryStateStore()
        self.applier = PlanApplier(self.ids)
        #: The newest write that a leader heard of.
        self._heard_to = self.store.index
        self.leader = self.new_leader()

    def new_leader(self) -> Leader:
        """Another process takes over: everything it knows is in the record."""
        self.leader = Leader(
            self.ids, self._draw, self.settings, self.new_watchers(), self.collection
        )
        hands = Hands(
            store=self.store, clock=self.clock, ids=self.ids, fence=None, wake=lambda count: None
        )
        self.commands = CommandRunner(self.leader, hands)
        self._restore()
        return self.leader

    def new_watchers(self) -> tuple[Watcher, ...]:
        """What the leader watches over besides evaluations."""
        self.heartbeats = Heartbeats()
        return self.heartbeats, Drains(), Stages(), Deployments(), Launches(next_due)

    def _draw(self) -> float:
        return float(self.chance.random())

    @property
    def moment(self) -> Moment:
        return self.clock.moment()

    # The leader process.

    def follow(self) -> None:
        """The leader hears of everything that was written."""
        for frame in self.store.frames_since(self.leader.index):
            self.leader.observe(frame, self.moment)
        if self.leader.wants_restore:
            self._restore()
        self._note_heard()

    def _restore(self) -> None:
        self.leader.restore(self.store, self.moment)
        self.leader.recall(self._unheard(), self.moment)
        self._note_heard()

    def _unheard(self) -> list[EventFrame] | None:
        if self.leader.index - self._heard_to > MOST_UNHEARD:
            return None
        try:
            return list(self.store.frames_since(self._heard_to, MOST_UNHEARD))
        except StaleSnapshot:
            return None

    def _note_heard(self) -> None:
        if self.leader.broker.enabled:
            self._heard_to = self.leader.index

    def tick(self, seconds: float = 0.0) -> list[Command]:
        """Let time pass, then let the leader act; returns what it wanted done."""
        self.clock.advance(seconds)
        self.follow()
        commands = self.leader.tick(self.moment)
        due = self.leader.watch_deadline(self.moment)
        if due is not None and due <= self.clock.monotonic():
            commands += self.leader.watch(self.store, self.moment)
        for command in commands:
            self.perform(command)
        self.follow()
        return commands

    def perform(self, command: Command) -> None:
        """A command that is refused comes again; what else goes wrong is raised."""
        try:
            self.commands.carry_out(command)
        except (SchedulerError, OperationRefused):
            self.leader.not_performed(command)
        else:
            self.leader.performed(command, self.moment)

    def finish(self, process: str, request: FinishRequest) -> None:
        """What the leader process does with a `finish` request."""
        write = self.leader.check_finish(process, request, self.moment)
        if writes_anything([write]):
            self.store.write(
                kind_of([write]),
                lambda change: write_finishes(change, [write]),
                now=self.clock.now(),
            )
        self.leader.finished(request, self.moment)
        self.follow()

    # The applier process.

    def take_plans(self) -> tuple[QueuedPlan, ...]:
        """Plans to be judged together."""
        self.follow()
        return self.leader.next_plans(GROUP_LIMIT, self.moment)

    def judge(self, queued: tuple[QueuedPlan, ...]) -> list[PlanOutcome]:
        """Commit what fits of the plans."""
        return self.applier.apply(self.store, queued, self.moment)

    def report(self, outcomes: list[PlanOutcome]) -> None:
        """Tell the leader what became of the plans."""
        self.follow()
        self.leader.plans_done(outcomes, self.moment)

    # A worker process.

    def new_batch(self, process: str, limit: int = 4, types: tuple[str, ...] = TYPES) -> Batch:
        """What a worker gets when it asks for work."""
        deliveries = self.leader.dequeue(process, types, limit, self.moment)
        tools = WorkerTools(
            snapshot=self.snapshot_at,
            ids=self.ids,
            matcher=self.matcher,
            factory=self.factory,
            collection=self.collection or CollectionSettings(),
        )
        return Batch(tools, deliveries)

    def snapshot_at(self, _index: int) -> MirroredSnapshot:
        """What a worker looks at: here the newest, whatever it needs."""
        return self.store.snapshot()

    def hand_in(self, process: str, turn: Turn) -> None:
        """Submit the plans and finishes of a turn; what the leader refuses is dropped."""
        for plan in turn.plans:
            try:
                claim = claim_of(plan, plan.snapshot_index)
                self.leader.submit_plan(process, plan, plan.size, self.moment, claim)
            except SchedulerError:
                continue
        for request in turn.finishes:
            try:
                self.finish(process, request)
            except SchedulerError:
                continue

    def collect(self, process: str = "collector") -> None:
        """Run the core evaluations that are ready to their end, without faults."""
        while self.leader.broker.ready_count((CORE_TYPE,)):
            batch = self.new_batch(process, types=(CORE_TYPE,))
            turns = [batch.begin_all(now=self.clock.now())]
            for turn in turns:
                self.hand_in(process, turn)
                turns += [self.reap(process, request, batch) for request in turn.reaps]

    def reap(self, process: str, request: ReapRequest, batch: Batch) -> Turn:
        """What a core run asks to be deleted; what it wants next."""
        now = self.clock.now()
        try:
            self.leader.check_reap(process, request, self.moment)
        except SchedulerError as error:
            return batch.give_up(request.eval_id, str(error), now=now)
        reaped = garbage.reap(self.store, request.reap, by=CLUSTER, now=now, ids=self.ids)
        self.follow()
        return batch.reaped(request.eval_id, reaped)

    def work_off(self, process: str = "worker", limit: int = 4) -> None:
        """Run everything that is ready to its end, without faults."""
        while True:
            batch = self.new_batch(process, limit)
            if batch.is_done:
                return
            self.hand_in(process, batch.begin_all(now=self.clock.now()))
            while not batch.is_done:
                self.report(self.judge(self.take_plans()))
                replies = self.leader.take_replies()
                assert replies, "a batch waits for plans that nobody answers"
                for reply in replies:
                    turn = batch.answer(reply.outcome, now=self.clock.now())
                    self.hand_in(process, turn)
