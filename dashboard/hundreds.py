"""A group of many allocations, a hundred to a line: what is not as wanted stands out.

In: allocations in the order of their names, and the one word for where each stands. Out: lines of
a few rectangles each, and the exceptions, worst first. Knows no reader.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import msgspec
from django.utils.translation import gettext

from dashboard.labels import label_for
from dashboard.wording import number
from scheduler.structs.allocation import Allocation

#: A group of more is folded; also how many a line has.
A_LINE = 100
#: Exceptions shown one by one; the rest is counted.
MOST_EXCEPTIONS = 24
_SIDE = 10
_AS_WANTED = "running"
#: Worst first.
_RANK = ("failed", "lost", "unknown", "evicted", "stopped", "stopping", "pending", "complete")


class StandingAlloc(msgspec.Struct, frozen=True):
    """One allocation, its place such as `[3]`, and its state."""

    alloc: Allocation
    place: str
    state: str


class ApartMark(msgspec.Struct, frozen=True):
    """Exceptions of one state that stand side by side."""

    tone: str
    x: int
    width: int


class HundredLine(msgspec.Struct, frozen=True, kw_only=True):
    """A hundred allocations, or the last of them."""

    name: str
    #: Of the rectangle below the marks.
    width: int
    marks: tuple[ApartMark, ...]
    gaps: str
    told: str
    is_as_wanted: bool


class Hundreds(msgspec.Struct, frozen=True, kw_only=True):
    """A folded group."""

    lines: tuple[HundredLine, ...]
    exceptions: tuple[StandingAlloc, ...]
    more: int


def hundreds_of(allocs: Sequence[StandingAlloc]) -> Hundreds | None:
    """The folded group; None where there are so few that each is shown."""
    if len(allocs) <= A_LINE:
        return None
    apart = [each for each in allocs if each.state != _AS_WANTED]
    apart.sort(key=lambda each: _RANK.index(each.state) if each.state in _RANK else -1)
    return Hundreds(
        lines=tuple(
            _line(start, allocs[start : start + A_LINE]) for start in range(0, len(allocs), A_LINE)
        ),
        exceptions=tuple(apart[:MOST_EXCEPTIONS]),
        more=max(len(apart) - MOST_EXCEPTIONS, 0),
    )


def _line(start: int, allocs: Sequence[StandingAlloc]) -> HundredLine:
    first, last = allocs[0].place, allocs[-1].place
    if first == last:
        # One for each node: all have the same place.
        first, last = number(start + 1), number(start + len(allocs))
    counts = Counter(each.state for each in allocs)
    running = counts.pop(_AS_WANTED, 0)
    told = [gettext("{running} running").format(running=number(running))] if running else []
    told += [
        f"{number(count)} {label_for('allocation', state).word}"
        for state, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return HundredLine(
        name=gettext("{first} to {last}").format(first=first, last=last),
        width=_SIDE * len(allocs),
        marks=tuple(_marks(allocs)),
        gaps="".join(f"M{_SIDE * place} 0v14" for place in range(1, len(allocs))),
        told=", ".join(told),
        is_as_wanted=not counts,
    )


def _marks(allocs: Sequence[StandingAlloc]) -> list[ApartMark]:
    marks, at = [], 0
    for state, run in groupby(each.state for each in allocs):
        width = _SIDE * len(list(run))
        if state != _AS_WANTED:
            marks.append(ApartMark(label_for("allocation", state).tone, at, width))
        at += width
    return marks
