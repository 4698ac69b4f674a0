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
from dashboard.wording import natural, number
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
    #: Where a list of them begins.
    first: Allocation
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


def rank_of(state: str) -> int:
    """Worst first, what is as wanted last."""
    if state == _AS_WANTED:
        return len(_RANK)
    return _RANK.index(state) if state in _RANK else -1


def exceptions_of(allocs: Sequence[StandingAlloc]) -> list[StandingAlloc]:
    """Those that are not as wanted, worst first."""
    apart = [each for each in allocs if each.state != _AS_WANTED]
    return sorted(apart, key=lambda each: rank_of(each.state))


def by_node(allocs: Sequence[StandingAlloc]) -> list[HundredLine]:
    """A line for each node: those with exceptions first, then those with most."""
    nodes: dict[str, list[StandingAlloc]] = {}
    for each in allocs:
        nodes.setdefault(each.alloc.node_id, []).append(each)
    lines = [_named(here[0].alloc.node_name, here) for here in nodes.values()]
    return sorted(lines, key=lambda line: (line.is_as_wanted, -line.width, natural(line.name)))


def hundreds_of(allocs: Sequence[StandingAlloc], *, by_turn: bool = False) -> Hundreds | None:
    """The folded group; None where there are so few that each is shown.

    `by_turn`: lines are named by which of them they hold, for their order is not that of places.
    """
    if len(allocs) <= A_LINE:
        return None
    apart = exceptions_of(allocs)
    return Hundreds(
        lines=tuple(
            _line(start, allocs[start : start + A_LINE], by_turn=by_turn)
            for start in range(0, len(allocs), A_LINE)
        ),
        exceptions=tuple(apart[:MOST_EXCEPTIONS]),
        more=max(len(apart) - MOST_EXCEPTIONS, 0),
    )


def _line(start: int, allocs: Sequence[StandingAlloc], *, by_turn: bool) -> HundredLine:
    first, last = allocs[0].place, allocs[-1].place
    if by_turn or first == last:
        # One for each node: all have the same place.
        first, last = number(start + 1), number(start + len(allocs))
    return _named(gettext("{first} to {last}").format(first=first, last=last), allocs)


def _named(name: str, allocs: Sequence[StandingAlloc]) -> HundredLine:
    counts = Counter(each.state for each in allocs)
    # A node may hold more than a line has room for; what is said counts them all.
    drawn = allocs[:A_LINE]
    running = counts.pop(_AS_WANTED, 0)
    told = [gettext("{running} running").format(running=number(running))] if running else []
    told += [
        f"{number(count)} {label_for('allocation', state).word}"
        for state, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return HundredLine(
        name=name,
        first=allocs[0].alloc,
        width=_SIDE * len(drawn),
        marks=tuple(_marks(drawn)),
        gaps="".join(f"M{_SIDE * place} 0v14" for place in range(1, len(drawn))),
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
