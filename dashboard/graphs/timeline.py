"""Lives side by side on one axis of time, with the idle stretches made short.

In: the stretches of each life (state, from, to), `now`. Out: segments and gaps in percent of the
axis. An hour of waiting between two moments of work would leave nothing of the work to be seen.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

#: Nothing begins or ends for longer than this: the axis is idle there.
IDLE_NS = 1_000_000_000
#: An idle stretch is drawn as wide as this share of all that is not idle, ...
_IDLE_SHARE = 0.2
#: ... and all of them together at most as wide as this many times the rest.
_IDLE_AT_MOST = 1.5
#: What is shorter is drawn as wide as this, percent.
_THINNEST = 0.5
#: A gap this wide, percent, has space for its words.
_SPACE_FOR_WORDS = 7.0


class Stretch(NamedTuple):
    """A state that lasted from one instant to another; `until` is None while it lasts."""

    state: str
    since: int
    until: int | None


class Segment(msgspec.Struct, frozen=True):
    """A stretch on the axis, percent."""

    state: str
    x: float
    width: float
    #: How long it was, ns.
    lasted: int
    is_open: bool = False


class Gap(msgspec.Struct, frozen=True):
    """An idle stretch that is drawn shorter than it was."""

    x: float
    width: float
    lasted: int

    @property
    def middle(self) -> float:
        """Where its words stand."""
        return round(self.x + self.width / 2, 2)

    @property
    def has_words(self) -> bool:
        """Whether there is space to say how long it was."""
        return self.width >= _SPACE_FOR_WORDS


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The axis and, life by life, what stands on it."""

    since: int = 0
    until: int = 0
    lives: tuple[tuple[Segment, ...], ...] = ()
    gaps: tuple[Gap, ...] = ()


def timeline_of(lives: Sequence[Sequence[Stretch]], now: int) -> Timeline:
    """All lives on one axis, from the first instant to the last, or to now while one lasts."""
    closed = [[_closed(stretch, now) for stretch in life] for life in lives]
    instants = sorted({at for life in closed for _, since, until in life for at in (since, until)})
    if not instants:
        return Timeline(lives=tuple(() for _ in lives))
    axis = _Axis(instants)
    return Timeline(
        since=instants[0],
        until=instants[-1],
        lives=tuple(
            tuple(
                axis.segment(stretch, is_open=told.until is None)
                for stretch, told in zip(life, as_told, strict=True)
            )
            for life, as_told in zip(closed, lives, strict=True)
        ),
        gaps=axis.gaps(),
    )


def _closed(stretch: Stretch, now: int) -> tuple[str, int, int]:
    until = now if stretch.until is None else stretch.until
    return stretch.state, stretch.since, max(until, stretch.since)


class _Axis:
    """Where an instant stands: straight within work and within each idle stretch."""

    def __init__(self, instants: Sequence[int]) -> None:
        steps = [(before, after) for before, after in pairwise(instants)]
        self._idle = [step for step in steps if step[1] - step[0] > IDLE_NS]
        busy = sum(after - before for before, after in steps) - sum(_lengths(self._idle))
        each = self._idle_width(busy)
        self._at = {instants[0]: 0.0}
        whole = max(busy + each * len(self._idle), 1)
        reached = 0.0
        for before, after in steps:
            reached += each if after - before > IDLE_NS else after - before
            self._at[after] = 100 * reached / whole

    def _idle_width(self, busy: int) -> float:
        if not self._idle:
            return 0.0
        least = busy or IDLE_NS
        return min(_IDLE_SHARE * least, _IDLE_AT_MOST * least / len(self._idle))

    def segment(self, stretch: tuple[str, int, int], *, is_open: bool) -> Segment:
        state, since, until = stretch
        width = max(self._at[until] - self._at[since], _THINNEST)
        x = min(self._at[since], 100 - width)
        return Segment(state, round(x, 2), round(width, 2), until - since, is_open)

    def gaps(self) -> tuple[Gap, ...]:
        return tuple(
            Gap(
                round(self._at[before], 2),
                round(self._at[after] - self._at[before], 2),
                after - before,
            )
            for before, after in self._idle
        )


def _lengths(steps: Iterable[tuple[int, int]]) -> Iterable[int]:
    return (after - before for before, after in steps)
