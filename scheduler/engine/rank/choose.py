"""Which of the scored nodes is best; equals in an order that differs between jobs.

In: final scores, the rows that may be chosen, a seed. Out: rows, best first. Scores
are rounded to 12 places before they are compared, so that the last bits of a floating-point
library decide nothing; NaN ranks last.
"""

from bisect import bisect_left, insort
from collections.abc import Callable
from math import inf, isfinite

import numpy as np

from scheduler.state.node_table import Bools, Floats, Keys

_PLACES = 12
_SCALE = 10.0**_PLACES
#: How many of the best rows are kept in order between two placements.
_KEPT = 64

#: (score with its sign turned, tie key, row): the smallest is the best.
Entry = tuple[float, int, int]
_BEHIND_ALL: Entry = (inf, 2**64, 0)


def tie_keys(keys: Keys, seed: int) -> Keys:
    """A pseudo-random order of the nodes: it depends on their ids and the seed alone."""
    mixed = keys ^ np.uint64(seed & 0xFFFF_FFFF_FFFF_FFFF)
    # The finalizer of SplitMix64: every bit of the input moves half of the output's.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    result: Keys = mixed ^ (mixed >> np.uint64(31))
    return result


def best_entries(scores: Floats, allowed: Bools, keys: Keys, count: int) -> list[Entry]:
    """The best rows among the allowed ones, at most `count`, best first."""
    rows = np.flatnonzero(allowed)
    ranked = -scores[rows]
    ranked[~np.isfinite(ranked)] = inf
    if rows.size > count:
        # Anything within the rounding of the last place may turn out equal to it.
        edge = np.partition(ranked, count - 1)[count - 1] + 1 / _SCALE
        near = ranked <= edge
        rows, ranked = rows[near], ranked[near]
    ranked = np.rint(ranked * _SCALE) / _SCALE
    order = np.lexsort((keys[rows], ranked))[:count]
    return list(
        zip(ranked[order].tolist(), keys[rows[order]].tolist(), rows[order].tolist(), strict=True)
    )


class Leaders:
    """The best rows, kept in order while single scores change, so that nobody looks at all rows.

    Whatever is not kept ranks behind `_edge`; when too few are kept, all rows are looked at again.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._entries: list[Entry] = []
        self._entry_of: dict[int, Entry] = {}
        self._edge: Entry | None = None

    def forget(self) -> None:
        """Look at all rows next time."""
        self._edge = None

    def update(self, row: int, score: float | None) -> None:
        """Note a row's new score; None when it may not be chosen any more."""
        if self._edge is None:
            return
        before = self._entry_of.pop(row, None)
        if before is not None:
            del self._entries[bisect_left(self._entries, before)]
        if score is None:
            return
        entry = (rounded(-score), int(self._keys[row]), row)
        if entry < self._edge:
            insort(self._entries, entry)
            self._entry_of[row] = entry

    def best(self, scores: Callable[[], Floats], allowed: Bools, count: int) -> list[Entry]:
        """The best rows, at most `count`, best first; `scores` is asked only when needed."""
        is_short = len(self._entries) < count and self._edge != _BEHIND_ALL
        if self._edge is None or is_short:
            self._look_at_all(scores(), allowed)
        return self._entries[:count]

    def _look_at_all(self, scores: Floats, allowed: Bools) -> None:
        self._entries = best_entries(scores, allowed, self._keys, _KEPT)
        self._entry_of = {entry[2]: entry for entry in self._entries}
        # With fewer rows than places nothing was left out.
        self._edge = self._entries[-1] if len(self._entries) == _KEPT else _BEHIND_ALL


def entry_of(score: float, key: int, row: int) -> Entry:
    """The entry of one row, for comparing it with others."""
    return (rounded(-score), key, row)


def rounded(score: float) -> float:
    """A score without its last bits, by the same arithmetic as on columns; infinite for NaN."""
    return round(score * _SCALE) / _SCALE if isfinite(score) else inf
