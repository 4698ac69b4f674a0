import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.graphs.timeline import IDLE_NS, Gap, Segment, Stretch, Timeline, timeline_of

MS = 1_000_000
HOUR = 3600 * 1_000_000_000


def test_lives_share_one_axis():
    lives = [
        [Stretch("pending", 0, 25 * MS), Stretch("complete", 25 * MS, 25 * MS)],
        [Stretch("blocked", 50 * MS, 100 * MS)],
    ]
    assert timeline_of(lives, now=HOUR) == Timeline(
        since=0,
        until=100 * MS,
        lives=(
            (Segment("pending", 0.0, 25.0, 25 * MS), Segment("complete", 25.0, 0.5, 0)),
            (Segment("blocked", 50.0, 50.0, 50 * MS),),
        ),
    )


def test_an_idle_hour_leaves_room_for_the_work_around_it():
    lives = [
        [Stretch("pending", 0, 50 * MS), Stretch("blocked", 50 * MS, HOUR)],
        [Stretch("scheduling", HOUR, HOUR + 50 * MS)],
    ]
    drawn = timeline_of(lives, now=2 * HOUR)
    assert drawn.gaps == (Gap(41.67, 16.67, HOUR - 50 * MS),)
    assert drawn.lives == (
        (
            Segment("pending", 0.0, 41.67, 50 * MS),
            Segment("blocked", 41.67, 16.67, HOUR - 50 * MS),
        ),
        (Segment("scheduling", 58.33, 41.67, 50 * MS),),
    )
    assert (drawn.gaps[0].middle, drawn.gaps[0].has_words) == (50.01, True)


def test_what_still_lasts_reaches_to_now():
    drawn = timeline_of([[Stretch("blocked", 0, None)]], now=500 * MS)
    assert drawn == Timeline(
        since=0,
        until=500 * MS,
        lives=((Segment("blocked", 0.0, 100.0, 500 * MS, is_open=True),),),
    )


@pytest.mark.parametrize("lives", [pytest.param([], id="none"), pytest.param([[]], id="empty")])
def test_nothing_is_drawn_of_nothing(lives):
    assert timeline_of(lives, now=HOUR) == Timeline(lives=tuple(() for _ in lives))


instants = st.integers(0, 40 * IDLE_NS)


# A busy machine draws slowly; that says nothing of the axis.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.lists(st.tuples(instants, instants), max_size=4), max_size=5))
def test_everything_stands_within_the_axis_in_the_order_of_time(spans):
    lives = [[Stretch("pending", min(span), max(span)) for span in life] for life in spans]
    drawn = timeline_of(lives, now=0)
    segments = [segment for life in drawn.lives for segment in life]
    assert all(segment.x >= 0 and segment.x + segment.width <= 100.02 for segment in segments)
    begun = sorted(
        (stretch.since, segment.x)
        for life, shown in zip(lives, drawn.lives, strict=True)
        for stretch, segment in zip(life, shown, strict=True)
        if segment.width > 0.5
    )
    places = [x for _, x in begun]
    assert places == sorted(places)
    assert all(gap.lasted > IDLE_NS for gap in drawn.gaps)
