"""Spread a group over the values of node attributes (placement.md 9.3).

In: the job's and the group's spreads, the context's live counts. Out: one score per row, which a
placement anywhere may change. `lowest` follows the two-phase rule of placement.md 14.4.
"""

from typing import NamedTuple

import numpy as np

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
    """The spread score of every row for one group, recomputed after any change."""

    def __init__(self, context: EvalContext, job: Job, group: TaskGroup) -> None:
        spreads = (*job.spreads, *group.spreads)
        total_weight = float(sum(spread.weight for spread in spreads))
        # Where job and group name the same attribute, the job's targets hold for both.
        ruling = {spread.attribute: spread for spread in (*group.spreads, *job.spreads)}
        self._counters = [
            _Counter(
                column=context.table.column(spread.attribute),
                used=context.property_count(
                    spread.attribute, job.create_index, group.name, _listed(spread)
                ),
                desired=desired_counts(ruling[spread.attribute], group.count),
                share=ruling[spread.attribute].weight / total_weight if total_weight else 0.0,
            )
            for spread in spreads
        ]
        self._lowest = -1.0

    def scores(self, feasible: Bools) -> Floats:
        """Scores by row. `feasible` rows decide how low a value that is not wanted may score."""
        values = [counter.values() for counter in self._counters]
        for counter, by_code in zip(self._counters, values, strict=True):
            if counter.desired:
                self._follow_lowest(counter, by_code, feasible)
        total = np.zeros(feasible.size)
        for counter, by_code in zip(self._counters, values, strict=True):
            by_code[np.isnan(by_code)] = self._lowest
            total += by_code[counter.column.codes]
        return total

    def _follow_lowest(self, counter: "_Counter", by_code: Floats, feasible: Bools) -> None:
        wanted = counter.wanted_codes()
        reachable = np.zeros(by_code.size, dtype=np.bool_)
        reachable[counter.column.codes[feasible]] = True
        boosts = by_code[wanted & reachable]
        if boosts.size:
            self._lowest = min(self._lowest, float(boosts.min()))


class _Counter(NamedTuple):
    """One spread: the values of its attribute, who holds them, and how many are wanted of each."""

    column: Column
    used: PropertyCount
    #: None for an even spread.
    desired: dict[str, float] | None
    #: This spread's weight as a share of all weights.
    share: float

    def values(self) -> Floats:
        """The score of each code, NaN where none is wanted; last the score of a missing value."""
        combined = self.used.combined()
        if self.desired is None:
            scores = [even_spread_score(combined, value) for value in self.column.values]
        else:
            scores = [self._target_score(combined, value) for value in self.column.values]
        return np.array([*scores, _MISSING])

    def wanted_codes(self) -> Bools:
        """Codes whose score follows from a desired count above 0."""
        assert self.desired is not None, "only asked of spreads with targets"
        desired = self.desired
        wanted = [desired.get(self._key(value), 0.0) > 0 for value in self.column.values]
        return np.array([*wanted, False], dtype=np.bool_)

    def _target_score(self, combined: dict[str, int], value: str) -> float:
        assert self.desired is not None, "only asked of spreads with targets"
        key = self._key(value)
        desired = self.desired.get(key)
        if desired is None:
            return _MISSING
        if desired == 0:
            return float("nan")
        used = combined.get(key, 0) + 1
        return ((desired - used) / desired) * self.share

    def _key(self, value: str) -> str:
        assert self.desired is not None, "only asked of spreads with targets"
        return value if value in self.desired else EVERYTHING_ELSE


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


def even_spread_score(combined: dict[str, int], value: str) -> float:
    """The score of one more allocation on a value, when all values should hold the same."""
    if not combined:
        return 0.0
    used = combined.get(value, 0)
    least, most = min(combined.values()), max(combined.values())
    if used != least:
        return -1.0 if least == 0 else (least - used) / least
    if least == most:
        return -1.0
    return 1.0 if least == 0 else (most - least) / least


def _listed(spread: Spread) -> frozenset[str] | None:
    return frozenset(target.value for target in spread.spread_target) or None
