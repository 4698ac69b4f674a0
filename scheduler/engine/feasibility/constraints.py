"""Constraints of the job, the group and its tasks.

In: a FeasibilityAsk. Out: one refusal per constraint, under the constraint's own text.
"""

from collections.abc import Iterable, Iterator

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.engine.measure.target_rows import rows_where
from scheduler.structs.constraint import Constraint
from scheduler.structs.task_group import TaskGroup


class JobConstraints:
    """The constraints that hold for every group of the job."""

    name = "job constraints"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """One refusal per constraint, in the order listed."""
        return _refusals(ask, ask.job.constraints)


class GroupConstraints:
    """The constraints of the group, then those of each task."""

    name = "constraints"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """One refusal per constraint, in the order listed."""
        return _refusals(ask, group_constraints(ask.group))


def group_constraints(group: TaskGroup) -> tuple[Constraint, ...]:
    """The constraints of a group, then those of each task."""
    return (
        *group.constraints,
        *(constraint for task in group.tasks for constraint in task.constraints),
    )


def _refusals(ask: FeasibilityAsk, constraints: Iterable[Constraint]) -> Iterator[RefusedRows]:
    for constraint in constraints:
        yield RefusedRows(~rows_where(ask.table, constraint, ask.matcher), constraint.label)
