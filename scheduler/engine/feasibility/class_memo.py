"""What the checks say of each computed class, for evaluations that wait (placement.md 5).

In: verdicts, and the rows they were asked about. Out: classes that could take a group and classes
that could not. All nodes are looked at, so nothing is skipped by class; only the export is needed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from scheduler.engine.feasibility.verdict import Verdict
from scheduler.state.node_table import Bools, NodeTable


class Seen(NamedTuple):
    """A group's verdict and the rows that were looked at."""

    verdict: Verdict
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
    looked_at = set(column.codes[rows].tolist())
    passed = set(column.codes[passing].tolist())
    return {column.values[code]: code in passed for code in looked_at}


def _merge(into: dict[str, bool], more: dict[str, bool]) -> None:
    for name, is_eligible in more.items():
        into[name] = into.get(name, False) or is_eligible
