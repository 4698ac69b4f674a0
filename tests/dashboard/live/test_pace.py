"""The allowance of flushes: bursts at once, a steady stream at the bounded rate (ui.md 1.2)."""

from itertools import pairwise

import pytest

from dashboard.live.pace import (
    ALLOWANCE,
    ANIMATION_FRAME,
    INTERVAL,
    INTERVAL_OF_MANY,
    MANY_VIEWERS,
    FlushAllowance,
)


def flushes(viewers: int, seconds: float) -> list[float]:
    """The moments of flushes when there is always something to tell, after a long quiet time."""
    pace = FlushAllowance()
    moments = [100.0]
    while moments[-1] < 100.0 + seconds:
        moments.append(moments[-1] + pace.pause_after(moments[-1], viewers))
    return moments[:-1]


def test_a_burst_after_a_quiet_time_is_shown_frame_by_frame():
    moments = flushes(viewers=1, seconds=1)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert gaps[: ALLOWANCE - 1] == pytest.approx([ANIMATION_FRAME] * (ALLOWANCE - 1))
    assert gaps[-1] == pytest.approx(INTERVAL)


@pytest.mark.parametrize(
    ("viewers", "interval", "burst"),
    [
        (1, INTERVAL, ALLOWANCE),
        (MANY_VIEWERS - 1, INTERVAL, ALLOWANCE),
        (MANY_VIEWERS, INTERVAL_OF_MANY, 1),
        (500, INTERVAL_OF_MANY, 1),
    ],
)
def test_a_steady_stream_is_bounded(viewers, interval, burst):
    seconds = 20
    assert len(flushes(viewers, seconds)) == pytest.approx(seconds / interval + burst, abs=2)


def test_an_allowance_that_was_used_up_fills_again():
    pace = FlushAllowance()
    now = 100.0
    for _ in range(2 * ALLOWANCE):
        pause = pace.pause_after(now, 1)
        now += pause
    assert pause > ANIMATION_FRAME
    now += ALLOWANCE * INTERVAL
    assert pace.pause_after(now, 1) == pytest.approx(ANIMATION_FRAME)


def test_who_joins_a_crowd_ends_the_burst():
    pace = FlushAllowance()
    assert pace.pause_after(100.0, 1) == pytest.approx(ANIMATION_FRAME)
    assert pace.pause_after(100.1, MANY_VIEWERS) == pytest.approx(INTERVAL_OF_MANY)
