"""Spread a group over the values of node attributes (placement.md 9.3).

In: the job's and the group's spreads, the context's live counts. Out: one score per row, which a
placement anywhere may change. `lowest` follows the two-phase rule of placement.md 14.4.
"""

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.context import EvalContext
from scheduler.engine.measure.property_count import EVERYTHING_ELSE, PropertyCount
from scheduler.state.node_table import Bools, Column, Floats
from scheduler.structs.constraint import Spread
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup

NAME = "allocation-spread"
_MISSING = -1.0
#: A remainder of desired counts below this is a rounding error, not a wish.
_NEGLIGIBLE = 1e-9


class SpreadScores:
    """The spread scores of one group. Rows with the same values of all attributes share theirs."""

    name = NAME

    def __init__(self, context: EvalContext, job: Job, group: TaskGroup) -> None:
        spreads = (*job.spreads, *group.spreads)
        total_weight = float(sum(spread.weight for spread in spreads))
        # Where job and group name the same attribute, the job's targets hold for both.
        ruling = {spread.attribute: spread for spread in (*group.spreads, *job.spreads)}
        self._counters = [
            _Counter(
                context.table.column(spread.attribute),
                context.property_count(
                    spread.attribute, job.create_index, group.name, _listed(spread)
                ),
                desired_counts(ruling[spread.attribute], group.count),
                ruling[spread.attribute].weight / total_weight if total_weight else 0.0,
            )
            for spread in spreads
        ]
        codes = np.stack([counter.codes for counter in self._counters])
        #: The combination of values that each row has; shape (row_count,).
        self.combination, first_rows = _combinations(codes)
        self._codes_of: NDArray[np.int32] = codes[:, first_rows]
        self._lowest = -1.0
        #: Scores by combination, as of the last refresh; 0 has no say.
        self.boosts: Floats = np.zeros(self._codes_of.shape[1])

    def column(self) -> Floats:
        """The score by row; NaN where it is 0."""
        scores = self.boosts[self.combination]
        return np.where(scores != 0, scores, np.nan)

    def row(self, row: int) -> float | None:
        """The score of one row; None for 0."""
        return float(self.boosts[self.combination[row]]) or None

    def refresh(self, feasible: Bools) -> None:
        """Count anew. `feasible` rows decide how low an unwanted value may score."""
        total = np.zeros(self._codes_of.shape[1])
        scores = [counter.scores() for counter in self._counters]
        for counter, by_code in zip(self._counters, scores, strict=True):
            if counter.has_unwanted:
                self._lowest = min(self._lowest, counter.least(by_code, feasible))
        for counter, by_code, codes in zip(self._counters, scores, self._codes_of, strict=True):
            if counter.has_unwanted:
                by_code[np.isnan(by_code)] = self._lowest
            total += by_code[codes]
        self.boosts = total


class _Counter:
    """One spread: the values of its attribute, who holds them, and how many are wanted of each.

    `desired` is None for an even spread; `share` is its weight as a part of all weights.
    """

    def __init__(
        self, column: Column, used: PropertyCount, desired: dict[str, float] | None, share: float
    ) -> None:
        self.codes = column.codes
        self._used = used
        self._desired = desired
        self._share = share
        self._code_of = {value: code for code, value in enumerate(column.values)}
        self.has_unwanted = desired is not None and 0 in desired.values()
        #: Targets of their own are counted under their name, all other values under `*`.
        self._keys = [
            value if desired is None or value in desired else EVERYTHING_ELSE
            for value in column.values
        ]

    def scores(self) -> Floats:
        """The score of each code, NaN where none is wanted; last the score of a missing value."""
        combined = self._used.combined()
        if self._desired is None:
            return self._even_scores(combined)
        by_key = {
            key: self._target_score(combined, key) for key in (*self._desired, EVERYTHING_ELSE)
        }
        return np.array([*(by_key[key] for key in self._keys), _MISSING])

    def least(self, by_code: Floats, feasible: Bools) -> float:
        """The least score among wanted values that some feasible row has; infinite for none."""
        reachable = np.zeros(by_code.size, dtype=np.bool_)
        reachable[self.codes[feasible]] = True
        wanted = [*((self._desired or {}).get(key, 0.0) > 0 for key in self._keys), False]
        found = by_code[reachable & np.array(wanted)]
        return float(found.min()) if found.size else float("inf")

    def _even_scores(self, combined: dict[str, int]) -> Floats:
        if not combined:
            return np.array([*([0.0] * len(self._keys)), _MISSING])
        counts = {0, *combined.values()}
        least, most = min(combined.values()), max(combined.values())
        # Few counts differ, so each is judged once.
        by_count = {count: even_spread_score(count, least, most) for count in counts}
        scores = [by_count[0]] * len(self._keys)
        for value, count in combined.items():
            scores[self._code_of[value]] = by_count[count]
        return np.array([*scores, _MISSING])

    def _target_score(self, combined: dict[str, int], key: str) -> float:
        assert self._desired is not None, "only asked of spreads with targets"
        desired = self._desired.get(key)
        if desired is None:
            return _MISSING
        if desired == 0:
            return float("nan")
        return ((desired - (combined.get(key, 0) + 1)) / desired) * self._share


def desired_counts(spread: Spread, count: int) -> dict[str, float] | None:
    """How many allocations are wanted on each value; None when they are to be even.

    What the targets leave over goes to `*`, in place of a target of that name.
    """
    if not spread.spread_target:
        return None
    desired: dict[str, float] = {}
    total = 0.0
    for target in spread.spread_target:
        wanted = (float(target.percent) / 100) * float(count)
        desired[target.value] = wanted
        total += wanted
    if 0 < total < count - _NEGLIGIBLE:
        desired[EVERYTHING_ELSE] = count - total
    return desired


def even_spread_score(used: int, least: int, most: int) -> float:
    """The score of one more allocation on a value that holds `used`, when all should hold alike.

    `least` and `most` are what any value holds that was ever used.
    """
    if used != least:
        return -1.0 if least == 0 else (least - used) / least
    if least == most:
        return -1.0
    return 1.0 if least == 0 else (most - least) / least


def _combinations(codes: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Per row the number of its combination of codes, and a row of each combination.

    `codes` has one line per attribute, -1 for a missing value.
    """
    of_row = first_rows = np.zeros(codes.shape[1], dtype=np.intp)
    for line in codes:
        # Numbers of pairs are sorted many times faster than columns of codes.
        pairs = of_row * (int(line.max(initial=-1)) + 2) + line + 1
        _, first_rows, of_row = np.unique(pairs, return_index=True, return_inverse=True)
    return of_row, first_rows


def _listed(spread: Spread) -> frozenset[str] | None:
    return frozenset(target.value for target in spread.spread_target) or None
