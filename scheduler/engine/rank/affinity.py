"""Node affinities of the job, the group and its tasks (placement.md 9.2).

In: the node table and affinities. Out: a scorer that applies to every row.
"""

import numpy as np

from scheduler.engine.measure.target_rows import rows_where
from scheduler.ports import PatternMatcher
from scheduler.state.node_table import Floats, NodeTable
from scheduler.structs.constraint import Affinity
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup

NAME = "node-affinity"


def affinities_of(job: Job, group: TaskGroup) -> tuple[Affinity, ...]:
    """Those of the job, then the group, then each task."""
    of_tasks = (affinity for task in group.tasks for affinity in task.affinities)
    return (*job.affinities, *group.affinities, *of_tasks)


class NodeAffinity:
    """The matched share of all weights, -1 to 1; 0 everywhere without affinities."""

    name = NAME

    def __init__(
        self, table: NodeTable, affinities: tuple[Affinity, ...], matcher: PatternMatcher
    ) -> None:
        self._scores: Floats = np.zeros(table.row_count)
        total = sum(abs(float(affinity.weight)) for affinity in affinities)
        if total:
            for affinity in affinities:
                self._scores += rows_where(table, affinity, matcher) * float(affinity.weight)
            self._scores /= total

    def column(self) -> Floats:
        """The share by row. Not to be written to: nodes do not change while a group is placed."""
        return self._scores

    def row(self, row: int) -> float:
        """The share of one row."""
        return float(self._scores[row])
