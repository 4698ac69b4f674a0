"""Node affinities of the job, the group and its tasks (placement.md 9.2).

In: the node table and affinities. Out: per row the matched share of all weights, -1 to 1.
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


def affinity_scores(
    table: NodeTable, affinities: tuple[Affinity, ...], matcher: PatternMatcher
) -> Floats:
    """Scores by row; all 0 without affinities."""
    matched = np.zeros(table.row_count)
    total = sum(abs(float(affinity.weight)) for affinity in affinities)
    if not total:
        return matched
    for affinity in affinities:
        matched += rows_where(table, affinity, matcher) * float(affinity.weight)
    scores: Floats = matched / total
    return scores
