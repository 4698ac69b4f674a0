"""The only file that reads the wall clock, makes identifiers and draws chance."""

import os
import random
import time

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


#: The bits of a random UUID that are drawn, and those that say that it is one.
_OF_CHANCE = ~(0xF << 76 | 0b11 << 62)
_VERSION_4 = 4 << 76 | 0b10 << 62


class RandomIDs:
    """Fresh identifiers (scheduler.ports.IDSource)."""

    def next_id(self) -> str:
        """A random UUID, lower case, 36 characters."""
        # As `uuid.uuid4` does it, without an object for each.
        number = int.from_bytes(os.urandom(16)) & _OF_CHANCE | _VERSION_4
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def chance() -> float:
    """A number in [0, 1) for jitter; never for secrets."""
    return random.random()  # noqa: S311 - jitter, no secret
