"""Counts since a beginning, and within the last minute, five minutes and hour.

In: what happened, and now and then the time. Out: sums over stretches. Costs one addition for what
happened, and at each mark one copy of the totals; how much happened does not matter.
"""

from collections import deque
from collections.abc import Mapping

from scheduler.structs.counted import CountedTime

#: In a stretch.
_MARKS = 60


class SlidingCounts:
    """Mutable: `add` what happens, `mark` once a second or so."""

    def __init__(self, *stretches: int) -> None:
        self._totals: dict[str, float] = {}
        self._marks: dict[int, deque[tuple[float, Mapping[str, float]]]] = {
            stretch: deque() for stretch in stretches
        }

    def add(self, word: str, amount: float = 1) -> None:
        """It happened once, or took so long."""
        self._totals[word] = self._totals.get(word, 0) + amount

    def mark(self, monotonic: float) -> None:
        """Remember how far the totals are; nothing is known of the time before the first mark."""
        for stretch, marks in self._marks.items():
            if not marks or monotonic >= marks[-1][0] + stretch / _MARKS:
                marks.append((monotonic, dict(self._totals)))
            # The oldest mark stays until the next one is as old as the stretch.
            while len(marks) > 1 and marks[1][0] <= monotonic - stretch:
                marks.popleft()

    def told(self, monotonic: float) -> tuple[CountedTime, ...]:
        """Each stretch, the shortest first; words that were not counted in it are left out."""
        return tuple(self._within(stretch, monotonic) for stretch in self._marks)

    def _within(self, stretch: int, monotonic: float) -> CountedTime:
        marks = self._marks[stretch]
        if not marks:
            return CountedTime(stretch=stretch, seconds=0.0)
        since, before = marks[0]
        differ = {word: total - before.get(word, 0) for word, total in self._totals.items()}
        return CountedTime(
            stretch=stretch,
            seconds=monotonic - since,
            counts={word: count for word, count in differ.items() if count},
        )
