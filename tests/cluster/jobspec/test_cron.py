"""Cron expressions and their next times."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cluster.jobspec.cron import cron_problem, next_launch, time_zone_problem

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("expression", "after", "wanted"),
    [
        pytest.param("*/15 * * * *", (2024, 1, 1, 0, 1, 0), (2024, 1, 1, 0, 15, 0), id="minutes"),
        pytest.param("@daily", (2024, 1, 1, 0, 0, 0), (2024, 1, 2, 0, 0, 0), id="macro"),
        pytest.param("0 0 1 1 * 2030", (2024, 1, 1, 0, 0, 0), (2030, 1, 1, 0, 0, 0), id="year"),
        pytest.param(
            "*/10 * * * * * *", (2024, 1, 1, 0, 0, 5), (2024, 1, 1, 0, 0, 10), id="seconds"
        ),
        pytest.param("0 0 1 1 * 2020", (2024, 1, 1, 0, 0, 0), None, id="past"),
    ],
)
def test_the_next_time_is_found(expression, after, wanted):
    found = next_launch(expression, datetime(*after, tzinfo=UTC))
    assert found == (wanted and datetime(*wanted, tzinfo=UTC))


def test_a_local_time_that_does_not_exist_is_skipped_that_day():
    found = next_launch("2 2 * * *", datetime(2024, 3, 30, 12, tzinfo=BERLIN))
    assert found == datetime(2024, 4, 1, 2, 2, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("every day", "missing field(s)", id="words"),
        pytest.param("61 * * * *", "syntax error in minute field: '61'", id="minute"),
        pytest.param("* * * * * 1850", "syntax error in year field: '1850'", id="year"),
        pytest.param("0 6 * * 1-5", "", id="fine"),
    ],
)
def test_what_cannot_be_read_is_named(expression, problem):
    assert cron_problem(expression) == problem


def test_a_zone_nobody_knows_is_named():
    assert time_zone_problem("Mars/Olympus") == "unknown time zone Mars/Olympus"
