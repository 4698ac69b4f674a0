"""What was measured in the past hour: one small row each ten seconds, of a fixed size.

In: measurements with their time. Out: columns of the same length. Times are those of a grid, so
that rows of different tasks and nodes can be added up.
"""

from array import array

import msgspec

from cluster.operations.usage_rows import ROWS, STEP_S, Columns

_KIB = 1024
_UNKNOWN = -1.0


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured at one moment; None could not be."""

    cpu_ticks: float | None = None
    memory_bytes: int = 0
    throttled_percent: float | None = None


class UsageRing:
    """At most `ROWS` rows of 16 bytes; the oldest gives way."""

    __slots__ = ("_at", "_cpu", "_memory", "_throttled")

    def __init__(self) -> None:
        self._at = array("I")
        self._cpu = array("f")
        self._memory = array("I")
        self._throttled = array("f")

    def add(self, at: int, row: UsageRow) -> None:
        """Note a row of the time `at`, s; of two at one place of the grid the later stays.

        What lies after it goes: the clock was set back.
        """
        slot = at // STEP_S
        columns = (self._at, self._cpu, self._memory, self._throttled)
        while self._at and self._at[-1] >= slot:
            for column in columns:
                column.pop()
        self._at.append(slot)
        self._cpu.append(_UNKNOWN if row.cpu_ticks is None else row.cpu_ticks)
        self._memory.append(min(row.memory_bytes // _KIB, 2**32 - 1))
        self._throttled.append(
            _UNKNOWN if row.throttled_percent is None else row.throttled_percent
        )
        # By time, not only by number: rows before a long pause are no part of the hour.
        while len(self._at) > ROWS or self._at[0] <= slot - ROWS:
            for column in columns:
                del column[0]

    @property
    def columns(self) -> Columns:
        return Columns(
            at=tuple(slot * STEP_S for slot in self._at),
            cpu_ticks=tuple(map(_known, self._cpu)),
            memory_bytes=tuple(value * _KIB for value in self._memory),
            throttled_percent=tuple(map(_known, self._throttled)),
        )


def _known(value: float) -> float | None:
    return None if value < 0 else round(value, 1)
