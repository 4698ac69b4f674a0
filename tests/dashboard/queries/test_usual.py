"""The last hour beside what is usual: counted exactly, compared only with hours known."""

import pytest

from dashboard.queries.usual import DAY, HOUR, SECOND, points, usual_figures
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
from tests.builders import SOME_MOMENT, make_evaluation
from tests.process_store import store

__all__ = ["store"]

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
    assert figures() == [("0", "no earlier day to compare with"), ("none", "none ended")]


def test_the_last_hour_is_counted_and_earlier_days_at_this_hour_are_its_measure(figures):
    today = [(minute * 60 * SECOND, 2 * SECOND) for minute in (1, 30, 59)]
    outside = [(HOUR + SECOND, 9 * SECOND), (DAY + 2 * HOUR, 9 * SECOND)]
    yesterday = [(DAY + minute * 60 * SECOND, SECOND) for minute in range(1, 9)]
    before = [(2 * DAY + 60 * SECOND, SECOND), (3 * DAY + 60 * SECOND, SECOND)]
    assert figures(*today, *outside, *yesterday, *before) == [
        ("3", "usual 1 at this hour, 3 days"),
        ("2.0 s", "of 3 evaluations"),
    ]


def test_what_waits_has_not_ended_and_what_is_hidden_does_not_count(figures):
    waits = figures((60 * SECOND, SECOND), status=EvalStatus.BLOCKED)
    assert waits[0][0] == "0"


def test_hidden_namespaces_do_not_count(figures):
    told = figures((60 * SECOND, SECOND), namespaces=frozenset({"team"}))
    assert [value for value, _ in told] == ["0", "none"]


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
