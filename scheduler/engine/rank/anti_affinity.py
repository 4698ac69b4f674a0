"""Keep allocations of one group apart (placement.md 9.2)."""

import numpy as np

from scheduler.state.node_table import Floats

NAME = "job-anti-affinity"


class AntiAffinity:
    """A malus for nodes that hold allocations of the group already; it applies to no others.

    `same_group` is the live count of each row, shape (row_count,); `group_count` is how many the
    group wants, at least 1.
    """

    name = NAME

    def __init__(self, same_group: Floats, group_count: int) -> None:
        self._same_group = same_group
        self._group_count = group_count

    def column(self) -> Floats:
        """The malus by row; NaN where none of the group is."""
        held = self._same_group
        return np.where(held > 0, -(held + 1.0) / self._group_count, np.nan)

    def row(self, row: int) -> float | None:
        """The malus of one row; None when none of the group is there."""
        held = float(self._same_group[row])
        return -(held + 1) / self._group_count if held > 0 else None
