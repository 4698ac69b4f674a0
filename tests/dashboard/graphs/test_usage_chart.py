"""The plot of a measurement: a line with gaps, the scale, what is reserved."""

import pytest

from dashboard.graphs.usage_chart import nice_top, usage_chart


def drawn(rows, **options):
    return usage_chart(rows, start=0, end=600, step=10, **options)


def test_a_line_goes_from_left_to_right_and_lies_on_its_area():
    chart = drawn([(0, 0.0), (10, 100.0), (600, 50.0)])
    assert chart.top == 100.0
    assert chart.line == "M0 120L10 0M600 60h2"
    assert chart.area == "M0 120L10 0L10 120H0ZM600 60L600 120H600Z"
    assert (chart.newest, chart.largest) == (50.0, 100.0)


def test_what_is_not_known_makes_a_gap():
    assert drawn([(0, 1.0), (10, 1.0), (20, None), (30, 1.0), (40, 1.0)]).line.count("M") == 2


def test_rows_outside_are_not_drawn():
    assert drawn([(-10, 9.0), (0, 1.0), (10, 1.0), (610, 9.0)]).largest == 1.0


def test_what_is_reserved_is_in_the_scale_unless_it_is_far_above():
    near = drawn([(0, 100.0)], reserved=400.0)
    assert (near.top, near.reserved) == (400.0, 0.0)
    far = drawn([(0, 100.0)], reserved=600.0)
    assert (far.top, far.reserved) == (100.0, None)


def test_nothing_known_draws_nothing():
    chart = drawn([])
    assert (chart.line, chart.area, chart.newest) == ("", "", None)
    assert len(chart.times) == 5


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (1, 1), (1.1, 1.2), (7, 8), (9, 10), (338, 400), (0.03, 0.03)]
)
def test_the_upper_edge_is_a_round_number(value, top):
    assert nice_top(value) == pytest.approx(top)
