"""Runs of one batch see each other's plans, and a refused plan leaves nobody waiting."""

import itertools
from collections import deque
from collections.abc import Generator

import pytest
from msgspec.structs import replace

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.messages import PlanOutcome
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import Allocation, ClientStatus, TaskState
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.policies import HOUR, ReschedulePolicy
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedResources,
    AllocatedTaskResources,
    Resources,
)
from scheduler.worker import Batch, Turn
from tests.builders import (
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.simulation.world import World

WORKER = "worker"


def job(name: str, cpu: int, count: int = 1) -> Job:
    task = make_task(resources=Resources(cpu=cpu, memory_mb=100))
    return make_job(id=name, task_groups=(make_task_group(count=count, tasks=(task,)),))


def begin(world: World, *jobs: Job) -> tuple[Batch, Turn, list[Evaluation]]:
    """One batch with an evaluation of each job, begun and its plans submitted."""
    evaluations = [world.put_job(each) for each in jobs]
    batch = world.new_batch(WORKER, limit=16)
    turn = batch.begin_all(now=world.clock.now())
    world.hand_in(WORKER, turn)
    return batch, turn, evaluations


def answer(world: World, batch: Batch) -> list[PlanOutcome]:
    """Judge what is out, and let the batch go on with the answers."""
    outcomes = world.judge(world.take_plans())
    world.report(outcomes)
    for reply in world.leader.take_replies():
        world.hand_in(WORKER, batch.answer(reply.outcome, now=world.clock.now()))
    return outcomes


def statuses(world: World, evaluations: list[Evaluation]) -> list[str]:
    return [world.stored(evaluation).status for evaluation in evaluations]


def placed(world: World, name: str) -> list[Allocation]:
    return list(world.store.allocations_by_job(job(name, 1).key))


def blocked(world: World, name: str) -> list[Evaluation]:
    found = world.store.evaluations_by_job(job(name, 1).key)
    return [evaluation for evaluation in found if evaluation.status is EvalStatus.BLOCKED]


def occupy(world: World, cpu: int) -> None:
    """Another worker's placement, committed while the batch's plan is out."""
    task = AllocatedTaskResources(cpu=AllocatedCpu(cpu_shares=cpu))
    alloc = make_allocation(
        job("other", cpu), allocated_resources=AllocatedResources(tasks={"web": task})
    )

    def work(change: Change) -> None:
        put_found(change, alloc)

    world.store.write(WriteKind.PLAN_RESULT, work, now=world.clock.now())
    world.follow()


def test_runs_of_a_batch_leave_room_for_one_another() -> None:
    world = World()
    world.put_nodes(*(make_node(number) for number in range(1, 9)))
    batch, turn, evaluations = begin(world, *(job(f"job-{n}", 4000) for n in range(8)))
    assert len(turn.plans) == 8
    outcomes = answer(world, batch)
    assert [outcome.reason for outcome in outcomes] == [""] * 8
    assert statuses(world, evaluations) == [EvalStatus.COMPLETE] * 8
    assert batch.is_done
    counted = [world.stored(evaluation).counted_evals for evaluation in evaluations]
    order = [plan.eval_id for plan in turn.plans]
    assert [len(found) for found in counted] == list(range(8))
    assert counted[-1] == tuple(order[:-1])


def test_room_that_a_refused_plan_did_not_take_is_found() -> None:
    world = World()
    world.put_nodes(make_node())
    batch, turn, evaluations = begin(world, job("large", 3000), job("small", 2000))
    assert [plan.job_id for plan in turn.plans] == ["large"]
    assert set(batch.working_on) == {evaluation.id for evaluation in evaluations}
    occupy(world, 1500)
    answer(world, batch)
    while not batch.is_done:
        answer(world, batch)
    assert statuses(world, evaluations) == [EvalStatus.COMPLETE] * 2
    assert (len(placed(world, "large")), len(placed(world, "small"))) == (0, 1)
    assert [len(blocked(world, name)) for name in ("large", "small")] == [1, 0]


def test_a_run_without_room_was_right_when_the_plans_before_it_are_committed() -> None:
    world = World()
    world.put_nodes(make_node())
    batch, turn, evaluations = begin(world, job("large", 3000), job("small", 2000))
    assert turn.finishes == ()
    answer(world, batch)
    assert batch.is_done
    assert [len(placed(world, name)) for name in ("large", "small")] == [1, 0]
    (waiting,) = blocked(world, "small")
    small = world.stored(evaluations[1])
    assert (small.blocked_eval, small.counted_evals) == (waiting.id, (evaluations[0].id,))


def test_what_a_held_run_promised_for_later_is_kept_when_it_is_run_again() -> None:
    world = World()
    world.put_nodes(make_node())
    later = ReschedulePolicy(attempts=1, interval=24 * HOUR, delay=HOUR, delay_function="constant")
    small = job("small", 1500, count=2)
    group = replace(small.task_groups[0], reschedule_policy=later)
    world.put_job(job("large", 2600))
    evaluation = world.put_job(replace(small, task_groups=(group,)))
    put_failed(world, small)
    batch = world.new_batch(WORKER)
    world.hand_in(WORKER, batch.begin_all(now=world.clock.now()))
    occupy(world, 1500)
    while not batch.is_done:
        answer(world, batch)
    first, second = sorted(placed(world, "small"), key=lambda alloc: alloc.client_status)
    assert (first.client_status, second.client_status) == ("failed", "pending")
    promised = world.store.evaluation(first.followup_eval_id)
    assert promised is not None
    assert promised.triggered_by == "alloc-reschedule"
    assert world.stored(evaluation).next_eval == promised.id


def put_failed(world: World, of: Job) -> None:
    """The first allocation of a stored job has just failed."""
    stored = world.store.job(of.key)
    assert stored is not None
    ending = TaskState(state="dead", failed=True, finished_at=world.clock.now())
    alloc = make_allocation(
        stored, number=7, client_status=ClientStatus.FAILED, task_states={"web": ending}
    )

    def work(change: Change) -> None:
        put_found(change, alloc)

    world.store.write(WriteKind.PLAN_RESULT, work, now=world.clock.now())
    world.follow()


class Fruitless:
    """A scheduler whose plans are never accepted: five attempts, then it waits for room."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def process(self, evaluation: Evaluation) -> Generator[Plan, PlanAnswer, Outcome]:
        for _ in range(5):
            alloc = make_allocation(id=f"{next(NUMBERS):036d}", create_index=0)
            yield Plan(node_allocation={make_node().id: (alloc,)})
        return _waiting(evaluation)

    def outcome_if_whole(self) -> Outcome:
        return _waiting(make_evaluation(1))


def _waiting(evaluation: Evaluation) -> Outcome:
    waiting = replace(evaluation, id=f"{next(NUMBERS):036d}", status=EvalStatus.BLOCKED)
    return Outcome(evaluation=evaluation, created=(waiting,))


NUMBERS = itertools.count()


def test_runs_whose_plans_are_always_refused_do_not_keep_each_other_alive() -> None:
    world = World(factory=Fruitless)
    world.put_nodes(make_node())
    batch, turn, _ = begin(world, job("one", 100), job("two", 100))
    out, answers, finishes = deque(turn.plans), 0, []
    while not batch.is_done:
        refused = PlanResult(refresh_index=world.store.index)
        outcome = PlanOutcome(plan_id=out.popleft().id, result=refused)
        turn = batch.answer(outcome, now=world.clock.now())
        out += turn.plans
        finishes += turn.finishes
        answers += 1
        assert answers <= 40
    assert [finish.ack for finish in finishes] == [True, True]


@pytest.mark.parametrize("way", ["error", "give-up"])
def test_a_plan_nobody_answers_for_takes_no_room(way: str) -> None:
    world = World()
    world.put_nodes(make_node())
    batch, turn, (_, small) = begin(world, job("large", 3000), job("small", 2000))
    (plan,) = turn.plans
    now = world.clock.now()
    if way == "error":
        after = batch.answer(PlanOutcome(plan_id=plan.id, error="refused"), now=now)
    else:
        after = batch.give_up(plan.eval_id, "no answer", now=now)
    assert [(finish.eval_id, finish.ack) for finish in after.finishes] == [(plan.eval_id, False)]
    assert [each.eval_id for each in after.plans] == [small.id]
