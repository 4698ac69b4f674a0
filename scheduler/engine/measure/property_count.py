"""How many allocations of a job hold each value of a node property (placement.md 6.11).

In: the stored allocations, then every proposed change as it is made. Out: counts by value. Used to
keep properties distinct and to spread over them.
"""

from collections import Counter
from collections.abc import Callable

from scheduler.structs.allocation import Allocation

#: The value under which a spread counts everything that is no target of its own.
EVERYTHING_ELSE = "*"


class PropertyCount:
    """Counts by value. `value_of` gives an allocation's value, None where its node has none."""

    def __init__(self, value_of: Callable[[Allocation], str | None]) -> None:
        self._value_of = value_of
        self._existing: Counter[str] = Counter()
        self._proposed: Counter[str] = Counter()
        self._cleared: Counter[str] = Counter()

    def add_existing(self, alloc: Allocation) -> None:
        """Count a stored allocation; terminal ones do not count."""
        if not alloc.is_terminal:
            self._add(self._existing, alloc, 1)

    def add_proposed(self, alloc: Allocation, sign: int) -> None:
        """Count a proposed placement or update, or with sign -1 take it back."""
        if not alloc.is_terminal:
            self._add(self._proposed, alloc, sign)

    def add_cleared(self, alloc: Allocation, sign: int) -> None:
        """Count a proposed stop, of a terminal allocation too, or take it back."""
        self._add(self._cleared, alloc, sign)

    def combined(self) -> dict[str, int]:
        """What each value would hold; a value that everything left stays with 0.

        Where a value is proposed again, one of several stops on it is credited to the new one:
        the reference does so exactly once, and never for a single stop.
        """
        combined = dict(self._existing)
        for value, count in self._proposed.items():
            combined[value] = combined.get(value, 0) + count
        for value, count in self._cleared.items():
            credited = 1 if count > 1 and value in self._proposed else 0
            if value in combined:
                combined[value] = max(0, combined[value] - count + credited)
        return combined

    def _add(self, counts: Counter[str], alloc: Allocation, sign: int) -> None:
        value = self._value_of(alloc)
        if value is not None:
            counts[value] += sign
            if not counts[value]:
                del counts[value]
