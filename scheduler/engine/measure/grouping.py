"""Which rows stand behind each reason, for people who ask about single nodes.

In: rows, a code per row, what the codes mean. Out: rows and node ids by reason.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler.state.node_table import Bools, NodeTable
from scheduler.structs.explanation import RefusedNodes

#: Node ids kept under one reason. The counts are of all.
MOST_LISTED = 1000


def rows_by_code(rows: Bools, codes: NDArray[np.int16]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """(code, rows) of the rows; codes of rows that are not asked for do not matter."""
    if not rows.any():
        return
    for code in np.unique(codes[rows]).tolist():
        yield code, np.flatnonzero(rows & (codes == code))


def listed_ids(table: NodeTable, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """The ids of the first rows, as many as are kept."""
    return tuple(table.node_at(row).id for row in rows[:MOST_LISTED].tolist())


def refused_nodes(
    table: NodeTable,
    rows: Bools,
    codes: NDArray[np.int16],
    reasons: Sequence[str],
    checks: Sequence[str],
) -> tuple[RefusedNodes, ...]:
    """The rows by reason, the most frequent one first."""
    found = [
        RefusedNodes(
            reason=reasons[code],
            count=of_reason.size,
            node_ids=listed_ids(table, of_reason),
            check=checks[code],
        )
        for code, of_reason in rows_by_code(rows, codes)
    ]
    return tuple(sorted(found, key=lambda item: (-item.count, item.reason)))
