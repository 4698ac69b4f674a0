"""Counts within stretches of time, and which way evaluations go with their steps."""

import pytest

from scheduler.broker.flows import way_of
from scheduler.broker.sliding_counts import SlidingCounts
from scheduler.structs.counted import CountedTime
from scheduler.structs.evaluation import LifecycleStep, Step


def test_what_is_older_than_a_stretch_leaves_it() -> None:
    tally = SlidingCounts(60, 300)
    for second in range(1000):
        tally.mark(second)
        tally.add("made")
    minute, five = tally.told(1000)
    assert (minute.stretch, minute.seconds, minute.counts) == (60, 61, {"made": 61})
    assert (five.stretch, five.seconds, five.counts) == (300, 305, {"made": 305})


def test_a_young_tally_says_how_young_it_is_and_nothing_before_its_first_mark() -> None:
    tally = SlidingCounts(60)
    tally.add("made")
    assert tally.told(5) == (CountedTime(stretch=60, seconds=0.0),)
    tally.mark(10)
    tally.add("held", 1.5)
    assert tally.told(12) == (CountedTime(stretch=60, seconds=2, counts={"held": 1.5}),)


def test_after_a_pause_without_marks_it_says_over_how_long_it_is() -> None:
    tally = SlidingCounts(60)
    tally.mark(0)
    tally.add("made")
    tally.mark(1000)
    assert tally.told(1000) == (CountedTime(stretch=60, seconds=1000, counts={"made": 1}),)
    tally.mark(1061)
    assert tally.told(1061) == (CountedTime(stretch=60, seconds=61),)
    assert SlidingCounts(60).told(9)[0].seconds == 0


def step(kind: Step, reason: str = "", nodes: tuple[str, ...] = ()) -> LifecycleStep:
    return LifecycleStep(eval_id="e", number=1, step=kind, at=1, reason=reason, nodes=nodes)


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        pytest.param(None, step(Step.CREATED), "made", id="made"),
        pytest.param(step(Step.CREATED), step(Step.ENQUEUED), "new-ready", id="ready"),
        pytest.param(
            step(Step.CREATED), step(Step.ENQUEUED, "behind e0"), "new-waiting", id="waits"
        ),
        pytest.param(step(Step.CREATED), step(Step.DELAYED, "5 s"), "new-delayed", id="delayed"),
        pytest.param(
            step(Step.ENQUEUED, "behind e0"), step(Step.ENQUEUED), "waiting-ready", id="its-turn"
        ),
        pytest.param(step(Step.DELAYED), step(Step.ENQUEUED), "delayed-ready", id="time-is-up"),
        pytest.param(step(Step.UNBLOCKED), step(Step.ENQUEUED), "woken", id="woken"),
        pytest.param(step(Step.ENQUEUED), step(Step.DEQUEUED), "ready-hand", id="taken"),
        pytest.param(step(Step.DEQUEUED), step(Step.PLAN_SUBMITTED), "hand-plans", id="plan"),
        pytest.param(
            step(Step.PLAN_SUBMITTED), step(Step.PLAN_ANSWERED), "plans-whole", id="whole"
        ),
        pytest.param(
            step(Step.PLAN_SUBMITTED), step(Step.PLAN_ANSWERED, "n: full", ("n",)), "plans-part",
            id="in-part",
        ),
        pytest.param(
            step(Step.PLAN_SUBMITTED), step(Step.PLAN_ANSWERED, "no such job"), "plans-failed",
            id="not-judged",
        ),
        pytest.param(step(Step.DEQUEUED), step(Step.NACKED), "hand-back", id="handed-back"),
        pytest.param(step(Step.NACKED), step(Step.DELAYED), "other", id="backs-off"),
        pytest.param(step(Step.PLAN_ANSWERED), step(Step.COMPLETE), "ended", id="ended"),
        pytest.param(step(Step.DEQUEUED), step(Step.BLOCKED), "blocked", id="blocked"),
    ],
)  # fmt: skip
def test_each_step_leads_one_way(before: LifecycleStep | None, after: LifecycleStep, way: str):
    assert way_of(before, after) == way
