"""A batch of deliveries: side by side, each with its own end."""

from collections.abc import Callable, Generator

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.errors import StaleSnapshot
from scheduler.messages import Delivery, FinishRequest, PlanOutcome
from scheduler.ports import IDSource, PatternMatcher, Snapshot
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.plan import Plan, PlanResult, RunEnding
from scheduler.worker import Batch, Turn, WorkerTools, seed_of
from tests.builders import SECOND, SOME_MOMENT, CountingIDs, make_evaluation
from tests.simulation.world import Patterns

NOW = SOME_MOMENT + SECOND
Run = Generator[Plan, PlanAnswer, Outcome]


class Scripted:
    """A scheduler that does what the job's id says."""

    def __init__(self, script: Callable[[Evaluation], Run]) -> None:
        self._script = script

    def process(self, evaluation: Evaluation) -> Run:
        self._evaluation = evaluation
        return self._script(evaluation)

    def outcome_if_whole(self) -> Outcome:
        return Outcome(evaluation=self._evaluation.changed(status=EvalStatus.COMPLETE))


def submit_once(evaluation: Evaluation) -> Run:
    answer = yield Plan(priority=evaluation.priority)
    assert answer.result.alloc_index == 7
    return Outcome(evaluation=evaluation.changed(status=EvalStatus.COMPLETE))


def submit_until_committed(evaluation: Evaluation) -> Run:
    answer = yield Plan()
    while answer.result.refresh_index:
        assert answer.snapshot is not None
        answer = yield Plan()
    return Outcome(evaluation=evaluation.changed(status=EvalStatus.COMPLETE))


def break_down(evaluation: Evaluation) -> Run:
    raise RuntimeError("no such group")
    yield Plan()


def leave_blocked(evaluation: Evaluation) -> Run:
    return Outcome(evaluation=None, reblocked=evaluation, created=(make_evaluation(99),))
    yield Plan()


SCRIPTS = {
    "once": submit_once,
    "retry": submit_until_committed,
    "break": break_down,
    "block": leave_blocked,
}


def scripted(
    job_type: str,
    snapshot: Snapshot,
    *,
    ids: IDSource,
    now: int,
    matcher: PatternMatcher,
    seed: int,
) -> Scripted:
    return Scripted(SCRIPTS[job_type])


def make_delivery(number: int, script: str) -> Delivery:
    return Delivery(
        evaluation=make_evaluation(number, type=script), token=f"t{number}", wait_index=3
    )


def make_batch(*deliveries: Delivery, asked: list[int] | None = None) -> Batch:
    store = MemoryStateStore()

    def snapshot(index: int) -> Snapshot:
        if asked is not None:
            asked.append(index)
        return store.snapshot()

    tools = WorkerTools(snapshot=snapshot, ids=CountingIDs(), matcher=Patterns(), factory=scripted)
    return Batch(tools, deliveries)


def committed(plan: Plan) -> PlanOutcome:
    return PlanOutcome(plan_id=plan.id, result=PlanResult(alloc_index=7))


def ended(number: int, script: str = "once") -> Evaluation:
    return make_evaluation(
        number, type=script, status=EvalStatus.COMPLETE, snapshot_index=1, modify_time=NOW
    )


def test_plans_of_a_batch_are_handed_out_together() -> None:
    deliveries = [make_delivery(n, "once") for n in (1, 2)]
    batch = make_batch(*deliveries)
    turn = batch.begin_all(now=NOW)
    assert turn == Turn(
        plans=tuple(
            Plan(
                id=f"00000000-0000-0000-0000-{number:012x}",
                eval_id=make_evaluation(number).id,
                eval_token=f"t{number}",
                snapshot_index=1,
                ending=RunEnding(evaluations=(ended(number),)),
            )
            for number in (1, 2)
        )
    )
    assert batch.working_on == (make_evaluation(1).id, make_evaluation(2).id)


def test_90_an_answered_run_goes_on_to_its_end_with_what_it_saw() -> None:
    asked: list[int] = []
    batch = make_batch(make_delivery(1, "once"), asked=asked)
    (plan,) = batch.begin_all(now=NOW).plans
    turn = batch.answer(committed(plan), now=NOW)
    finish = FinishRequest(eval_id=plan.eval_id, token="t1", update=ended(1))
    assert turn == Turn(finishes=(finish,))
    assert asked == [3]
    assert batch.is_done
    assert batch.answer(committed(plan), now=NOW) == Turn()


def test_a_run_whose_ending_was_committed_with_its_plan_is_over() -> None:
    batch = make_batch(make_delivery(1, "once"))
    (plan,) = batch.begin_all(now=NOW).plans
    outcome = PlanOutcome(plan_id=plan.id, result=PlanResult(alloc_index=7), has_ended=True)
    assert batch.answer(outcome, now=NOW) == Turn()
    assert batch.is_done


def test_a_run_that_breaks_is_nacked_and_the_others_go_on() -> None:
    batch = make_batch(make_delivery(1, "break"), make_delivery(2, "once"))
    turn = batch.begin_all(now=NOW)
    assert turn.finishes == (
        FinishRequest(eval_id=make_evaluation(1).id, token="t1", ack=False, error="no such group"),
    )
    assert [plan.eval_token for plan in turn.plans] == ["t2"]


def test_89_a_refresh_brings_a_newer_snapshot() -> None:
    asked: list[int] = []
    batch = make_batch(make_delivery(1, "retry"), asked=asked)
    (plan,) = batch.begin_all(now=NOW).plans
    refused = PlanOutcome(plan_id=plan.id, result=PlanResult(refresh_index=9))
    (again,) = batch.answer(refused, now=NOW).plans
    assert asked == [3, 9]
    assert (again.id != plan.id, again.snapshot_index) == (True, plan.snapshot_index)
    assert batch.answer(committed(again), now=NOW).finishes[0].ack


def test_what_begins_after_an_answer_sees_what_it_told_of() -> None:
    asked: list[int] = []
    first, second = make_delivery(1, "once"), make_delivery(2, "once")
    batch = make_batch(first, second, asked=asked)
    (plan,) = batch.begin(first.evaluation.id, now=NOW).plans
    batch.answer(committed(plan), now=NOW)
    batch.begin(second.evaluation.id, now=NOW)
    assert asked == [3, 7]


def test_127_a_plan_without_a_result_nacks_with_its_reason() -> None:
    batch = make_batch(make_delivery(1, "once"))
    (plan,) = batch.begin_all(now=NOW).plans
    turn = batch.answer(PlanOutcome(plan_id=plan.id, error="alloc x doesn't exist"), now=NOW)
    assert turn.finishes == (
        FinishRequest(eval_id=plan.eval_id, token="t1", ack=False, error="alloc x doesn't exist"),
    )


def test_87_a_snapshot_that_never_comes_nacks() -> None:
    def missing(index: int) -> Snapshot:
        raise StaleSnapshot(f"timed out waiting for index={index}")

    tools = WorkerTools(snapshot=missing, ids=CountingIDs(), matcher=Patterns(), factory=scripted)
    batch = Batch(tools, [make_delivery(1, "once")])
    (finish,) = batch.begin_all(now=NOW).finishes
    assert (finish.ack, finish.error) == (False, "timed out waiting for index=3")


def test_created_and_reblocked_evaluations_are_stamped() -> None:
    batch = make_batch(make_delivery(1, "block"))
    (finish,) = batch.begin_all(now=NOW).finishes
    stamped = {"snapshot_index": 1, "modify_time": NOW}
    assert finish == FinishRequest(
        eval_id=make_evaluation(1).id,
        token="t1",
        reblocked=make_evaluation(1, type="block", **stamped),
        created=(make_evaluation(99, create_time=NOW, **stamped),),
    )


def test_a_delivery_can_be_ended_from_outside() -> None:
    batch = make_batch(make_delivery(1, "once"))
    (plan,) = batch.begin_all(now=NOW).plans
    (finish,) = batch.give_up(plan.eval_id, "the leader is gone", now=NOW).finishes
    assert (finish.ack, finish.error) == (False, "the leader is gone")
    assert batch.is_done
    assert batch.working_on == ()
    assert batch.answer(committed(plan), now=NOW) == Turn()


def test_the_seed_comes_from_the_name_of_the_job_alone() -> None:
    asked = seed_of(make_evaluation(1).job_key)
    assert asked == seed_of(make_evaluation(2).job_key)
    assert asked != seed_of(make_evaluation(1, job_id="other").job_key)
    assert asked != seed_of(make_evaluation(1, namespace="other").job_key)
