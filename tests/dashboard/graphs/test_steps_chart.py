"""A number in steps: the line goes through every number there was."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dashboard.graphs.steps_chart import HEIGHT, WIDTH, step_chart


def test_a_step_is_drawn_from_one_number_to_the_next():
    chart = step_chart([(0, 400, 800), (10, 800, None), (20, 800, 600)], now_count=600, limit=1000)
    assert chart.line == "M0 72H50V72V24H550V24V48H575V48H600"
    assert (chart.marks, chart.top, chart.limit) == ((300.0,), 1000, 0.0)
    assert chart.numbers == (400, 800, 600, 600)


def test_a_limit_far_above_does_not_flatten_the_line():
    chart = step_chart([(0, 1, 2)], now_count=2, limit=100)
    assert (chart.top, chart.limit) == (2, None)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20),
    st.integers(0, 10**6),
    st.integers(0, 10**7),
)
def test_the_line_stays_within_and_ends_at_the_number_of_now(found, now_count, limit):
    steps = [(at, before, now_count) for at, before in sorted(found)]
    chart = step_chart(steps, now_count=now_count, limit=limit)
    downs = [float(each) for each in re.findall(r"V([\d.]+)", chart.line)]
    assert all(0 <= each <= HEIGHT for each in downs)
    assert chart.line.endswith(f"H{WIDTH:g}")
    assert downs[-1] == round(HEIGHT - now_count * HEIGHT / chart.top, 1)
    assert chart.limit is None or 0 <= chart.limit <= HEIGHT
