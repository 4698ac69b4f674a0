"""Count rows by a reason and by the class of their nodes, for the metrics of a placement.

In: rows, a code per row, what the codes mean. Out: counts, zeros left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.state.node_table import Bools, NodeTable


class Tally(NamedTuple):
    """How many rows, by reason and by node class; nodes without a class count in `total` only."""

    total: int
    by_reason: dict[str, int]
    by_class: dict[str, int]


def tally(
    table: NodeTable, rows: Bools, codes: NDArray[np.int16], reasons: Sequence[str]
) -> Tally:
    """Count the rows by `reasons[codes[row]]`."""
    if not rows.any():
        return Tally(0, {}, {})
    classes = table.column("${node.class}")
    of_class = classes.codes[rows]
    return Tally(
        int(np.count_nonzero(rows)),
        _named(codes[rows], reasons),
        {name: count for name, count in _named(of_class, classes.values).items() if name},
    )


def _named(codes: NDArray[np.int16] | NDArray[np.int32], names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}
