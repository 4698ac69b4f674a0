"""The track under a story: its commits as stops, its problems and phases as marks.

In: moments, which of them are problems, where phases begin. Out: what the page draws and the
script moves along. Events are counted, not time, so that quiet hours take no room.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import msgspec

from dashboard.wording import clock_time

#: More stops than this are thinned out; the first, the last and every problem stay.
MOST_STOPS = 400
#: Ticks nearer than this, in percent, lose their words.
_APART = 10.0


class PastMoment(msgspec.Struct, frozen=True):
    """A commit of the past, and when it was."""

    index: int
    at: int


class TrackMark(msgspec.Struct, frozen=True, kw_only=True):
    """A tick or a problem, in percent of the track."""

    x: float
    words: str = ""
    state: str = ""


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """What the page needs of a replay."""

    #: Index and milliseconds of each stop.
    stops: tuple[tuple[int, int], ...]
    position: int
    #: How many events there are in all; more than stops where these are thinned out.
    events: int
    #: Of which so many have happened by then.
    passed: int
    problems: tuple[int, ...]
    marks: tuple[TrackMark, ...]
    first: int
    last: int
    back: int = 0
    on: int = 0
    next_problem: int = 0

    @property
    def is_at_end(self) -> bool:
        """Nothing comes after it."""
        return self.position >= len(self.stops) - 1


def track_of(
    moments: Sequence[PastMoment],
    problems: Mapping[int, str],
    begun: Sequence[tuple[int, str]],
    at: int | None,
) -> Track | None:
    """The track at an index, or at its end; None where nothing happened.

    `problems`: by index, the state that says what happened; `begun`: the index at which each
    phase began, with its word.
    """
    if not moments:
        return None
    kept = _thinned(moments, problems)
    indexes = [moment.index for moment in kept]
    last = len(kept) - 1
    position = last if at is None else max(bisect_right(indexes, at) - 1, 0)
    trouble = [place for place, index in enumerate(indexes) if index in problems]
    following = next(
        (place for place in trouble if place > position), trouble[0] if trouble else -1
    )
    passed = len(moments) if at is None else sum(moment.index <= at for moment in moments)
    return Track(
        stops=tuple((moment.index, moment.at // 1_000_000) for moment in kept),
        position=position,
        events=len(moments),
        passed=passed,
        problems=tuple(trouble),
        marks=(*_ticks(begun, indexes), *_trouble(trouble, indexes, problems)),
        first=moments[0].at,
        last=moments[-1].at,
        back=indexes[max(position - 1, 0)],
        on=indexes[min(position + 1, last)],
        next_problem=indexes[following] if following >= 0 else 0,
    )


def _thinned(moments: Sequence[PastMoment], problems: Mapping[int, str]) -> list[PastMoment]:
    if len(moments) <= MOST_STOPS:
        return list(moments)
    trouble = [moment for moment in moments if moment.index in problems][: MOST_STOPS // 4]
    every = -(-len(moments) // (MOST_STOPS - len(trouble) - 2))
    kept = {moment.index: moment for moment in (*moments[::every], *trouble, moments[-1])}
    return [kept[index] for index in sorted(kept)]


def _share(place: int, indexes: Sequence[int]) -> float:
    return round(100 * place / max(len(indexes) - 1, 1), 2)


def _ticks(begun: Sequence[tuple[int, str]], indexes: Sequence[int]) -> list[TrackMark]:
    ticks: list[TrackMark] = []
    for index, words in begun:
        x = _share(max(bisect_right(indexes, index) - 1, 0), indexes)
        near = any(tick.words and abs(tick.x - x) < _APART for tick in ticks)
        ticks.append(TrackMark(x=x, words="" if near or x > 100 - _APART / 2 else words))
    return ticks


def _trouble(
    trouble: Sequence[int], indexes: Sequence[int], problems: Mapping[int, str]
) -> list[TrackMark]:
    marks: dict[float, TrackMark] = {}
    for place in trouble:
        x = _share(place, indexes)
        # Icons that would lie over each other are one.
        if not any(abs(x - other) < 1.5 for other in marks):
            marks[x] = TrackMark(x=x, state=problems[indexes[place]])
    return list(marks.values())


def times_of(moments: Sequence[PastMoment]) -> list[tuple[int, str]]:
    """Where a story has no phases: when it was, a few times along the track."""
    if not moments:
        return []
    places = sorted({round(part * (len(moments) - 1) / 4) for part in range(4)})
    told: dict[str, int] = {}
    for place in places:
        # Several within one second are one mark.
        told.setdefault(clock_time(moments[place].at), moments[place].index)
    return [(index, words) for words, index in told.items()]
