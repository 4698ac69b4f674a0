"""The form of a scorer: one rule of preference, asked for all nodes at once or for one.

`ranking` knows which rules hold for a group and how their scores are put together.
"""

from typing import Protocol

from scheduler.state.node_table import Floats


class Scorer(Protocol):
    """Column and row answer from the same state, bit by bit alike unless a scorer says otherwise.

    What a rule needs beyond the row (the job, the settings, counts) it is given when it is made.
    """

    #: The name under which the score is recorded.
    name: str

    def column(self) -> Floats:
        """The score of every row, shape (row_count,); NaN where the rule does not apply."""

    def row(self, row: int) -> float | None:
        """The score of one row; None where the rule does not apply."""
