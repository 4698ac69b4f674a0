"""How soon after one flush the next may go: short bursts at once, long ones at a bounded rate.

One run of an evaluation is a handful of commits within some 25 ms. Shown one flush interval apart
they would arrive later than they were decided; so flushes are paid from an allowance that fills
at the bounded rate, and only who has used it up waits (ui.md 1.2 has the rates, 2.6 the budget).
"""

#: Seconds between flushes on average: at most 20 a second, 10 where many look.
INTERVAL = 0.05
INTERVAL_OF_MANY = 0.1
#: From this many viewers on a flush costs more in deliveries than in rendering.
MANY_VIEWERS = 50
#: Flushes that may follow each other at once after a quiet time: the commits and hints of one
#: evaluation, from its registration to its running allocation.
ALLOWANCE = 5
#: Seconds between two flushes in any case. A screen shows no more.
ANIMATION_FRAME = 1 / 60


class FlushAllowance:
    """The allowance of one hub. Seconds of one monotonic clock."""

    def __init__(self) -> None:
        """Full at first."""
        self._left = float(ALLOWANCE)
        self._counted_at = 0.0

    def pause_after(self, now: float, viewers: int) -> float:
        """Pay for a flush at `now` to `viewers`; seconds until the next one may follow."""
        many = viewers >= MANY_VIEWERS
        interval = INTERVAL_OF_MANY if many else INTERVAL
        full = 1 if many else ALLOWANCE
        earned = (now - self._counted_at) / interval
        self._counted_at = now
        self._left = min(full, self._left + earned) - 1
        return max(ANIMATION_FRAME, (1 - self._left) * interval)
