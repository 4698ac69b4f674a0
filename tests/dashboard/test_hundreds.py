"""A group of many allocations, a hundred to a line, with its exceptions apart."""

import pytest

from dashboard.hundreds import MOST_EXCEPTIONS, StandingAlloc, hundreds_of
from tests.builders import make_allocation, make_job

JOB = make_job()


def group(count, place="", **apart):
    """So many that run, but for those of other states, by place."""
    states = {number: state for state, numbers in apart.items() for number in numbers}
    return [
        StandingAlloc(
            make_allocation(JOB, number), place or f"[{number}]", states.get(number, "running")
        )
        for number in range(count)
    ]


def test_a_group_of_a_hundred_is_shown_one_by_one():
    assert hundreds_of(group(100)) is None
    assert hundreds_of([]) is None


def test_a_line_has_a_hundred_and_the_last_what_is_left():
    folded = hundreds_of(group(250))
    assert [(line.name, line.width, line.told) for line in folded.lines] == [
        ("[0] to [99]", 1000, "100 running"),
        ("[100] to [199]", 1000, "100 running"),
        ("[200] to [249]", 500, "50 running"),
    ]
    assert [line.gaps.count("M") for line in folded.lines] == [99, 99, 49]
    assert all(line.is_as_wanted for line in folded.lines)
    assert (folded.exceptions, folded.more) == ((), 0)


def test_neighbours_of_one_state_are_one_mark_and_the_worst_exceptions_come_first():
    folded = hundreds_of(group(120, pending=[3, 4, 5, 101], unknown=[7]))
    first, second = folded.lines
    assert [(mark.tone, mark.x, mark.width) for mark in first.marks] == [
        ("pending", 30, 30), ("unknown", 70, 10),
    ]  # fmt: skip
    assert [(mark.tone, mark.x, mark.width) for mark in second.marks] == [("pending", 10, 10)]
    assert first.told == "96 running, 3 pending, 1 unknown"
    assert not first.is_as_wanted
    assert [each.place for each in folded.exceptions] == ["[7]", "[3]", "[4]", "[5]", "[101]"]


@pytest.mark.parametrize(
    ("count", "more"),
    [
        pytest.param(MOST_EXCEPTIONS, 0, id="all"),
        pytest.param(110, 110 - MOST_EXCEPTIONS, id="many"),
    ],
)
def test_what_is_left_out_of_the_exceptions_is_counted(count, more):
    folded = hundreds_of(group(110, pending=range(count)))
    assert (len(folded.exceptions), folded.more) == (MOST_EXCEPTIONS, more)


def test_lines_of_a_job_that_runs_on_each_node_are_named_by_their_turn():
    folded = hundreds_of(group(1100, place="[0]"))
    assert folded.lines[0].name == "1 to 100"
    assert (
        folded.lines[-1].name == "1\N{NARROW NO-BREAK SPACE}001 to 1\N{NARROW NO-BREAK SPACE}100"
    )
