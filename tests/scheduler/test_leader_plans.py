"""Plans on their way through the leader; numbers are rows of evaluations.md 17."""

import pytest

from scheduler.broker.places import Place
from scheduler.errors import NotOutstanding, RequestRefused, TokenMismatch
from scheduler.messages import PlanOutcome, PlanReply
from scheduler.structs.plan import Plan, PlanResult
from tests.builders import make_allocation
from tests.scheduler.leading import E, make_world, pause_broker, submitted, take_one


def test_the_nack_timer_stands_still_while_a_plan_is_out() -> None:
    world = make_world(E, lost_worker_after=10_000)
    plan = submitted(world)
    world.tick(1000)
    assert world.leader.broker.outstanding(E.id) == plan.eval_token
    world.take_plans()
    outcome = PlanOutcome(plan_id="p", result=PlanResult(alloc_index=7))
    world.leader.plans_done([outcome], world.moment)
    assert world.leader.take_replies() == (PlanReply(process="w", eval_id=E.id, outcome=outcome),)
    world.tick(59)
    assert world.leader.broker.outstanding(E.id) == plan.eval_token
    world.tick(1)
    assert world.leader.broker.place_of(E.id) is Place.BACKING_OFF


def test_a_plan_sent_twice_is_queued_once() -> None:
    world = make_world(E)
    plan = submitted(world)
    world.leader.submit_plan("w", plan, plan.size, world.moment)
    assert world.leader.stats().plan_queue_depth == 1


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        pytest.param(
            {"job_id": ""}, RequestRefused, "cannot submit plan without job info", id="94-empty"
        ),
        pytest.param(
            {"job_id": "", "eval_token": "x"},
            RequestRefused,
            "cannot submit plan without job info",
            id="94-the-job-is-missed-before-the-token",
        ),
        pytest.param(
            {"eval_token": "x"},
            TokenMismatch,
            "evaluation token does not match",
            id="94-another-token",
        ),
        pytest.param(
            {"eval_id": "gone"}, NotOutstanding, "evaluation is not outstanding", id="no-delivery"
        ),
    ],
)
def test_a_plan_that_nobody_may_submit_does_not_queue(
    fields: dict[str, object], error: type[Exception], text: str
) -> None:
    world = make_world(E)
    token = take_one(world).token
    plan = Plan(**({"id": "p", "job_id": "web", "eval_id": E.id, "eval_token": token} | fields))
    with pytest.raises(error, match=text):
        world.leader.submit_plan("w", plan, plan.size, world.moment)
    assert world.leader.stats().plan_queue_depth == 0
    world.leader.submit_plan(
        "w", Plan(id="q", job_id="web", eval_id=E.id, eval_token=token), 0, world.moment
    )
    assert world.leader.stats().plan_queue_depth == 1


def test_94_a_plan_of_a_job_that_was_deleted_comes_back_with_that() -> None:
    world = make_world(E)
    alloc = make_allocation(create_index=0)
    submitted(world, namespace="default", job_version=0, node_allocation={alloc.node_id: (alloc,)})
    before = world.store.index
    world.report(world.judge(world.take_plans()))
    (reply,) = world.leader.take_replies()
    assert reply.outcome == PlanOutcome(
        plan_id="p", error='job "web" in namespace "default" not found'
    )
    assert (world.leader.stats().plan_queue_depth, world.store.index) == (0, before)


def test_96_pausing_flushes_the_plan_queue() -> None:
    world = make_world(E)
    submitted(world)
    pause_broker(world, paused=True)
    (reply,) = world.leader.take_replies()
    assert reply.outcome == PlanOutcome(plan_id="p", error="plan queue flushed")
    assert world.leader.stats().plan_queue_depth == 0


def test_a_plan_is_given_up_when_the_applier_asks_for_more_and_never_before() -> None:
    world = make_world(E, lost_worker_after=10_000)
    submitted(world)
    world.take_plans()
    world.tick(1000)
    assert world.leader.take_replies() == ()
    world.take_plans()
    (reply,) = world.leader.take_replies()
    assert reply.outcome == PlanOutcome(plan_id="p", error="the plan applier did not answer")
    late = PlanOutcome(plan_id="p", result=PlanResult(alloc_index=9))
    world.leader.plans_done([late], world.moment)
    assert world.leader.take_replies() == ()


def test_what_nodes_refuse_is_counted_until_another_leads() -> None:
    world = make_world(E)
    submitted(world)
    world.take_plans()
    result = PlanResult(refresh_index=world.leader.index, rejected_nodes=("n", "m"))
    world.leader.plans_done([PlanOutcome(plan_id="p", result=result)], world.moment)
    told = world.leader.stats()
    assert (told.plan_refusals, told.refusals_of_nodes) == (2, {"n": 1, "m": 1})
    assert world.new_leader().stats().plan_refusals == 0


def test_ways_of_evaluations_and_plans_are_counted_and_workers_held_work() -> None:
    world = make_world(E)
    world.leader.stats(world.moment.monotonic)
    submitted(world)
    world.take_plans()
    world.tick(2)
    result = PlanResult(refresh_index=world.leader.index, rejected_nodes=("n",))
    world.leader.plans_done([PlanOutcome(plan_id="p", result=result)], world.moment)
    told = world.leader.stats(world.moment.monotonic)
    minute = told.flows[0]
    ways = ("ready-hand", "hand-plans", "plans-part", "writes", "written")
    assert (minute.stretch, {way: minute.counts.get(way) for way in ways}) == (
        60, dict.fromkeys(ways, 1),
    )  # fmt: skip
    (worker,) = told.workers
    assert (worker.lately.seconds, worker.lately.counts) == (2, {"held": 2, "plans": 1})
