"""The track of a replay: stops, marks, where one is."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.stories.replay import MOST_STOPS, PastMoment, track_of


def moments(count):
    return [PastMoment(10 * place, 1_000_000_000 * place) for place in range(1, count + 1)]


def test_a_short_story_stops_at_every_commit():
    track = track_of(moments(5), {30: "blocked"}, [(10, "canary"), (40, "batch 1")], None)
    assert [index for index, _ in track.stops] == [10, 20, 30, 40, 50]
    assert (track.position, track.passed, track.is_at_end) == (4, 5, True)
    assert track.problems == (2,)
    assert [(mark.x, mark.words, mark.state) for mark in track.marks] == [
        (0.0, "canary", ""), (75.0, "batch 1", ""), (50.0, "", "blocked"),
    ]  # fmt: skip


def test_an_index_between_two_commits_is_the_one_before():
    track = track_of(moments(5), {30: "blocked"}, [], 25)
    assert (track.position, track.passed, track.back, track.on, track.next_problem) == (
        1, 2, 10, 30, 30,
    )  # fmt: skip
    assert track_of(moments(5), {}, [], 3).position == 0
    assert track_of([], {}, [], None) is None


@given(count=st.integers(1, 12_000), trouble=st.sets(st.integers(1, 12_000), max_size=30))
def test_a_long_story_is_thinned_out_but_never_of_its_problems(count, trouble):
    known = {10 * place: "failed" for place in trouble if place <= count}
    track = track_of(moments(count), known, [], None)
    assert len(track.stops) <= MOST_STOPS + 1
    indexes = [index for index, _ in track.stops]
    assert indexes == sorted(set(indexes))
    assert set(known) <= set(indexes)
    assert (indexes[0], indexes[-1]) == (10, 10 * count)
    assert track.events == count
