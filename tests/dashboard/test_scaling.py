"""Words of scaling: bounds and attempts."""

import pytest

from dashboard.scaling import bounds_told, event_told
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import ScalingPolicy
from tests.builders import make_task_group


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        pytest.param(None, "any number: its job file sets no bounds", id="none"),
        pytest.param(
            ScalingPolicy(min=1, max=4, enabled=False), "1 to 4, set by the job file", id="bounds"
        ),
        pytest.param(
            ScalingPolicy(min=1, max=4),
            "1 to 4, set by the job file; an autoscaler may change it again",
            id="enabled",
        ),
    ],
)
def test_bounds_are_told_with_who_sets_them(policy, told):
    assert bounds_told(make_task_group(scaling=policy)) == told


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (ScalingEvent(previous_count=2, count=4), "2 → 4"),
        (ScalingEvent(previous_count=2, error=True), "failure at 2"),
        (ScalingEvent(previous_count=2), "note at 2"),
    ],
)
def test_an_attempt_is_told(event, told):
    assert event_told(event) == told
