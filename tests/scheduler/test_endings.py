"""A run whose plan is committed whole ends in the same write, whatever message is lost then."""

from cluster.control_plane.means import VirtualClock
from scheduler.broker.places import Place
from scheduler.messages import PlanOutcome
from scheduler.plan_applier import PlanApplier
from scheduler.state.events import EventFrame, WriteKind
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from scheduler.structs.node import NodeStatus
from scheduler.worker import Batch, Turn
from tests.builders import make_job, make_node, make_task_group
from tests.simulation.world import World

WORKER = "worker"


def begun(count: int = 1, **node: object) -> tuple[World, Evaluation, Batch]:
    """A job whose plan is in the applier's queue."""
    world = World()
    world.put_nodes(make_node(**node))
    evaluation = world.put_job(make_job(id="web", task_groups=(make_task_group(count=count),)))
    world.follow()
    batch = world.new_batch(WORKER)
    world.hand_in(WORKER, batch.begin_all(now=world.clock.now()))
    return world, evaluation, batch


def answers(world: World, batch: Batch) -> list[Turn]:
    """What the worker wants next, once everybody has read the record."""
    world.follow()
    replies = world.leader.take_replies()
    return [batch.answer(reply.outcome, now=world.clock.now()) for reply in replies]


def committed(world: World) -> EventFrame:
    return list(world.store.frames_since(0))[-1]


def test_the_evaluation_is_complete_at_the_index_of_its_allocations() -> None:
    world, evaluation, batch = begun()
    before = world.store.index
    (outcome,) = world.judge(world.take_plans())
    assert outcome.has_ended
    stored = world.store.evaluation(evaluation.id)
    assert stored is not None
    (alloc,) = world.store.allocations_by_eval(evaluation.id)
    assert (stored.status, stored.modify_index) == (EvalStatus.COMPLETE, alloc.create_index)
    assert stored.queued_allocations == {"web": 0}
    assert world.store.index == before + 1
    world.report([outcome])
    assert answers(world, batch) == [Turn()]
    assert batch.is_done


def test_its_steps_are_numbered_on_from_the_leaders() -> None:
    world, evaluation, _ = begun()
    world.clock.advance(0.5)
    queued = world.take_plans()
    taken_at = world.clock.now()
    world.clock.advance(0.5)
    world.judge(queued)
    steps = world.store.lifecycle(evaluation.id)
    assert [step.taken_at for step in steps] == [0, 0, 0, 0, taken_at, 0]
    assert [(step.number, step.step) for step in steps] == [
        (1, Step.CREATED),
        (2, Step.ENQUEUED),
        (3, Step.DEQUEUED),
        (4, Step.PLAN_SUBMITTED),
        (5, Step.PLAN_ANSWERED),
        (6, Step.COMPLETE),
    ]
    assert {step.index for step in steps} == {world.store.index}
    assert [step.actor for step in steps[-2:]] == ["applier", f"worker {WORKER}"]


def test_its_last_steps_say_when_the_plan_was_judged_where_there_is_a_clock() -> None:
    world, evaluation, _ = begun()
    queued, began = world.take_plans(), world.moment
    later = VirtualClock(wall=began.now + 3_000_000)
    PlanApplier(world.ids, clock=later).apply(world.store, queued, began)
    *_, before, answered, ended = world.store.lifecycle(evaluation.id)
    assert (answered.at, ended.at) == (later.now(), later.now())
    assert answered.duration_ns == later.now() - before.at
    # A clock that was set back meanwhile takes nothing back.
    world, evaluation, _ = begun()
    queued, began = world.take_plans(), world.moment
    earlier = VirtualClock(wall=began.now - 3_000_000)
    PlanApplier(world.ids, clock=earlier).apply(world.store, queued, began)
    assert {step.at for step in world.store.lifecycle(evaluation.id)[-2:]} == {began.now}


def test_the_leader_learns_it_from_the_record_when_the_applier_dies_after_the_commit() -> None:
    world, evaluation, batch = begun()
    world.judge(world.take_plans())
    assert answers(world, batch) == [Turn()]
    assert world.leader.broker.place_of(evaluation.id) is None
    # Another applier asks for plans: nothing is left of the one before.
    assert world.take_plans() == ()
    assert world.leader.take_replies() == ()
    assert len(world.store.lifecycle(evaluation.id)) == 6


def test_what_the_applier_tells_besides_changes_nothing() -> None:
    world, evaluation, batch = begun()
    outcomes = world.judge(world.take_plans())
    answers(world, batch)
    world.report(outcomes)
    assert world.leader.take_replies() == ()
    assert len(world.store.lifecycle(evaluation.id)) == 6


def test_a_worker_that_dies_while_its_plan_is_judged_leaves_nothing_to_be_done_again() -> None:
    world, evaluation, _ = begun()
    queued = world.take_plans()
    world.tick(1000)
    assert world.leader.broker.place_of(evaluation.id) is Place.OUTSTANDING
    world.report(world.judge(queued))
    world.tick(1000)
    assert world.leader.broker.place_of(evaluation.id) is None
    assert len(world.store.allocations_by_eval(evaluation.id)) == 1
    assert world.leader.take_replies() == ()


def test_a_leader_that_comes_after_the_commit_has_nothing_of_it_in_hand() -> None:
    world, evaluation, _ = begun()
    outcomes = world.judge(world.take_plans())
    world.new_leader()
    world.report(outcomes)
    world.tick(100)
    assert world.leader.broker.place_of(evaluation.id) is None
    stored = world.store.evaluation(evaluation.id)
    assert stored is not None
    assert stored.status is EvalStatus.COMPLETE


def test_the_next_evaluation_of_the_job_is_let_in() -> None:
    world, evaluation, batch = begun()
    later = evaluation.changed(id=world.ids.next_id())
    world.put_evaluations(later)
    assert world.leader.broker.place_of(later.id) is Place.PENDING
    world.judge(world.take_plans())
    answers(world, batch)
    assert world.leader.broker.place_of(later.id) is Place.READY


def test_a_plan_that_is_committed_in_part_ends_nothing() -> None:
    world, evaluation, batch = begun(count=2)
    queued = world.take_plans()
    world.put_nodes(make_node(2), make_node(status=NodeStatus.DOWN))
    (outcome,) = world.judge(queued)
    assert not outcome.has_ended
    stored = world.store.evaluation(evaluation.id)
    assert stored is not None
    assert stored.status is EvalStatus.PENDING
    assert not world.store.allocations_by_eval(evaluation.id)
    world.report([outcome])
    # The run looks again, at the state that refused it.
    (turn,) = answers(world, batch)
    assert [plan.node_allocation.keys() for plan in turn.plans] == [{make_node(2).id}]


def test_an_evaluation_that_ended_meanwhile_keeps_its_end() -> None:
    world, evaluation, batch = begun()
    queued = world.take_plans()
    canceled = evaluation.changed(status=EvalStatus.CANCELED, status_description="by hand")
    world.store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: write_evaluations(change, [canceled]),
        now=world.clock.now(),
    )
    (outcome,) = world.judge(queued)
    assert not outcome.has_ended
    stored = world.store.evaluation(evaluation.id)
    assert stored is not None
    assert (stored.status, stored.status_description) == (EvalStatus.CANCELED, "by hand")
    world.report([outcome])
    (turn,) = answers(world, batch)
    assert [request.ack for request in turn.finishes] == [True]


def test_what_waits_for_room_ends_through_the_leader() -> None:
    world, _, batch = begun(count=100)
    (queued,) = world.take_plans()
    assert queued.plan.ending is None
    world.report(world.judge((queued,)))
    (turn,) = answers(world, batch)
    (finish,) = turn.finishes
    assert [each.status for each in finish.created] == [EvalStatus.BLOCKED]


def test_a_commit_of_nothing_answers_as_before() -> None:
    world, evaluation, batch = begun()
    (queued,) = world.take_plans()
    world.report([PlanOutcome(plan_id=queued.plan.id, error="alloc x doesn't exist")])
    (turn,) = answers(world, batch)
    assert [(each.ack, each.error) for each in turn.finishes] == [(False, "alloc x doesn't exist")]
    assert world.leader.broker.place_of(evaluation.id) is Place.OUTSTANDING


def test_the_frame_tells_the_steps_with_the_rows() -> None:
    world, _, _ = begun()
    world.judge(world.take_plans())
    frame = committed(world)
    assert frame.kind == WriteKind.PLAN_RESULT
    ended = [event.value for event in frame.events if isinstance(event.value, Evaluation)][-1]
    assert ended.status is EvalStatus.COMPLETE
    steps = [event.value for event in frame.events if isinstance(event.value, LifecycleStep)]
    assert steps[-1].step is Step.COMPLETE
