"""Workers hear what plans of others would take, and take turns after a refusal."""

from scheduler.broker.turns import Turns
from scheduler.messages import Delivery, PlanOutcome
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan, PlanResult
from scheduler.worker import TOLD_AT_MOST, Batch
from tests.builders import make_evaluation, make_node
from tests.scheduler.leading import dequeue, make_world, take_one
from tests.scheduler.test_batch_room import blocked, job, occupy, placed
from tests.simulation.world import World

TWO = [make_evaluation(number, job_id=f"job-{number}") for number in (1, 2, 3)]


def begin(world: World, process: str) -> Batch:
    """One worker takes one evaluation and submits its plan."""
    batch = world.new_batch(process, limit=1)
    world.hand_in(process, batch.begin_all(now=world.clock.now()))
    return batch


def work_off(world: World, batches: dict[str, Batch]) -> None:
    while not all(batch.is_done for batch in batches.values()):
        world.report(world.judge(world.take_plans()))
        for reply in world.leader.take_replies():
            batch = batches[reply.process]
            world.hand_in(reply.process, batch.answer(reply.outcome, now=world.clock.now()))


def put(world: World, *jobs: Job) -> list[Evaluation]:
    return [world.put_job(each) for each in jobs]


def test_what_another_worker_is_about_to_take_is_counted_and_named() -> None:
    world = World()
    world.put_nodes(make_node(1), make_node(2))
    evaluations = put(world, job("large", 3000), job("small", 1000), job("tiny", 500))
    batches = {process: begin(world, process) for process in ("one", "two", "three")}
    work_off(world, batches)
    stored = [world.stored(evaluation) for evaluation in evaluations]
    assert [each.status for each in stored] == [EvalStatus.COMPLETE] * 3
    # In order of submission, so that a capsule of the run counts the same.
    assert [each.counted_evals for each in stored] == [
        (), (evaluations[0].id,), (evaluations[0].id, evaluations[1].id),
    ]  # fmt: skip
    assert [len(placed(world, name)) for name in ("large", "small", "tiny")] == [1, 1, 1]


def test_room_that_another_workers_plan_did_not_get_keeps_nobody_waiting() -> None:
    world = World()
    world.put_nodes(make_node())
    evaluations = put(world, job("large", 3000), job("small", 2000))
    batches = {"one": begin(world, "one")}
    # Another placement is committed while the large plan is out, which will be refused.
    occupy(world, 1500)
    batches["two"] = begin(world, "two")
    work_off(world, batches)
    assert [len(placed(world, name)) for name in ("large", "small")] == [0, 1]
    assert [len(blocked(world, name)) for name in ("large", "small")] == [1, 0]
    # It was run again on the record alone, and says so.
    assert world.stored(evaluations[1]).counted_evals == ()


def test_only_others_are_told_and_only_with_the_first() -> None:
    world = World()
    world.put_nodes(make_node(1), make_node(2))
    put(world, *(job(f"job-{number}", 500) for number in range(4)))
    begin(world, "one")
    first, second = dequeue(world, "two", 2)
    assert [claim.eval_id for claim in first.claims] == [first_eval(world)]
    assert second.claims == ()
    assert take_one(world, "one").claims == ()


def first_eval(world: World) -> str:
    (queued,) = world.take_plans()
    return queued.plan.eval_id


def test_a_plan_for_very_many_nodes_is_not_told() -> None:
    world = World()
    world.put_nodes(*(make_node(number) for number in range(1, TOLD_AT_MOST + 2)))
    (evaluation,) = put(world, job("wide", 4000, count=TOLD_AT_MOST + 1))
    batch = world.new_batch("one")
    (plan,) = batch.begin_all(now=world.clock.now()).plans
    assert (plan.eval_id, len(plan.node_allocation)) == (evaluation.id, TOLD_AT_MOST + 1)
    assert batch.claim(plan.id) is None


def refuse(world: World, delivery: Delivery, process: str, plan_id: str) -> PlanOutcome:
    """Have the plan of a delivery refused; the answer that its worker gets."""
    hand_in(world, delivery, process, plan_id)
    world.take_plans()
    result = PlanResult(refresh_index=world.leader.index, rejected_nodes=("n",))
    world.leader.plans_done([PlanOutcome(plan_id=plan_id, result=result)], world.moment)
    (reply,) = world.leader.take_replies()
    return reply.outcome


def hand_in(world: World, delivery: Delivery, process: str, plan_id: str) -> None:
    evaluation = delivery.evaluation
    plan = Plan(
        id=plan_id, job_id=evaluation.job_id, eval_id=evaluation.id, eval_token=delivery.token
    )
    world.leader.submit_plan(process, plan, 1, world.moment)


def test_after_a_refusal_workers_take_turns() -> None:
    world = make_world(*TWO)
    one, two = take_one(world, "one"), take_one(world, "two")
    assert refuse(world, one, "one", "p").is_refused
    # Both think: the one that was refused, and the other.
    assert dequeue(world, "three") == ()
    hand_in(world, one, "one", "again")
    assert dequeue(world, "three") == ()
    hand_in(world, two, "two", "q")
    assert len(dequeue(world, "three")) == 1


def test_a_turn_does_not_last_for_ever() -> None:
    world = make_world(*TWO, longest_turn=1.0)
    one = take_one(world, "one")
    refuse(world, one, "one", "p")
    assert dequeue(world, "two") == ()
    world.tick(1.5)
    assert len(dequeue(world, "two")) == 1


def test_turns_end_when_nothing_was_refused_for_a_while() -> None:
    turns = Turns()
    assert not turns.are_taken
    turns.note(was_refused=True)
    seen = 0
    while turns.are_taken:
        turns.note(was_refused=False)
        seen += 1
    assert seen == 1_000
