"""The best rows while the scores of whole groups of rows move together, as spreads make them.

In: what each row scores on its own, and which rows share their spread values. Out: rows, best
first. Rows that share their values and the number of scores stand on one shelf: whatever the
spread adds to all of them, their order stays, so only the heads of shelves are compared.
"""

from bisect import bisect_left, insort
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.rank.choose import Entry, entry_of, rounded
from scheduler.state.node_table import Bools, Floats, Keys

#: (sum of scores with its sign turned and rounded, tie key, row)
_Place = tuple[float, int, int]
#: Sum and tie key of a shelf without rows; NaN ranks behind everything.
_EMPTY = (np.nan, np.inf)


class Shelves:
    """Rows by (combination of spread values, number of scores), best first on each shelf."""

    def __init__(
        self,
        sums: Floats,
        appended: Floats,
        allowed: Bools,
        keys: Keys,
        combination: NDArray[np.intp],
    ) -> None:
        self._sums = sums
        self._appended = appended
        self._keys = keys
        self._combination = combination
        self._number_of: dict[tuple[int, int], int] = {}
        self._shelves: list[list[_Place]] = []
        self._place_of: dict[int, tuple[int, _Place]] = {}
        #: Per shelf: sum and tie key of its best row, number of scores, combination.
        self._heads: Floats = np.zeros((4, 16))
        self._fill(np.flatnonzero(allowed))

    def update(self, row: int, *, is_allowed: bool) -> None:
        """Note that a row's sum, its number of scores or its room has changed."""
        before = self._place_of.pop(row, None)
        if before is not None:
            number, place = before
            shelf = self._shelves[number]
            del shelf[bisect_left(shelf, place)]
            self._note_head(number)
        if is_allowed:
            place = (rounded(-float(self._sums[row])), int(self._keys[row]), row)
            number = self._shelf(int(self._combination[row]), int(self._appended[row]))
            insort(self._shelves[number], place)
            self._place_of[row] = (number, place)
            self._note_head(number)

    def best(self, boosts: Floats, count: int) -> list[Entry]:
        """The best rows, at most `count`; `boosts` is what the spread adds, by combination."""
        size = len(self._shelves)
        sums, tie_keys, appended, combinations = self._heads[:, :size]
        boost = boosts[combinations.astype(np.intp)]
        norms = (sums + boost) / (appended + (boost != 0))
        order = np.lexsort((tie_keys, np.rint(-norms * 1e12)))[:count]
        entries: list[Entry] = []
        for number in order.tolist():
            added = float(boost[number])
            divisor = float(appended[number]) + (added != 0)
            entries.extend(
                entry_of((float(self._sums[row]) + added) / divisor, key, row)
                for _, key, row in islice(self._shelves[number], count)
            )
        return sorted(entries)[:count]

    def _fill(self, rows: NDArray[np.intp]) -> None:
        ranked = np.rint(-self._sums[rows] * 1e12) / 1e12
        ranked[~np.isfinite(ranked)] = np.inf
        order = np.lexsort((self._keys[rows], ranked))
        ordered = rows[order]
        for place, combination, appended in zip(
            zip(
                ranked[order].tolist(), self._keys[ordered].tolist(), ordered.tolist(), strict=True
            ),
            self._combination[ordered].tolist(),
            self._appended[ordered].tolist(),
            strict=True,
        ):
            number = self._shelf(combination, int(appended))
            self._shelves[number].append(place)
            self._place_of[place[2]] = (number, place)
        for number in range(len(self._shelves)):
            self._note_head(number)

    def _shelf(self, combination: int, appended: int) -> int:
        number = self._number_of.setdefault((combination, appended), len(self._shelves))
        if number == len(self._shelves):
            self._shelves.append([])
            if number == self._heads.shape[1]:
                self._heads = np.pad(self._heads, ((0, 0), (0, number)))
            self._heads[:, number] = (*_EMPTY, appended, combination)
        return number

    def _note_head(self, number: int) -> None:
        shelf = self._shelves[number]
        if shelf:
            _, key, row = shelf[0]
            self._heads[:2, number] = (self._sums[row], key)
        else:
            self._heads[:2, number] = _EMPTY
