"""What the public stream calls a write, row by row."""

import pytest

from cluster.api.events import event_form
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.structs.evaluation import EvalStatus
from tests.builders import SOME_MOMENT, make_evaluation
from tests.callers import MANAGER


@pytest.mark.parametrize(
    ("status", "name"),
    [(EvalStatus.PENDING, "PlanResult"), (EvalStatus.COMPLETE, "EvaluationUpdated")],
)
def test_an_evaluation_that_ends_with_its_plan_is_told_as_updated(
    status: EvalStatus, name: str
) -> None:
    event = StateEvent(topic=Topic.EVALUATION, key="e", value=make_evaluation(status=status))
    frame = EventFrame(index=7, kind=WriteKind.PLAN_RESULT, at=SOME_MOMENT, events=(event,))
    assert event_form(frame, event, MANAGER)["Type"] == name
