"""A strip of launches over time: a mark each, as long as it took, and the next one.

In: instants in ns, spans, words. Out: places in user units (1 unit = 1 px).
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

WIDTH, _LEFT, _RIGHT = 1160.0, 30.0, 46.0
_NARROWEST, _BOX = 5.0, 12.0
_TICKS = 8


class Due(NamedTuple):
    """A launch as the strip shows it."""

    at: int
    #: ran, running, failed, stopped, skipped, missed or next.
    kind: str
    #: The tone of its label.
    tone: str
    took: int
    #: What its tick says.
    word: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One launch, placed on the strip."""

    kind: str
    tone: str
    x: float
    width: float

    @property
    def middle(self) -> float:
        """Where a ring or a lid has its middle."""
        return self.x + self.width / 2


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A word under the axis."""

    x: float
    word: str


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """The whole drawing."""

    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    #: None where now lies outside.
    now_x: float | None


def launch_strip(dues: Sequence[Due], now: int, since: int | None = None) -> Strip:
    """Oldest first; `dues` in any order. Without two different instants all stand at the left.

    `since`: where the axis begins, unless something was due before.
    """
    ordered = sorted(dues)
    if not ordered:
        return Strip(marks=(), ticks=(), now_x=None)
    start, end = ordered[0].at, ordered[-1].at
    if since is not None:
        start = min(start, since)
    scale = (WIDTH - _LEFT - _RIGHT) / (end - start) if end > start else 0.0

    def place(at: int) -> float:
        return round(_LEFT + (at - start) * scale, 1)

    marks = []
    for number, due in enumerate(ordered):
        x = place(due.at)
        following = place(ordered[number + 1].at) if number + 1 < len(ordered) else WIDTH
        # A bar is as long as the launch took, and ends before the next one begins.
        space = max(following - x - 2, _NARROWEST)
        is_box = due.kind in {"missed", "next"}
        width = min(_BOX, space) if is_box else min(max(due.took * scale, _NARROWEST), space)
        marks.append(Mark(kind=due.kind, tone=due.tone, x=x, width=round(width, 1)))
    every = max(-(-len(ordered) // _TICKS), 1)
    ticks = tuple(Tick(x=place(due.at), word=due.word) for due in ordered[::every])
    now_x = place(now) if start <= now <= end and scale else None
    return Strip(marks=tuple(marks), ticks=_apart(ticks), now_x=now_x)


def _apart(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Without words that would touch the one before."""
    kept: list[Tick] = []
    for tick in ticks:
        if not kept or tick.x - kept[-1].x >= 64:
            kept.append(tick)
    return tuple(kept)
