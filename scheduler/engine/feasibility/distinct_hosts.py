"""No two allocations of the job, or of the group, on one node (placement.md 6.10).

In: the constraints and the context's live counts. Out: rows that are taken. Looked at anew for
every placement.
"""

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility.check import RefusedRows
from scheduler.engine.measure.operands import FALSE_TEXTS
from scheduler.structs.constraint import Constraint, Operand
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup


class DistinctHosts:
    """Rows that hold an allocation the new one must not meet."""

    def __init__(self, context: EvalContext, job: Job, group: TaskGroup) -> None:
        #: Whether the job or the group demands it at all.
        self.is_active = True
        if _is_demanded(job.constraints):
            self._counts = context.group_counts()
        elif _is_demanded(group.constraints):
            self._counts = context.group_counts(group.name)
        else:
            self.is_active = False

    def refusal(self) -> RefusedRows:
        """Rows with such an allocation; to be asked only while it is active."""
        return RefusedRows(self._counts > 0, "distinct_hosts")


def _is_demanded(constraints: tuple[Constraint, ...]) -> bool:
    first = next((c for c in constraints if c.operand == Operand.DISTINCT_HOSTS), None)
    return first is not None and first.r_target not in FALSE_TEXTS
