"""Actors that fail: workers, an applier, a leader and nodes, step by step over one World."""

from dataclasses import dataclass, field

from cluster.operations.nodes import mark_node_unresponsive, update_status
from scheduler.errors import SchedulerError
from scheduler.messages import Delivery, PlanReply, QueuedPlan
from scheduler.state.events import WriteKind
from scheduler.state.snapshot import RecordSnapshot
from scheduler.state.writes.allocations import update_from_client
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.node import NodeStatus
from scheduler.worker import Batch, Turn, WorkerTools
from tests.builders import SECOND
from tests.callers import MANAGER
from tests.simulation.world import TYPES, Patterns, World

#: A worker that waits so long for an answer gives its deliveries up (design.md).
PATIENCE = 15.0
#: Seconds of a silence; a node may be silent for twenty.
SILENCES = (2.0, 10.0, 40.0, 90.0)


@dataclass(frozen=True)
class Faults:
    """Chances per step and actor. All zero: a perfect day."""

    lose_message: float = 0.0
    crash_worker: float = 0.0
    crash_leader: float = 0.0
    crash_applier: float = 0.0
    lose_node: float = 0.0
    stale_snapshot: float = 0.0
    #: For seconds no beat can be written, because nobody is there to write it.
    silence: float = 0.0


@dataclass
class Worker:
    """One worker process."""

    name: str
    batch: Batch | None = None
    #: When it last heard from the leader.
    heard_at: float = 0.0
    out: set[str] = field(default_factory=set)


class Cluster:
    """A World with actors and the faults that befall them."""

    def __init__(self, seed: int, faults: Faults, worker_count: int = 3) -> None:
        self.world = World(seed)
        self.faults = faults
        self.births = 0
        self.workers = [self._new_worker() for _ in range(worker_count)]
        self.taken: tuple[QueuedPlan, ...] = ()
        self._snapshots: list[RecordSnapshot] = []
        self._signs = 0
        self._silent_until = 0.0

    def happens(self, chance: float) -> bool:
        return bool(self.world.chance.random() < chance)

    def step(self, seconds: float) -> None:
        """Everybody acts once, in random order."""
        self.world.tick(seconds)
        if self.happens(self.faults.crash_leader):
            self.world.new_leader()
            # Only the present leader's plans are judged.
            self.taken = ()
        self._deliver_replies()
        actors = [*range(len(self.workers)), -1]
        for actor in self.world.chance.permutation(actors):
            if actor < 0:
                self._apply()
            else:
                self._work(int(actor))
        self._live_on_nodes()
        self.world.follow()

    # Workers.

    def _new_worker(self) -> Worker:
        self.births += 1
        return Worker(f"worker-{self.births}", heard_at=self.world.clock.monotonic())

    def _work(self, place: int) -> None:
        if self.happens(self.faults.crash_worker):
            self.workers[place] = self._new_worker()
            return
        worker, world = self.workers[place], self.world
        if not self.happens(self.faults.lose_message):
            begun = worker.batch.working_on if worker.batch else ()
            world.leader.alive(worker.name, begun, monotonic=world.clock.monotonic())
        if worker.batch is None:
            self._begin(worker)
        elif world.clock.monotonic() - worker.heard_at > PATIENCE:
            for eval_id in worker.batch.working_on:
                now = world.clock.now()
                self._hand_in(worker, worker.batch.give_up(eval_id, "no answer", now=now))
        if worker.batch is not None and worker.batch.is_done:
            worker.batch = None

    def _begin(self, worker: Worker) -> None:
        world = self.world
        limit = int(world.chance.integers(1, 5))
        deliveries = world.leader.dequeue(worker.name, TYPES, limit, world.moment)
        worker.heard_at = world.clock.monotonic()
        if not deliveries or self.happens(self.faults.lose_message):
            return
        worker.batch = self._batch(deliveries)
        self._hand_in(worker, worker.batch.begin_all(now=world.clock.now()))

    def _batch(self, deliveries: tuple[Delivery, ...]) -> Batch:
        tools = WorkerTools(snapshot=self._snapshot, ids=self.world.ids, matcher=Patterns())
        return Batch(tools, deliveries)

    def _snapshot(self, index: int) -> RecordSnapshot:
        """The newest one, or an older one that is just new enough."""
        old = [snapshot for snapshot in self._snapshots if snapshot.index >= index]
        if old and self.happens(self.faults.stale_snapshot):
            return old[0]
        self._snapshots = [*self._snapshots[-4:], self.world.store.snapshot()]
        return self._snapshots[-1]

    def _hand_in(self, worker: Worker, turn: Turn) -> None:
        """Each message may be lost; a lost `finish` is told by the nack timer only."""
        kept = Turn(
            plans=tuple(p for p in turn.plans if not self.happens(self.faults.lose_message)),
            finishes=tuple(f for f in turn.finishes if not self.happens(self.faults.lose_message)),
        )
        self.world.hand_in(worker.name, kept)

    def _deliver_replies(self) -> None:
        for reply in self.world.leader.take_replies():
            if not self.happens(self.faults.lose_message):
                self._deliver(reply)

    def _deliver(self, reply: PlanReply) -> None:
        for worker in self.workers:
            if worker.name == reply.process and worker.batch is not None:
                worker.heard_at = self.world.clock.monotonic()
                turn = worker.batch.answer(reply.outcome, now=self.world.clock.now())
                self._hand_in(worker, turn)

    # The applier.

    def _apply(self) -> None:
        world = self.world
        if self.happens(self.faults.crash_applier):
            # It dies with its plans: before it judged them, or before it could tell.
            if self.taken and self.happens(0.5):
                world.judge(self.taken)
            self.taken = ()
        if self.taken:
            outcomes = world.judge(self.taken)
            self.taken = ()
            world.report(outcomes)
        self.taken = world.take_plans()

    # Nodes.

    def _beat(self) -> None:
        world, monotonic = self.world, self.world.clock.monotonic()
        beats = {}
        # Asked only on days that know silence: the others' chances stay as they were.
        if self.faults.silence and self.happens(self.faults.silence):
            self._silent_until = monotonic + float(world.chance.choice(SILENCES))
        if monotonic >= self._silent_until:
            self._signs += 1
            now = world.clock.now()
            beats = {node.id: (now, 10 * SECOND) for node in world.store.nodes()}
        world.heartbeats.hear(beats, {"web": self._signs}, monotonic=monotonic)

    def _live_on_nodes(self) -> None:
        self._beat()
        world, now = self.world, self.world.clock.now()
        for node in list(world.store.nodes()):
            if node.status is NodeStatus.READY and self.happens(self.faults.lose_node):
                mark_node_unresponsive(world.store, node.id, by=MANAGER, now=now, ids=world.ids)
            elif node.status is not NodeStatus.READY and self.happens(0.2):
                self._return(node.id)
        reports = [
            report
            for node in world.store.nodes()
            if node.status is NodeStatus.READY
            for alloc in world.store.allocations_by_node(node.id)
            if (report := _report(alloc)) is not None
        ]
        if reports:
            world.store.write(
                WriteKind.ALLOCATION_UPDATED,
                lambda change: update_from_client(change, reports, world.ids),
                now=now,
            )

    def _return(self, node_id: str) -> None:
        world = self.world
        try:
            update_status(
                world.store,
                node_id,
                NodeStatus.READY,
                by=MANAGER,
                now=world.clock.now(),
                ids=world.ids,
            )
        except SchedulerError:
            return


def _report(alloc: Allocation) -> Allocation | None:
    """What a node says of an allocation: it runs what it should and ends what it should not."""
    if alloc.is_server_terminal and not alloc.is_client_terminal:
        return alloc.changed(client_status=ClientStatus.COMPLETE)
    if not alloc.is_server_terminal and alloc.client_status is ClientStatus.PENDING:
        return alloc.changed(client_status=ClientStatus.RUNNING)
    return None
