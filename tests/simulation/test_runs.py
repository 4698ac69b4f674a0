"""Evaluations from delivery to ack, through leader, worker and applier; numbers are rows of
evaluations.md 17.
"""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from cluster.simulation.laws import quiet
from scheduler.broker.blocked_evals import BlockedStats
from scheduler.broker.places import BrokerStats, Place
from scheduler.commands import CancelEvaluations
from scheduler.errors import StaleSnapshot
from scheduler.ports import Change, MirroredSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOB_SUMMARIES, SCHEDULER_SETTINGS
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, Step
from scheduler.structs.explanation import AskedAmounts, NearestNode
from scheduler.structs.job import Job, JobStatus
from scheduler.structs.node import NodeEligibility
from scheduler.structs.policies import UpdateStrategy
from scheduler.structs.resources import Resources
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from tests.builders import (
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.conformance.chain_stores import DatabaseRecord, opened
from tests.simulation.world import TYPES, World

pytestmark = pytest.mark.simulation

NOTHING = BrokerStats()
NODE = make_node()
CLOSED = make_node(scheduling_eligibility=NodeEligibility.INELIGIBLE)


def job_of(count: int, cpu: int = 100, update: UpdateStrategy | None = None, **fields) -> Job:
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(count=count, tasks=(task,), update=update)
    return make_job(task_groups=(group,), **fields)


def evaluations_of(world: World, job_id: str = "web") -> list[Evaluation]:
    """In the order of their creation."""
    rows = world.store.evaluations_by_job(make_job(id=job_id).key)
    return sorted(rows, key=lambda row: row.create_index)


def plan_count(world: World, evaluation: Evaluation) -> int:
    steps = world.store.lifecycle(evaluation.id)
    return sum(step.step is Step.PLAN_SUBMITTED for step in steps)


def test_74_an_unknown_trigger_is_a_run_that_failed_and_was_acked() -> None:
    world = World()
    world.put_job(job_of(1))
    world.work_off()
    strange = make_evaluation(99, triggered_by="scheduled")
    world.put_evaluations(strange)
    world.work_off()
    stored = world.stored(strange)
    assert (stored.status, stored.status_description) == (
        EvalStatus.FAILED,
        "scheduler cannot handle 'scheduled' evaluation reason",
    )
    assert world.leader.stats().broker == NOTHING


def without_nodes() -> tuple[World, Evaluation, Evaluation]:
    """A world, the evaluation of a job that finds no node, and the one that waits for it."""
    world = World()
    world.put_job(job_of(10))
    world.work_off()
    first, blocked = evaluations_of(world)
    return world, first, blocked


def test_75_a_job_without_nodes_is_carried_on_by_a_blocked_evaluation() -> None:
    world, first, blocked = without_nodes()
    assert (first.status, first.blocked_eval, first.queued_allocations) == (
        EvalStatus.COMPLETE,
        blocked.id,
        {"web": 10},
    )
    assert (blocked.status, blocked.previous_eval, blocked.triggered_by) == (
        EvalStatus.BLOCKED,
        first.id,
        "queued-allocs",
    )
    assert blocked.status_description == "created to place remaining allocations"
    assert world.leader.stats().blocked.total_blocked == 1
    assert world.leader.stats().broker == NOTHING


def test_76_a_blocked_evaluation_that_finds_nothing_waits_again_unwritten() -> None:
    world, first, blocked = without_nodes()
    world.put_nodes(NODE)
    assert world.leader.broker.place_of(blocked.id) is Place.READY
    world.put_nodes(CLOSED)
    before = world.store.table_index("evaluations")
    world.work_off()
    assert world.store.table_index("evaluations") == before
    assert evaluations_of(world) == [first, blocked]
    assert blocked.id in world.leader.blocked
    assert world.leader.stats().broker == NOTHING


def test_77_a_blocked_evaluation_that_finds_room_is_complete_itself() -> None:
    world, first, blocked = without_nodes()
    world.put_nodes(NODE)
    world.work_off()
    done = world.stored(blocked)
    assert (done.status, done.blocked_eval, done.previous_eval) == (
        EvalStatus.COMPLETE,
        "",
        first.id,
    )
    assert len(evaluations_of(world)) == 2
    assert len(world.store.allocations_by_job(make_job().key)) == 10
    assert world.leader.stats().blocked == BlockedStats()


def work_off_refused(world: World) -> None:
    """Run one evaluation while the node is open for each look, and closed for each judgement."""
    world.put_nodes(NODE)
    batch = world.new_batch("worker", 1)
    turn = batch.begin_all(now=world.clock.now())
    while True:
        world.hand_in("worker", turn)
        if batch.is_done:
            return
        world.put_nodes(CLOSED)
        outcomes = world.judge(world.take_plans())
        world.put_nodes(NODE)
        world.report(outcomes)
        (reply,) = world.leader.take_replies()
        turn = batch.answer(reply.outcome, now=world.clock.now())


@pytest.mark.parametrize(
    ("job", "attempts", "leaves_blocked"),
    [
        pytest.param(job_of(1), 5, True, id="78-service"),
        pytest.param(
            job_of(1, update=UpdateStrategy(max_parallel=1)), 6, True, id="78-with-a-deployment"
        ),
        pytest.param(job_of(1, type="system"), 5, False, id="79-system"),
    ],
)
def test_who_is_refused_each_time_gives_up(job: Job, attempts: int, *, leaves_blocked: bool):
    world = World()
    evaluation = world.put_job(job)
    work_off_refused(world)
    failed, *created = evaluations_of(world)
    assert plan_count(world, evaluation) == attempts
    assert list(world.store.allocations()) == []
    assert (failed.status, failed.status_description, failed.deployment_id) == (
        EvalStatus.FAILED,
        "maximum attempts reached (5)",
        "",
    )
    assert failed.blocked_eval == (created[0].id if leaves_blocked else "")
    assert [(row.triggered_by, row.status, row.previous_eval) for row in created] == (
        [("max-plan-attempts", EvalStatus.BLOCKED, failed.id)] if leaves_blocked else []
    )


def test_80_who_gave_up_for_a_job_that_wants_nothing_now_is_complete_without_a_plan() -> None:
    world = World()
    world.put_nodes(NODE)
    world.put_job(job_of(0))
    world.work_off()
    gave_up = make_evaluation(
        99, status=EvalStatus.BLOCKED, triggered_by=EvalTrigger.MAX_PLAN_ATTEMPTS
    )
    world.put_evaluations(gave_up)
    world.tick(60)
    world.work_off()
    assert world.stored(gave_up).status is EvalStatus.COMPLETE
    assert Step.DEQUEUED in [step.step for step in world.store.lifecycle(gave_up.id)]
    assert plan_count(world, gave_up) == 0


def test_81_full_nodes_share_one_evaluation_that_waits_for_the_first_of_them() -> None:
    world = World()
    nodes = [make_node(number) for number in range(1, 4)]
    holder = job_of(1, cpu=4000, id="holder")
    held = [make_allocation(holder, node_id=node.id, number=n) for n, node in enumerate(nodes[1:])]
    world.put_nodes(*nodes)

    def fill(change: Change) -> None:
        for alloc in held:
            change.put_allocation(alloc)

    world.store.write(WriteKind.PLAN_RESULT, fill, now=world.clock.now())
    world.put_job(job_of(1, type="system"))
    world.work_off()
    first, blocked = evaluations_of(world)
    assert (first.status, first.blocked_eval) == (EvalStatus.COMPLETE, "")
    assert (blocked.status, blocked.node_id, blocked.previous_eval) == (
        EvalStatus.BLOCKED,
        nodes[1].id,
        first.id,
    )
    placed = world.store.allocations_by_job(make_job().key)
    assert [alloc.node_id for alloc in placed] == [nodes[0].id]


def test_87_a_record_that_does_not_get_there_nacks_and_is_tried_again() -> None:
    class Lagging(World):
        def snapshot_at(self, index: int) -> MirroredSnapshot:
            raise StaleSnapshot(f"timed out after 5s waiting for index={index}")

    world = Lagging()
    evaluation = world.put_job(job_of(1))
    world.work_off()
    assert world.leader.stats().broker == BrokerStats(total_waiting=1)
    reasons = [hint.reason for hint in world.leader.take_hints() if hint.step is Step.NACKED]
    assert reasons == [f"timed out after 5s waiting for index={evaluation.create_index}"]
    assert world.stored(evaluation).status is EvalStatus.PENDING


class OnRecord(World):
    """The same on a record in a database, with the snapshots that workers have there."""

    def __init__(self, record: DatabaseRecord) -> None:
        super().__init__(store=record)

    def new_batch(self, process: str, limit: int = 4):
        self.store.begin_batch()
        return super().new_batch(process, limit)

    def snapshot_at(self, index: int) -> MirroredSnapshot:
        return self.store.snapshot_at(index)


@pytest.fixture
def on_record(sqlite_store):
    with opened(sqlite_store) as record:
        yield OnRecord(record)


def test_92_what_waits_again_is_written_when_its_job_counts_otherwise(on_record) -> None:
    world = on_record
    world.register()
    world.work_off()
    (first, _) = evaluations_of(world)
    blocked = make_evaluation(99, status=EvalStatus.BLOCKED, queued_allocations={"web": 5})
    world.put_evaluations(blocked)
    world.tick()
    world.put_evaluations(first)
    assert world.store.get(JOB_SUMMARIES, make_job().key).summary["web"].queued == 2
    world.put_nodes(make_node(1))
    before, began = world.stored(blocked), world.store.index
    world.work_off()
    again = world.stored(blocked)
    assert again == before.changed(
        class_eligibility={NODE.computed_class: True},
        snapshot_index=began,
        modify_index=world.store.index,
        modify_time=again.modify_time,
        nearest={"web": NearestNode(lacks=AskedAmounts(cpu=2000), count=1)},
    )
    assert not any(isinstance(command, CancelEvaluations) for command in world.tick())
    assert world.leader.stats().blocked.total_blocked == 1
    assert world.leader.stats().broker == NOTHING
    world.put_nodes(make_node(2))
    (delivery,) = world.leader.dequeue("worker", TYPES, 4, world.moment)
    assert (delivery.evaluation.id, delivery.evaluation.snapshot_index) == (blocked.id, began)
    assert world.stored(blocked) == again


def test_a_rollout_that_what_waits_begins_leaves_its_job_pending() -> None:
    """Neither its plan nor waiting again looks at the job's status (control-plane.md 13.1)."""
    world = World()
    world.register({"Count": 1, "Update": {"MaxParallel": 1}})
    key = make_job().key
    world.work_off()
    (first, waiting) = evaluations_of(world)
    (over,) = world.store.deployments_by_job(key)
    status = DeploymentStatus.SUCCESSFUL
    world.store.write(
        WriteKind.DEPLOYMENT_STATUS_UPDATE,
        lambda change: change.put_deployment(replace(over, status=status)),
        now=world.clock.now(),
    )
    world.put_evaluations(first)
    assert world.store.job(key).status == JobStatus.PENDING
    world.put_nodes(NODE)
    world.put_nodes(CLOSED)
    world.work_off()
    (rollout,) = (row for row in world.store.deployments_by_job(key) if row.is_active)
    assert rollout.id != over.id
    assert world.stored(waiting).status == EvalStatus.BLOCKED
    assert world.store.job(key).status == JobStatus.PENDING
    laws_of_rest = {law.name: law for law in quiet.LAWS}
    assert not list(laws_of_rest["status"].broken(SimpleNamespace(plane=world)))
    world.put_evaluations(first)
    assert world.store.job(key).status == JobStatus.RUNNING


def test_107_jobs_that_lose_allocations_run_again_by_evaluations_of_their_own(on_record) -> None:
    world = on_record
    config = PreemptionConfig(service_scheduler_enabled=True)
    lesser = [job_of(2, 1000, id="two", priority=20), job_of(1, 2000, id="one", priority=30)]
    world.put_nodes(NODE)
    for job in lesser:
        world.put_job(job)
    world.work_off()
    world.store.write(
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        lambda change: change.put(SCHEDULER_SETTINGS, SchedulerSettings(preemption_config=config)),
        now=world.clock.now(),
    )
    world.put_job(job_of(1, 4000, id="web", priority=80))
    batch = world.new_batch("worker", 1)
    world.hand_in("worker", batch.begin_all(now=world.clock.now()))
    world.report(world.judge(world.take_plans()))
    made = [evaluations_of(world, job.id)[1:] for job in lesser]
    assert [
        (row.triggered_by, row.type, row.priority, row.status, row.create_index) for (row,) in made
    ] == [("preemption", "service", job.priority, "pending", world.store.index) for job in lesser]
    assert [(row.previous_eval, row.next_eval, row.blocked_eval) for (row,) in made] == [
        ("", "", "")
    ] * 2
    assert {world.leader.broker.place_of(row.id) for (row,) in made} == {Place.READY}
    held = world.store.allocations_by_node(NODE.id)
    assert sorted(alloc.job_id for alloc in held if alloc.desired_status == "evict") == [
        "one",
        "two",
        "two",
    ]


def test_110_plans_that_wait_together_are_all_stored_and_each_once(on_record) -> None:
    world = on_record
    world.put_nodes(NODE)
    for number in range(20):
        world.put_job(job_of(1, id=f"job-{number}"))
    batch = world.new_batch("worker", 20)
    world.hand_in("worker", batch.begin_all(now=world.clock.now()))
    assert world.leader.stats().plan_queue_depth == 20
    for left in (4, 0):
        queued = world.leader.next_plans(16, world.moment)
        assert world.leader.stats().plan_queue_depth == left
        world.report(world.judge(queued))
        for reply in world.leader.take_replies():
            world.hand_in("worker", batch.answer(reply.outcome, now=world.clock.now()))
    assert batch.is_done
    placed = world.store.allocations_by_node(NODE.id)
    assert sorted(alloc.job_id for alloc in placed) == sorted(f"job-{n}" for n in range(20))
    assert world.leader.stats().broker == NOTHING
