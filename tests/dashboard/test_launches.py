"""Launches in lines and sentences: what is told agrees with what is counted."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.operations.launch_view import LaunchView
from cluster.store.ports import Span
from dashboard.labels import LABELS
from dashboard.launches import (
    dispatched_told,
    fate_of,
    kind_told,
    launch_lines,
    launches_counted,
    launches_told,
    next_told,
    usual_span,
)
from scheduler.structs.job import (
    JobChildrenSummary,
    JobSummary,
    ParameterizedJob,
    Periodic,
    TaskGroupSummary,
)
from scheduler.structs.periodic_launch import LaunchOutcome, PastLaunch
from tests.builders import make_job, make_task_group

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
#: 22 Nov 2026 02:00:00 UTC.
TWO = 1_795_312_800 * SECOND
PERIODIC = make_job(type="batch", periodic=Periodic(specs=("0 * * * *",)))
COUNTS = st.integers(0, 3)
A_MINUTE = Span(TWO, TWO + 61 * SECOND)


def child(**fields):
    group = make_task_group(name="web", count=2)
    return make_job(
        id="web/periodic-1", type="batch", submit_time=TWO, task_groups=(group,), **fields
    )


def fate(status="dead", span=A_MINUTE, stop=False, **counts):
    summary = JobSummary(summary={"web": TaskGroupSummary(**counts)})
    return fate_of(child(status=status, stop=stop), summary, span)


def view(*past, next_due=None):
    return LaunchView(next_due=next_due, upcoming=(), past=past, launched=len(past), last_launch=0)


@pytest.mark.parametrize(
    ("found", "state", "told"),
    [
        pytest.param(fate("pending", None), "pending", "not placed yet", id="new"),
        pytest.param(fate("pending", None, queued=2), "pending", "waits for room", id="no-room"),
        pytest.param(fate("running", running=2), "running", "0 of 2 finished", id="runs"),
        pytest.param(fate(complete=2), "ran", "2 of 2 finished", id="ran"),
        pytest.param(fate(complete=2, failed=1), "ran", "2 of 2 finished", id="ran-at-last"),
        pytest.param(fate(complete=1, lost=3), "failed", "1 of 2 finished, 3 failed", id="failed"),
        pytest.param(fate(stop=True, complete=1), "stopped", "1 of 2 finished", id="stopped"),
    ],
)  # fmt: skip
def test_a_launched_job_is_as_far_as_its_counts_say(found, state, told):
    assert (found.state, found.told) == (state, told)
    assert (found.took == 61 * SECOND) == (state not in {"pending", "running"})


def test_each_decision_is_a_line():
    past = (
        PastLaunch(due=TWO, at=TWO, child_id="a"),
        PastLaunch(due=TWO - HOUR, at=TWO - HOUR, outcome=LaunchOutcome.SKIPPED, child_id="b"),
        PastLaunch(due=TWO - 2 * HOUR, at=TWO, outcome=LaunchOutcome.MISSED),
        PastLaunch(due=TWO - 3 * HOUR, at=TWO - 3 * HOUR + 250 * SECOND, child_id="c"),
        PastLaunch(due=TWO - 4 * HOUR, at=1, outcome=LaunchOutcome.FORCED, child_id="gone"),
    )
    lines = launch_lines(view(*past), {"a": fate(complete=2), "c": fate(failed=1)})
    assert [(line.state, line.child, line.is_own) for line in lines] == [
        ("ran", "a", True),
        ("skipped", "b", False),
        ("missed", "", True),
        ("failed", "c", True),
        ("forced", "gone", True),
    ]
    assert lines[3].told == "at 23:04:10: 0 of 2 finished, 1 failed"
    assert lines[4].told == "the job it made is not kept any more"
    assert usual_span(lines) == 61 * SECOND


OUTCOMES = st.sampled_from(LaunchOutcome)
FATES = st.sampled_from([None, fate(complete=2), fate(failed=1), fate("running", running=1)])


@given(st.lists(st.tuples(OUTCOMES, FATES), max_size=12))
def test_no_sentence_of_launches_contradicts_its_counts(found):
    past = tuple(
        PastLaunch(due=number, at=number, outcome=outcome, child_id=str(number))
        for number, (outcome, _) in enumerate(found)
    )
    fates = {str(number): told for number, (_, told) in enumerate(found) if told is not None}
    lines = launch_lines(view(*past), fates)
    counts = launches_counted(lines)
    assert sum(counts.values()) == len(lines) == len(found)
    assert all(line.state in LABELS["launch"] for line in lines)
    told = launches_told(lines)
    if len(lines) > 1:
        of, *parts = map(int, re.findall(r"\d+", told))
        assert (of, parts) == (len(lines), list(counts.values()))
    elif lines:
        assert re.fullmatch(r"The last launch [a-z ]+\.", told)
    else:
        assert told == "None was due yet."


@pytest.mark.parametrize(
    ("job", "seen", "told"),
    [
        pytest.param(PERIODIC, view(next_due=TWO + HOUR), "Next launch 03:00 UTC", id="next"),
        pytest.param(
            PERIODIC, view(next_due=TWO + 22 * HOUR), "Next launch 23 Nov 00:00 UTC", id="tomorrow"
        ),
        pytest.param(PERIODIC, view(), "Its schedule names no further time.", id="ended"),
        pytest.param(
            make_job(stop=True, periodic=Periodic()), view(), "Stopped: nothing is launched.",
            id="stopped",
        ),
        pytest.param(
            make_job(periodic=Periodic(enabled=False)), view(),
            "Switched off in its job file: nothing is launched.", id="off",
        ),
        pytest.param(
            make_job(periodic=Periodic(), parameterized_job=ParameterizedJob()), view(),
            "It launches nothing by itself.", id="both",
        ),
    ],
)  # fmt: skip
def test_a_periodic_job_says_what_it_does_next(job, seen, told):
    assert next_told(job, seen, TWO) == told


@pytest.mark.parametrize(
    ("job", "next_at", "children", "told"),
    [
        pytest.param(make_job(), None, (), "", id="runs-itself"),
        pytest.param(PERIODIC, TWO + HOUR, (), "periodic, next 03:00 UTC", id="periodic"),
        pytest.param(PERIODIC, None, (), "periodic", id="no-next"),
        pytest.param(
            make_job(parameterized_job=ParameterizedJob()), None, (1, 2, 11),
            "parameterized, 14 dispatched", id="dispatched",
        ),
        pytest.param(
            make_job(parameterized_job=ParameterizedJob()), None, (), "parameterized", id="none"
        ),
    ],
)  # fmt: skip
def test_a_list_says_what_launches_others(job, next_at, children, told):
    counts = JobChildrenSummary(
        **dict(zip(("pending", "running", "dead"), children, strict=False))
    )
    assert kind_told(job, next_at, TWO, counts) == told


@given(pending=COUNTS, running=COUNTS, dead=COUNTS)
def test_no_sentence_of_dispatched_jobs_contradicts_its_counts(pending, running, dead):
    _, rest = dispatched_told(JobChildrenSummary(pending=pending, running=running, dead=dead))
    numbers = [int(each) for each in re.findall(r"\d+", rest)]
    assert numbers[:1] == ([pending + running + dead] if pending + running + dead else [])
    assert numbers[1:] == [each for each in (running, pending, dead) if each]
