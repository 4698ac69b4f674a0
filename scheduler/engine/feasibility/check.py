"""What a check is: given one task group, which rows of the node table it refuses, and why.

A check knows no plan and no free room; the two that look at the plan (distinct_hosts and
distinct_property) have shapes of their own.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from scheduler.ports import PatternMatcher, StateReader
from scheduler.state.node_table import Bools, NodeTable
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup


class FeasibilityAsk(NamedTuple):
    """One task group looking for nodes that could ever run it."""

    table: NodeTable
    job: Job
    group: TaskGroup
    matcher: PatternMatcher
    #: `job.group[index]` where the answer depends on it (volumes per allocation), else "".
    alloc_name: str = ""
    #: Where volumes made on demand are looked up; None: there are none.
    reader: StateReader | None = None


class RefusedRows(NamedTuple):
    """Rows refused for one reason; shape (row_count,). Rows of removed nodes may be in it."""

    rows: Bools
    reason: str


class FeasibilityCheck(Protocol):
    """One stage of feasibility."""

    @property
    def name(self) -> str:
        """What it looks at, for people."""

    def refusals(self, ask: FeasibilityAsk) -> Iterable[RefusedRows]:
        """In the order in which their reasons count; rows may repeat, the first wins."""
