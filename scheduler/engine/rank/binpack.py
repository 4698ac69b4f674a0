"""The fit score: how full a node gets, or how empty it stays (placement.md 9.1).

In: use with the allocation on it, and capacity. Out: a score of 0 to 1; NaN where a capacity is 0.
"""

import numpy as np

from scheduler.engine.rank.room import Room
from scheduler.state.node_table import Floats, NodeTable
from scheduler.structs.scheduler_settings import SchedulerAlgorithm

NAME = "binpack"
_LARGEST = 18.0
#: With these anchors the raw score runs from 0 to 18, since 10^0 + 10^0 = 2 and 10 + 10 = 20.
_FULL, _EMPTY = 20.0, 2.0


class Fit:
    """The scorer that applies to every row of every group.

    Row and column agree to 1e-12 only: NumPy's powers and those of single numbers differ in their
    last bits.
    """

    name = NAME

    def __init__(self, table: NodeTable, room: Room, algorithm: str) -> None:
        self._table = table
        self._room = room
        self._algorithm = algorithm

    def column(self) -> Floats:
        """The fit by row."""
        table, room = self._table, self._room
        return fit_scores(
            room.cpu_after,
            table.cpu_capacity,
            room.memory_after,
            table.memory_capacity,
            self._algorithm,
        )

    def row(self, row: int) -> float:
        """The fit of one row."""
        table, room = self._table, self._room
        return fit_score(
            float(room.cpu_after[row]),
            float(table.cpu_capacity[row]),
            float(room.memory_after[row]),
            float(table.memory_capacity[row]),
            self._algorithm,
        )

    def after(self, row: int, cpu: float, memory_mb: float) -> float:
        """The fit of one row if so much were used of it."""
        return fit_score(
            cpu,
            float(self._table.cpu_capacity[row]),
            memory_mb,
            float(self._table.memory_capacity[row]),
            self._algorithm,
        )


def fit_scores(
    cpu_after: Floats,
    cpu_capacity: Floats,
    memory_after: Floats,
    memory_capacity: Floats,
    algorithm: str,
) -> Floats:
    """Scores of many nodes, shape of the arguments. The spread algorithm prefers empty nodes."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        free = np.power(10.0, 1.0 - cpu_after / cpu_capacity)
        free += np.power(10.0, 1.0 - memory_after / memory_capacity)
        raw = free - _EMPTY if algorithm == SchedulerAlgorithm.SPREAD else _FULL - free
    scores: Floats = np.clip(raw, 0.0, _LARGEST) / _LARGEST
    return scores


def fit_score(
    cpu_after: float,
    cpu_capacity: float,
    memory_after: float,
    memory_capacity: float,
    algorithm: str,
) -> float:
    """The same for one node."""
    if not (cpu_capacity and memory_capacity):
        return float("nan")
    # Beyond a thousandfold overload the powers vanish; the bound only keeps them from overflowing.
    free: float = 10.0 ** min(1.0 - cpu_after / cpu_capacity, 300.0)
    free += 10.0 ** min(1.0 - memory_after / memory_capacity, 300.0)
    raw = free - _EMPTY if algorithm == SchedulerAlgorithm.SPREAD else _FULL - free
    return min(max(raw, 0.0), _LARGEST) / _LARGEST
