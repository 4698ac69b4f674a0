"""The guided tour: eight pages in turn, without those that a person may not open."""

import pytest
from django.urls import reverse

from dashboard.rights import ROUTES
from dashboard.tour import STOPS, step_of


def test_it_has_eight_stops_which_are_pages() -> None:
    assert len(STOPS) == 8
    assert {stop.route for stop in STOPS} <= ROUTES.keys()
    assert [stop.path for stop in STOPS] == [reverse(stop.route) for stop in STOPS]


def test_each_step_leads_to_its_neighbours() -> None:
    opens = [stop.route for stop in STOPS]
    steps = [step_of(str(number), opens) for number in range(1, 9)]
    assert [step and (step.before, step.after) for step in steps[:2]] == [
        ("", "/jobs/new/?tour=2"),
        ("/?tour=1", "/jobs/?tour=3"),
    ]
    assert steps[-1] is not None
    assert (steps[-1].number, steps[-1].of, steps[-1].after) == (8, 8, "")


def test_pages_that_stay_closed_are_left_out() -> None:
    step = step_of("2", {"now", "states"})
    assert step is not None
    assert (step.stop.route, step.of) == ("states", 2)


@pytest.mark.parametrize("asked", ["", "0", "9", "x", "-1", "²", "1" * 400])
def test_what_is_no_step_is_none(asked: str) -> None:
    assert step_of(asked, [stop.route for stop in STOPS]) is None
