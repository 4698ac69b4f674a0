"""The only file that reads the wall clock, makes identifiers and draws chance."""

import random
import time
import uuid

from scheduler.structs.moment import Moment


class SystemClock:
    """Time as the machine tells it (scheduler.ports.Clock)."""

    def now(self) -> int:
        """Wall clock, ns since the Unix epoch."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def moment(self) -> Moment:
        """Both at once."""
        return Moment(time.time_ns(), time.monotonic())


class RandomIDs:
    """Fresh identifiers (scheduler.ports.IDSource)."""

    def next_id(self) -> str:
        """A random UUID, lower case, 36 characters."""
        return str(uuid.uuid4())


def chance() -> float:
    """A number in [0, 1) for jitter; never for secrets."""
    return random.random()  # noqa: S311 - jitter, no secret
