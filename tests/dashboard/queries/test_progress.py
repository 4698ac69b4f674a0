import pytest

from dashboard.queries.progress import state_of, took
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SECOND, SOME_MOMENT, make_evaluation

PENDING = make_evaluation()
ENDED = make_evaluation(status=EvalStatus.COMPLETE, modify_time=SOME_MOMENT + SECOND)


def step(name):
    return LifecycleStep(eval_id=PENDING.id, number=3, step=name, at=SOME_MOMENT + 3 * SECOND)


@pytest.mark.parametrize(
    ("evaluation", "newest", "state"),
    [
        pytest.param(PENDING, None, "pending", id="no-step-known"),
        pytest.param(PENDING, Step.DEQUEUED, "scheduling", id="at-work"),
        pytest.param(PENDING, Step.DELAYED, "delayed", id="delayed"),
        pytest.param(PENDING, Step.NACKED, "pending", id="handed-back"),
        pytest.param(ENDED, Step.PLAN_ANSWERED, "complete", id="ended-is-ended"),
        pytest.param(
            make_evaluation(status=EvalStatus.BLOCKED), Step.ENQUEUED, "blocked", id="blocked"
        ),
        pytest.param(
            make_evaluation(wait_until=SOME_MOMENT + 9 * SECOND), None, "delayed", id="waits-until"
        ),
        pytest.param(make_evaluation(wait=9 * SECOND), None, "delayed", id="waits-so-long"),
        pytest.param(make_evaluation(wait_until=SOME_MOMENT), None, "pending", id="waited"),
    ],
)
def test_a_pending_evaluation_stands_where_its_newest_step_or_its_delay_says(
    evaluation, newest, state
):
    known = step(newest) if newest else None
    assert state_of(evaluation, known, SOME_MOMENT + SECOND) == state


@pytest.mark.parametrize(
    ("evaluation", "newest", "span"),
    [
        pytest.param(ENDED, Step.COMPLETE, 3 * SECOND, id="to-its-last-step"),
        pytest.param(ENDED, None, 0, id="no-step-known"),
        pytest.param(ENDED, Step.PLAN_ANSWERED, 0, id="last-step-not-recorded-yet"),
        pytest.param(PENDING, Step.DEQUEUED, 0, id="not-over"),
    ],
)
def test_it_took_from_its_creation_to_its_last_step(evaluation, newest, span):
    assert took(evaluation, step(newest) if newest else None) == span
