"""What the checks say of each computed class (placement.md 5).

In: verdicts, and the rows they were asked about. Out: which refusals a class was remembered for,
and, for evaluations that wait, which classes could take a group. Every node is checked all the
same; remembering only decides under which label a refusal is counted.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scheduler.engine.feasibility.verdict import GroupFeasibility
from scheduler.state.node_table import Bools, NodeTable

#: Under this label a refusal is counted whose class was refused by an earlier select.
REMEMBERED = "computed class ineligible"


class ClassMemo:
    """The classes that the selects of one attempt have come across, by job and by group."""

    def __init__(self, table: NodeTable) -> None:
        column = table.class_column()
        self._class_of = column.codes
        self._of_job: Bools = np.zeros(len(column.values), dtype=np.bool_)
        self._of_groups: dict[str, Bools] = {}

    def note(self, group_name: str, verdict: GroupFeasibility, rows: Bools | int) -> None:
        """Remember the classes of rows, or of one row, that a select has just looked at."""
        if not verdict.job_escapes:
            self._of_job[self._class_of[rows]] = True
        if not verdict.group_escapes:
            known = self._of_groups.setdefault(group_name, np.zeros_like(self._of_job))
            if isinstance(rows, int):
                known[self._class_of[rows]] |= verdict.passes_job[rows]
            else:
                known[self._class_of[rows & verdict.passes_job]] = True

    def remembered(self, group_name: str, verdict: GroupFeasibility) -> Bools:
        """Refused rows whose class has been seen; shape (row_count,)."""
        by_job = ~verdict.passes_job & self._of_job[self._class_of]
        known = self._of_groups.get(group_name)
        if known is None:
            return by_job
        refused = verdict.passes_job & ~verdict.passes_class
        remembered: Bools = by_job | (refused & known[self._class_of])
        return remembered


class Seen(NamedTuple):
    """A group's verdict and the rows that were looked at."""

    verdict: GroupFeasibility
    rows: Bools


def class_eligibility(table: NodeTable, seen: Iterable[Seen]) -> dict[str, bool]:
    """Computed class to whether a node of it could take some group of the job.

    A class fit for one group counts as eligible whatever the others say; one that the job's own
    constraints exclude never does. What escapes its class tells nothing and is left out.
    """
    of_groups: dict[str, bool] = {}
    of_job: dict[str, bool] = {}
    for verdict, rows in seen:
        passes_job = rows & verdict.passes_job
        if not verdict.job_escapes:
            _merge(of_job, _by_class(table, rows, passes_job))
        if not verdict.group_escapes:
            _merge(of_groups, _by_class(table, passes_job, passes_job & verdict.passes_class))
    result = dict(of_groups)
    for name, is_eligible in of_job.items():
        if not is_eligible:
            result[name] = False
        else:
            result.setdefault(name, True)
    return result


def _by_class(table: NodeTable, rows: Bools, passing: Bools) -> dict[str, bool]:
    column = table.class_column()
    # A flag for each class: of thousands of nodes there are few.
    looked_at, passed = np.zeros((2, len(column.values)), dtype=np.bool_)
    looked_at[column.codes[rows]] = True
    passed[column.codes[passing]] = True
    return {column.values[code]: bool(passed[code]) for code in np.flatnonzero(looked_at)}


def _merge(into: dict[str, bool], more: dict[str, bool]) -> None:
    for name, is_eligible in more.items():
        into[name] = into.get(name, False) or is_eligible
