"""The whole control plane in one thread: leader, workers, applier and nodes on a virtual clock.

Everything that could differ from run to run (time, ids, chance, order) comes from the seed.
"""

import re

import msgspec
import numpy as np

from cluster.jobspec.parse import parse_job
from cluster.operations.allocations import mark_draining
from cluster.operations.deployments import (
    end_deployment,
    promote_by_itself,
    step_deployments,
)
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.nodes import complete_drain, mark_node_unresponsive
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.commands import (
    CancelEvaluations,
    Collect,
    Command,
    CompleteDrain,
    DrainAllocations,
    FailDeployment,
    FailEvaluation,
    MarkNodeUnresponsive,
    PromoteDeployment,
    RecordSteps,
    StepDeployments,
)
from scheduler.engine.registry import new_scheduler
from scheduler.errors import SchedulerError
from scheduler.leader import Leader
from scheduler.messages import FinishRequest, FinishWrite, PlanOutcome, QueuedPlan
from scheduler.plan_applier import GROUP_LIMIT, PlanApplier
from scheduler.ports import Change, MirroredSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node
from scheduler.watchers import garbage, reaper
from scheduler.watchers.drains import Drains
from scheduler.watchers.heartbeats import Heartbeats
from scheduler.watchers.watcher import Watcher
from scheduler.worker import Batch, SchedulerFactory, Turn, WorkerTools
from tests.builders import CountingIDs, FixedClock, make_evaluation
from tests.callers import MANAGER

TYPES = ("service", "batch", "system", "sysbatch")


class Patterns:
    """Patterns without RE2: tests use plain ones only."""

    def search(self, pattern: str, text: str) -> bool:
        return re.search(pattern, text) is not None


class World:
    """One control plane. Its parts are public: tests and faults reach into it."""

    def __init__(
        self,
        seed: int = 1,
        settings: LeaderSettings | None = None,
        factory: SchedulerFactory = new_scheduler,
        clock: FixedClock | None = None,
        store: MemoryStateStore | None = None,
    ) -> None:
        self.clock = clock or FixedClock()
        self.ids = CountingIDs()
        self.chance = np.random.default_rng(seed)
        self.settings = settings or LeaderSettings()
        self.factory = factory
        self.store = store or MemoryStateStore()
        self.applier = PlanApplier(self.ids)
        self.commands: list[Command] = []
        self.leader = self.new_leader()

    def new_leader(self) -> Leader:
        """Another process takes over: everything it knows is in the record."""
        self.leader = Leader(self.ids, self.chance.random, self.settings, self.new_watchers())
        self.leader.restore(self.store, self.moment)
        return self.leader

    def new_watchers(self) -> tuple[Watcher, ...]:
        """What the leader watches over besides evaluations."""
        self.heartbeats = Heartbeats()
        return self.heartbeats, Drains()

    @property
    def moment(self) -> Moment:
        return self.clock.moment()

    # What people and nodes write.

    def put_nodes(self, *nodes: Node) -> None:
        def work(change: Change) -> None:
            for node in nodes:
                create_index = node.create_index if change.node(node.id) else change.index
                put_found(
                    change,
                    msgspec.structs.replace(
                        node, create_index=create_index, modify_index=change.index
                    ),
                )

        self.store.write(WriteKind.NODE_REGISTRATION, work, now=self.clock.now())
        self.follow()

    def put_job(self, job: Job) -> Evaluation:
        """Store a job and the evaluation that its registration makes."""
        evaluation = make_evaluation(
            id=self.ids.next_id(),
            namespace=job.namespace,
            job_id=job.id,
            type=job.type,
            priority=job.priority,
            create_time=self.clock.now(),
            modify_time=self.clock.now(),
        )

        def work(change: Change) -> None:
            stored = change.job(job.key)
            change.put_job(
                msgspec.structs.replace(
                    job,
                    version=stored.version + 1 if stored else 0,
                    create_index=stored.create_index if stored else change.index,
                    modify_index=change.index,
                    job_modify_index=change.index,
                )
            )
            write_evaluations(change, [evaluation])

        self.store.write(WriteKind.JOB_REGISTERED, work, now=self.clock.now())
        self.follow()
        return self.stored(evaluation)

    def register(self, group: dict[str, object] | None = None, **fields: object) -> None:
        """A job `web` as a person would, through the operation that keeps versions and counts."""
        task = {"Name": "web", "Driver": "mock_driver", "Resources": {"CPU": 3000}}
        whole = {"Name": "web", "Count": 2, "Tasks": [task], **(group or {})}
        document = {"ID": "web", "Type": "service", "TaskGroups": [whole], **fields}
        registration = JobRegistration(job=parse_job(document))
        register_job(self.store, registration, by=MANAGER, now=self.clock.now(), ids=self.ids)
        self.follow()

    def put_evaluations(self, *evaluations: Evaluation) -> None:
        self.store.write(
            WriteKind.EVALUATION_UPDATED,
            lambda change: write_evaluations(change, evaluations),
            now=self.clock.now(),
        )
        self.follow()

    def stored(self, evaluation: Evaluation) -> Evaluation:
        found = self.store.evaluation(evaluation.id)
        assert found is not None
        return found

    # The leader process.

    def follow(self) -> None:
        for frame in self.store.frames_since(self.leader.index):
            self.leader.observe(frame, self.moment)
        if self.leader.wants_restore:
            self.leader.restore(self.store, self.moment)

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
            self.leader.performed(command, self.moment)
        self.follow()
        return commands

    def perform(self, command: Command) -> None:
        now = self.clock.now()
        match command:
            case RecordSteps():
                self._write(WriteKind.LIFECYCLE_RECORDED, FinishWrite(steps=command.steps))
            case FailEvaluation():
                self.store.write(
                    WriteKind.EVALUATION_UPDATED,
                    lambda change: reaper.write_failed(change, command),
                    now=now,
                )
            case CancelEvaluations():
                self.store.write(
                    WriteKind.EVALUATION_UPDATED,
                    lambda change: reaper.write_canceled(change, command),
                    now=now,
                )
            case MarkNodeUnresponsive():
                mark_node_unresponsive(
                    self.store, command.node_id, by=MANAGER, now=now, ids=self.ids
                )
            case DrainAllocations():
                mark_draining(self.store, command.transitions, by=MANAGER, now=now, ids=self.ids)
            case StepDeployments() | PromoteDeployment() | FailDeployment():
                self._take_onwards(command)
            case Collect():
                self.store.write(
                    WriteKind.COLLECTED,
                    lambda change: garbage.write_collected(change, command, self.ids),
                    now=now,
                )
            case CompleteDrain():
                for node_id, by_deadline in command.nodes.items():
                    complete_drain(
                        self.store, (node_id,), by=MANAGER, now=now, deadline_reached=by_deadline
                    )

    def _take_onwards(self, command: Command) -> None:
        now = self.clock.now()
        match command:
            case StepDeployments():
                step_deployments(self.store, command.steps, by=MANAGER, now=now, ids=self.ids)
            case PromoteDeployment():
                promote_by_itself(
                    self.store, command.deployment_id, by=MANAGER, now=now, ids=self.ids
                )
            case FailDeployment():
                end_deployment(
                    self.store,
                    command.deployment_id,
                    is_late=command.is_late,
                    rolls_back=command.rolls_back,
                    by=MANAGER,
                    now=now,
                    ids=self.ids,
                )

    def finish(self, process: str, request: FinishRequest) -> None:
        """What the leader process does with a `finish` request."""
        write = self.leader.check_finish(process, request, self.moment)
        if write.evaluations or write.steps:
            self._write(WriteKind.EVALUATION_UPDATED, write)
        self.leader.finished(request, self.moment)
        self.follow()

    def _write(self, kind: str, write: FinishWrite) -> None:
        def work(change: Change) -> None:
            write_evaluations(change, write.evaluations)
            for step in write.steps:
                change.put(LIFECYCLE_STEPS, msgspec.structs.replace(step, index=change.index))

        self.store.write(kind, work, now=self.clock.now())

    # The applier process.

    def take_plans(self) -> tuple[QueuedPlan, ...]:
        self.follow()
        return self.leader.next_plans(GROUP_LIMIT, self.moment)

    def judge(self, queued: tuple[QueuedPlan, ...]) -> list[PlanOutcome]:
        return self.applier.apply(self.store, queued, self.moment)

    def report(self, outcomes: list[PlanOutcome]) -> None:
        self.follow()
        self.leader.plans_done(outcomes, self.moment)

    # A worker process.

    def new_batch(self, process: str, limit: int = 4) -> Batch:
        deliveries = self.leader.dequeue(process, TYPES, limit, self.moment)
        tools = WorkerTools(
            snapshot=self.snapshot_at,
            ids=self.ids,
            matcher=Patterns(),
            factory=self.factory,
        )
        return Batch(tools, deliveries)

    def snapshot_at(self, _index: int) -> MirroredSnapshot:
        """What a worker looks at: here the newest, whatever it needs."""
        return self.store.snapshot()

    def hand_in(self, process: str, turn: Turn) -> None:
        """Submit the plans and finishes of a turn; what the leader refuses is dropped."""
        for plan in turn.plans:
            try:
                self.leader.submit_plan(process, plan, plan.size, self.moment)
            except SchedulerError:
                continue
        for request in turn.finishes:
            try:
                self.finish(process, request)
            except SchedulerError:
                continue

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
