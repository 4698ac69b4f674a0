"""A simulated cluster: a control plane, workers, an applier and nodes, round by round.

In: time that passes, what befalls whom. Out: what they write to the record. Everybody acts once in
a round, in an order that the round's chance draws.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from msgspec.structs import replace

from cluster.control_plane.plane import TYPES, ControlPlane
from cluster.operations.allocations import NodeReport
from cluster.simulation import clients
from cluster.simulation.catalogue import machine
from cluster.simulation.clients import Client
from cluster.simulation.weather import Post
from scheduler.messages import (
    Delivery,
    FinishRequest,
    PlanOutcome,
    PlanReply,
    QueuedPlan,
    ReapRequest,
)
from scheduler.ports import MirroredSnapshot
from scheduler.state.claims import Claim
from scheduler.structs.collection import CORE_TYPE, CollectionSettings
from scheduler.structs.node import NodeStatus
from scheduler.structs.plan import Plan
from scheduler.worker import Batch, Turn, WorkerTools

SECOND = 1_000_000_000
#: A worker that waits so long for an answer gives its deliveries up (design.md).
PATIENCE = 15.0
#: Seconds that a node may be silent after a beat.
TTL_S = 10
#: Nobody acts more seldom.
LONGEST_ROUND = 3.0


@dataclass
class Worker:
    """One worker process."""

    name: str
    batch: Batch | None = None
    #: When it last heard from the leader.
    heard_at: float = 0.0


@dataclass
class Absences:
    """Rounds for which processes are away."""

    leader: int = 0
    applier: int = 0
    #: Nobody writes beats down.
    listeners: int = 0
    #: The one that comes back is the one that left: it slept.
    leader_sleeps: bool = False


@dataclass
class Cluster:
    """Everybody who acts."""

    plane: ControlPlane
    clients: list[Client]
    workers: list[Worker]
    post: Post = field(default_factory=Post)
    away: Absences = field(default_factory=Absences)
    #: Plans that the applier has taken.
    taken: tuple[QueuedPlan, ...] = ()
    _births: int = 0
    _signs: int = 0
    _snapshots: list[MirroredSnapshot] = field(default_factory=list)
    #: What a worker was told before of the plans of others.
    _told_before: tuple[Claim, ...] = ()

    @property
    def chance(self) -> np.random.Generator:
        """Of this round."""
        return self.post.chance

    def begin_step(self, chance: np.random.Generator) -> None:
        """From here on chance is this one: what was before does not move what comes."""
        self.post.chance = self.plane.chance = chance

    def pass_time(self, seconds: float) -> int:
        """In how many rounds a time passes."""
        return max(1, -int(-seconds // LONGEST_ROUND))

    def round(self, seconds: float) -> None:
        """Time passes and everybody acts once."""
        self._lead(seconds)
        self.post.begin_round()
        if not self.away.leader:
            for reply in self.plane.leader.take_replies():
                self.post.request(partial(self._deliver, reply))
        for actor in self.chance.permutation(len(self.workers) + 1 + len(self.clients)):
            self._act(int(actor))
        if not self.away.leader:
            self.plane.follow()

    def _act(self, actor: int) -> None:
        if actor < len(self.workers):
            self._work(self.workers[actor])
        elif actor == len(self.workers):
            self._apply()
        else:
            self._run_node(self.clients[actor - len(self.workers) - 1])

    # The leader.

    def _lead(self, seconds: float) -> None:
        away = self.away
        if away.leader:
            self.plane.clock.advance(seconds)
            away.leader -= 1
            if away.leader:
                return
            if not away.leader_sleeps:
                self.replace_leader()
            self._hear()
            self.plane.tick()
            return
        self._hear()
        self.plane.tick(seconds)

    def replace_leader(self) -> None:
        """Another process leads; only its own plans are judged."""
        self.plane.new_leader()
        self.taken = ()

    def _hear(self) -> None:
        plane, beats = self.plane, {}
        if self.away.listeners:
            self.away.listeners -= 1
        else:
            self._signs += 1
            now = plane.clock.now()
            beats = {
                client.node.id: (now, TTL_S * SECOND)
                for client in self.clients
                if client.is_online and client.is_registered
            }
        plane.heartbeats.hear(beats, {"web": self._signs}, monotonic=plane.clock.monotonic())

    # Workers.

    def new_worker(self) -> Worker:
        """A process that begins."""
        self._births += 1
        return Worker(f"worker-{self._births}", heard_at=self.plane.clock.monotonic())

    def _work(self, worker: Worker) -> None:
        plane, monotonic = self.plane, self.plane.clock.monotonic()
        begun = worker.batch.working_on if worker.batch else ()
        self.post.send(partial(self._alive, worker.name, begun))
        if worker.batch is None:
            if not self.away.leader:
                self._begin(worker)
        elif monotonic - worker.heard_at > PATIENCE:
            for eval_id in worker.batch.working_on:
                now = plane.clock.now()
                self._hand_in(worker, worker.batch.give_up(eval_id, "no answer", now=now))
        if worker.batch is not None and worker.batch.is_done:
            worker.batch = None

    def _alive(self, name: str, begun: tuple[str, ...]) -> None:
        if not self.away.leader:
            self.plane.leader.alive(name, begun, monotonic=self.plane.clock.monotonic())

    def _begin(self, worker: Worker) -> None:
        plane = self.plane
        limit = int(self.chance.integers(1, 5))
        types = (*TYPES, CORE_TYPE)
        deliveries = plane.leader.dequeue(worker.name, types, limit, plane.moment)
        worker.heard_at = plane.clock.monotonic()
        if not deliveries or self.post.happens(self.post.weather.lost):
            return
        tools = WorkerTools(
            snapshot=self._snapshot,
            ids=plane.ids,
            matcher=plane.matcher,
            factory=plane.factory,
            collection=plane.collection or CollectionSettings(),
        )
        worker.batch = Batch(tools, self._as_told(deliveries))
        self._hand_in(worker, worker.batch.begin_all(now=plane.clock.now()))

    def _as_told(self, deliveries: tuple[Delivery, ...]) -> tuple[Delivery, ...]:
        """What is said of the plans of others may be lost, or tell of some that are long over."""
        first, *rest = deliveries
        if not first.claims:
            return deliveries
        told, weather = first.claims, self.post.weather
        if self.post.happens(weather.lost):
            told = ()
        elif self.post.happens(weather.late):
            told = (*self._told_before, *told)
        self._told_before = first.claims
        return (replace(first, claims=told), *rest)

    def _snapshot(self, index: int) -> MirroredSnapshot:
        """The newest one, or an older one that is just new enough."""
        old = [snapshot for snapshot in self._snapshots if snapshot.index >= index]
        if old and self.post.happens(self.post.weather.stale):
            return old[0]
        self._snapshots = [*self._snapshots[-4:], self.plane.store.snapshot()]
        return self._snapshots[-1]

    def _hand_in(self, worker: Worker, turn: Turn) -> None:
        for plan in turn.plans:
            self.post.request(partial(self._submit, worker.name, plan))
        for request in turn.finishes:
            self.post.request(partial(self._finish, worker.name, request))
        for reap in turn.reaps:
            self.post.request(partial(self._reap, worker, worker.batch, reap))

    def _submit(self, process: str, plan: Plan) -> None:
        if not self.away.leader:
            self.plane.hand_in(process, Turn(plans=(plan,)))

    def _finish(self, process: str, request: FinishRequest) -> None:
        if not self.away.leader:
            self.plane.hand_in(process, Turn(finishes=(request,)))

    def _reap(self, worker: Worker, batch: Batch | None, request: ReapRequest) -> None:
        if self.away.leader or batch is None or worker.batch is not batch:
            return
        worker.heard_at = self.plane.clock.monotonic()
        self._hand_in(worker, self.plane.reap(worker.name, request, batch))

    def _deliver(self, reply: PlanReply) -> None:
        for worker in self.workers:
            if worker.name == reply.process and worker.batch is not None:
                worker.heard_at = self.plane.clock.monotonic()
                turn = worker.batch.answer(reply.outcome, now=self.plane.clock.now())
                self._hand_in(worker, turn)

    # The applier.

    def _apply(self) -> None:
        if self.away.applier:
            self.away.applier -= 1
            return
        plane = self.plane
        if self.taken:
            # Plans of a leader that is away are judged: it still leads until another does.
            outcomes = plane.judge(self.taken)
            self.taken = ()
            self.post.request(partial(self._report, plane.leader, outcomes))
        if not self.away.leader:
            self.taken = plane.take_plans()

    def _report(self, leader: object, outcomes: list[PlanOutcome]) -> None:
        if not self.away.leader and leader is self.plane.leader:
            self.plane.report(outcomes)

    # Nodes.

    def _run_node(self, client: Client) -> None:
        for report in client.live(self.plane):
            self.post.send(partial(self._receive, client, report))

    def _receive(self, client: Client, report: NodeReport) -> None:
        if clients.send(self.plane, report):
            client.was_heard(report)

    # Whether anything is still to come.

    @property
    def is_idle(self) -> bool:
        """Nobody has work in hand."""
        return (
            self.post.is_empty
            and not self.taken
            and all(worker.batch is None for worker in self.workers)
            and all(self._is_well(client) for client in self.clients)
        )

    def _is_well(self, client: Client) -> bool:
        node = self.plane.store.node(client.node.id)
        return (
            node is not None
            and node.status is NodeStatus.READY
            and all(run.told == run.news for run in client.runs.values())
        )

    def calm_down(self) -> None:
        """From here on nothing goes wrong any more."""
        self.post.rounds_left = 0
        if self.away.leader:
            self.away.leader = 1
        self.away.applier = self.away.listeners = 0
        for client in self.clients:
            client.go(online=True)


def new_cluster(node_count: int, worker_count: int = 3) -> Cluster:
    """A cluster whose nodes have not yet said that they are there."""
    plane = ControlPlane()
    members = [
        Client(machine(number), secret=f"secret-{number}") for number in range(1, node_count + 1)
    ]
    cluster = Cluster(plane, members, [])
    cluster.workers = [cluster.new_worker() for _ in range(worker_count)]
    return cluster
