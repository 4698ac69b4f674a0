"""An instant, as both clocks tell it."""

from typing import NamedTuple


class Moment(NamedTuple):
    """One look at both clocks: the wall clock dates what is recorded, the other drives timers.

    Who needs one of the two takes that alone, as `now` or as `monotonic`.
    """

    #: Wall clock, ns since the Unix epoch; it may jump.
    now: int
    #: Seconds on a clock that never jumps; the same clock for everyone in one process.
    monotonic: float
