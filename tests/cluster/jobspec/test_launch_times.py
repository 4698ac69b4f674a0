"""When jobs are due."""

from datetime import UTC, datetime

import pytest

from cluster.jobspec.launch_times import due_times, next_due, next_local
from cluster.jobspec.parse import parse_text
from scheduler.structs.job import Periodic
from scheduler.structs.periodic_launch import KEPT_LAUNCHES
from tests.builders import SECOND, make_job

DAY = 24 * 3600 * SECOND


def instant(*moment):
    return round(datetime(*moment, tzinfo=UTC).timestamp()) * SECOND


BEGIN = instant(2026, 11, 22, 2, 55)


def job(*specs, zone="UTC", **fields):
    return make_job(type="batch", periodic=Periodic(specs=specs, time_zone=zone, **fields))


@pytest.mark.parametrize(
    ("job", "due"),
    [
        pytest.param(job("@daily"), instant(2026, 11, 23), id="one"),
        pytest.param(job("@daily", "57 2 * * *"), instant(2026, 11, 22, 2, 57), id="first-of-two"),
        pytest.param(job(spec="@hourly"), instant(2026, 11, 22, 3), id="the-old-field"),
        pytest.param(
            job("0 3 * * *", zone="Asia/Kolkata"), instant(2026, 11, 22, 21, 30), id="zone"
        ),
        pytest.param(job("@daily", zone="Gone/Away"), instant(2026, 11, 23), id="zone-is-gone"),
        pytest.param(job("0 0 1 1 * 2020", "@daily"), instant(2026, 11, 23), id="one-has-ended"),
        pytest.param(job("0 0 1 1 * 2020"), None, id="all-have-ended"),
        pytest.param(job("0 0 30 2 *"), None, id="never"),
        pytest.param(make_job(), None, id="not-periodic"),
    ],
)
def test_the_next_time_is_that_of_the_first_expression(job, due):
    assert next_due(job, BEGIN) == due


def test_a_time_is_not_due_again_at_itself_and_parts_of_seconds_do_not_count():
    every_second = job("* * * * * * *")
    assert next_due(every_second, BEGIN) == BEGIN + SECOND
    assert next_due(every_second, BEGIN + SECOND - 1) == BEGIN + SECOND
    assert next_due(every_second, BEGIN + SECOND) == BEGIN + 2 * SECOND


def test_of_two_expressions_the_earlier_counts_also_in_an_hour_that_comes_twice():
    """By the wall clock 02:10 stands before 02:40, but it is its second coming."""
    both = job("10 2 25 10 *", "40 2 25 10 *", zone="Europe/Berlin")
    begin = instant(2026, 10, 25, 0, 30)
    assert next_due(both, begin) == instant(2026, 10, 25, 0, 40)
    assert next_due(both, instant(2026, 10, 25, 0, 40)) == instant(2026, 10, 25, 1, 10)


def test_a_local_time_says_its_zone():
    found = next_local(job("@daily", zone="Asia/Kolkata"), BEGIN)
    assert found.isoformat() == "2026-11-23T00:00:00+05:30"


@pytest.mark.parametrize(
    ("job", "span", "count"),
    [
        pytest.param(job("@daily"), DAY // 2, 0, id="none"),
        pytest.param(job("@daily"), DAY, 1, id="one"),
        pytest.param(job("@daily"), 3 * DAY, 3, id="all-of-few"),
        pytest.param(job("* * * * * * *"), 365 * DAY, KEPT_LAUNCHES, id="the-last-of-many"),
    ],
)
def test_times_that_have_passed_are_named_newest_last(job, span, count):
    found = due_times(job, BEGIN, BEGIN + span)
    assert len(found) == count
    assert sorted(set(found)) == [*found]
    assert all(BEGIN < due <= BEGIN + span for due in found)
    if found:
        assert next_due(job, found[-1]) > BEGIN + span


def test_of_times_that_come_seldom_and_then_often_some_are_named():
    seldom_then_often = job("0 0 1 1 * 2027-2099", "* * * * * * 2026")
    found = due_times(seldom_then_often, instant(1970, 1, 1), instant(2026, 12, 31))
    assert found
    assert len(found) <= KEPT_LAUNCHES


def in_file(*lines):
    body = "".join(f"    {line}\n" for line in lines)
    return (
        'job "x" {\n  type = "batch"\n  periodic {\n'
        + body
        + '  }\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n'
        '      config {\n        command = "true"\n      }\n    }\n  }\n}\n'
    )


def test_a_job_file_says_all_of_it():
    text = in_file(
        'crons = ["@daily", "* * * * * * *"]',
        'time_zone = "Europe/Berlin"',
        "prohibit_overlap = true",
        "enabled = false",
    )
    assert parse_text(text).job.periodic == Periodic(
        enabled=False,
        specs=("@daily", "* * * * * * *"),
        prohibit_overlap=True,
        time_zone="Europe/Berlin",
    )
    assert parse_text(in_file('cron = "@daily"')).job.periodic == Periodic(spec="@daily")


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        pytest.param(
            ['cron = "61 * * * *"'],
            [(4, 5, "Invalid cron spec \"61 * * * *\": syntax error in minute field: '61'")],
            id="cron",
        ),
        pytest.param(
            ['time_zone = "Mars/X"', 'crons = ["@daily", "x"]'],
            [
                (4, 5, 'Invalid time zone "Mars/X": unknown time zone Mars/X'),
                (5, 5, 'Invalid cron spec "x": missing field(s)'),
            ],
            id="zone-and-crons",
        ),
        pytest.param(
            ['crons = ["@daily"]', 'cron = "@daily"'],
            [(5, 5, "Only cron or crons may be used")],
            id="both",
        ),
        pytest.param([], [(3, 3, "Must specify a spec")], id="neither"),
    ],
)
def test_what_is_wrong_in_a_job_file_is_told_with_its_place(lines, problems):
    found = parse_text(in_file(*lines)).problems()
    assert [(each.line, each.column, each.message) for each in found] == problems


def test_a_wrong_expression_among_several_is_told_by_its_number():
    form = '{"Job":{"ID":"x","Type":"batch","Periodic":{"Specs":["@daily",\n "x"]}}}'
    found = [each for each in parse_text(form).problems() if "cron" in each.message]
    assert [(each.path, each.line, each.column) for each in found] == [("Periodic.Specs[1]", 2, 2)]
