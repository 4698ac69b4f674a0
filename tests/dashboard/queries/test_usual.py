"""The last hour beside what is usual: counted exactly, compared only with hours known."""

import pytest

from dashboard.queries.usual import DAY, HOUR, SECOND, points, usual_figures
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SOME_MOMENT, make_evaluation
from tests.process_store import store

__all__ = ["store"]

MS = 1_000_000
NOW = SOME_MOMENT + 30 * DAY


@pytest.fixture
def figures(store):
    """What is told when evaluations ended so long ago and took so long."""

    def figures(*ended, namespaces=None, status=EvalStatus.COMPLETE):
        def work(change):
            for place, (ago, took) in enumerate(ended):
                at = NOW - ago
                put_found(change, make_evaluation(
                    place, status=status, create_time=at - took, modify_time=at,
                ))  # fmt: skip

        if ended:
            store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
        told = store.read(lambda reader: usual_figures(reader, namespaces, NOW))
        return [(figure.value, figure.usual) for figure in told]

    return figures


def test_without_any_there_is_nothing_to_compare(figures):
    assert figures() == [
        ("0", "no earlier day to compare with"),
        ("none", "none ended"),
        ("none", "no plan of the newest 100 evaluations"),
    ]


def test_the_last_hour_is_counted_and_earlier_days_at_this_hour_are_its_measure(figures):
    today = [(minute * 60 * SECOND, 2 * SECOND) for minute in (1, 30, 59)]
    outside = [(HOUR + SECOND, 9 * SECOND), (DAY + 2 * HOUR, 9 * SECOND)]
    yesterday = [(DAY + minute * 60 * SECOND, SECOND) for minute in range(1, 9)]
    before = [(2 * DAY + 60 * SECOND, SECOND), (3 * DAY + 60 * SECOND, SECOND)]
    assert figures(*today, *outside, *yesterday, *before)[:2] == [
        ("3", "usual 1 at this hour, 3 days"),
        ("2.0 s", "of 3 evaluations"),
    ]


def test_what_waits_has_not_ended_and_what_is_hidden_does_not_count(figures):
    waits = figures((60 * SECOND, SECOND), status=EvalStatus.BLOCKED)
    assert waits[0][0] == "0"


def test_hidden_namespaces_do_not_count(figures):
    told = figures((60 * SECOND, SECOND), namespaces=frozenset({"team"}))
    assert [value for value, _ in told] == ["0", "none", "none"]


def test_plans_are_told_by_how_long_they_took_and_how_many_were_refused_in_part(store):
    def work(change):
        for place, millis in enumerate((4, 6, 90)):
            namespace = "team" if place == 2 else "default"
            made = make_evaluation(place, namespace=namespace)
            put_found(change, made)
            for number, step, took, nodes in (
                (1, Step.PLAN_SUBMITTED, 5_000 * MS, []),
                (2, Step.PLAN_ANSWERED, millis * MS, ["node-1"] if place else []),
            ):
                change.put(LIFECYCLE_STEPS, LifecycleStep(
                    eval_id=made.id, number=number, step=step, at=NOW,
                    duration_ns=took, nodes=nodes, index=change.index,
                ))  # fmt: skip

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)

    def told(namespaces):
        *_, plans = store.read(lambda reader: usual_figures(reader, namespaces, NOW))
        return plans.value, plans.usual, len(plans.line.split())

    assert told(None) == ("90 ms", "of 3 plans, 2 refused in part", 3)
    assert told(frozenset({"default"})) == ("6 ms", "of 2 plans, 1 refused in part", 2)
    assert told(frozenset({"nobody"})) == ("none", "no plan of the newest 100 evaluations", 0)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([0, 0, 0], "0,22 40,22 80,22", id="nothing"),
        pytest.param([0, 5, 10], "0,22 40,12 80,2", id="up"),
        pytest.param([], "", id="none"),
    ],
)
def test_a_line_goes_from_the_first_to_the_last_and_its_top_is_the_largest(values, line):
    assert points(values) == line
