"""Notices that the wall clock of this machine was set, so that no delay becomes longer or shorter.

In: a clock. Out: the time, and how far it was moved since the last look.
"""

import logging

from scheduler.ports import Clock
from scheduler.structs.wire import Duration, Nanoseconds

logger = logging.getLogger(__name__)
#: A clock that is slewed gains or loses less than this between two looks.
_AT_LEAST: Duration = 1_000_000_000
_SECOND = 1_000_000_000


class TimeJumps:
    """What one clock did since it was first looked at."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apart = self._distance(clock.now())

    def look(self) -> tuple[Nanoseconds, Duration]:
        """The time, and by how much it was set forward (less than 0: back); 0: it was not."""
        now = self._clock.now()
        before, self._apart = self._apart, self._distance(now)
        moved = self._apart - before
        if abs(moved) < _AT_LEAST:
            return now, 0
        logger.warning("the clock of this machine was set by %.0f s", moved / _SECOND)
        return now, moved

    def _distance(self, now: Nanoseconds) -> Duration:
        """Between the wall clock and the one that never jumps."""
        return now - int(self._clock.monotonic() * _SECOND)
