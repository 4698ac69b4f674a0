"""The strip of launches: every mark in its place, none over the next."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashboard.graphs.launches import WIDTH, Due, launch_strip

HOUR = 3600


def due(at, kind="ran", took=0):
    return Due(at, kind, "complete", took, f"{at}")


def test_a_bar_is_as_long_as_the_launch_took():
    strip = launch_strip([due(0, took=HOUR // 2), due(HOUR), due(2 * HOUR, "next")], HOUR // 2)
    first, second, last = strip.marks
    assert (first.x, last.x) == (30.0, WIDTH - 46)
    assert second.x == (first.x + last.x) / 2
    assert first.width == (second.x - first.x) / 2
    assert (second.width, last.width) == (5.0, 12.0)
    assert strip.now_x == first.x + first.width
    assert [tick.word for tick in strip.ticks] == ["0", "3600", "7200"]


def test_now_is_not_drawn_where_it_does_not_lie():
    assert launch_strip([due(0), due(HOUR)], 2 * HOUR).now_x is None


def test_nothing_and_one_launch_are_drawn_as_such():
    assert launch_strip([], 0).marks == ()
    assert [mark.x for mark in launch_strip([due(5, took=100)], 5).marks] == [30.0]


@given(
    st.lists(
        st.builds(
            due, st.integers(0, 10**6), st.sampled_from(["ran", "next"]), st.integers(0, 10**7)
        ),
        max_size=60,
    )
)
def test_all_marks_lie_within_and_words_do_not_touch(dues):
    strip = launch_strip(dues, 0)
    assert len(strip.marks) == len(dues)
    assert all(30 <= mark.x <= WIDTH - 46 for mark in strip.marks)
    assert all(mark.x + mark.width <= WIDTH for mark in strip.marks)
    for one, other in pairwise(strip.marks):
        assert other.x >= one.x
        assert one.x + one.width <= max(other.x, one.x + 5.05)
    places = [tick.x for tick in strip.ticks]
    assert all(b - a >= 64 for a, b in pairwise(places))
