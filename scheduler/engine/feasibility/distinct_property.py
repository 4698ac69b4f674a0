"""At most so many allocations for each value of a property (placement.md 6.11).

In: the constraints and the context's live counts. Out: refused rows with the reason. Looked at
anew for every placement.
"""

import re
from collections.abc import Iterator

import numpy as np

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility.check import RefusedRows
from scheduler.engine.measure.property_count import PropertyCount
from scheduler.state.node_table import Column
from scheduler.structs.constraint import Constraint, Operand
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup

_NUMBER = re.compile(r"[0-9]{1,20}", re.ASCII)


class DistinctProperty:
    """Rows whose value is used up: the job's constraints count all groups, the group's its own."""

    def __init__(self, context: EvalContext, job: Job, group: TaskGroup) -> None:
        self._limits = [
            _Limit(context, constraint, job.create_index, group_name)
            for constraints, group_name in (
                (job.constraints, ""),
                (_group_constraints(group), group.name),
            )
            for constraint in constraints
            if constraint.operand == Operand.DISTINCT_PROPERTY
        ]

    @property
    def is_active(self) -> bool:
        """Whether the job or the group demands it at all."""
        return bool(self._limits)

    def refusals(self) -> Iterator[RefusedRows]:
        """In the order listed; rows may repeat, the first wins."""
        for limit in self._limits:
            yield from limit.refusals()


class _Limit:
    """One constraint and the count it limits."""

    def __init__(
        self, context: EvalContext, constraint: Constraint, incarnation: int, group_name: str
    ) -> None:
        self._property = constraint.l_target
        self._column: Column = context.table.column(constraint.l_target)
        self._count: PropertyCount = context.property_count(
            constraint.l_target, incarnation, group_name
        )
        self._wanted = constraint.r_target

    def refusals(self) -> Iterator[RefusedRows]:
        codes = self._column.codes
        if self._wanted and not _NUMBER.fullmatch(self._wanted):
            reason = f'failed to parse distinct_property value "{self._wanted}"'
            yield RefusedRows(np.ones(codes.size, dtype=np.bool_), reason)
            return
        yield RefusedRows(codes < 0, f'missing property "{self._property}"')
        allowed = int(self._wanted or 1)
        code_of = {value: code for code, value in enumerate(self._column.values)}
        for value, used in self._count.combined().items():
            if used >= allowed and value in code_of:
                yield RefusedRows(
                    codes == code_of[value],
                    f"distinct_property: {self._property}={value} used by {used} allocs",
                )


def _group_constraints(group: TaskGroup) -> tuple[Constraint, ...]:
    # Validation refuses it on tasks, so only the group's own are looked at.
    return group.constraints
