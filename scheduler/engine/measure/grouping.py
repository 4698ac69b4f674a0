"""Which rows stand behind each reason, for people who ask about single nodes.

In: rows, a code per row, what the codes mean. Out: node ids by reason, the most frequent first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler.state.node_table import Bools, NodeTable


def nodes_by_reason(
    table: NodeTable, rows: Bools, codes: NDArray[np.int16], reasons: Sequence[str]
) -> list[tuple[str, tuple[str, ...]]]:
    """(reason, node ids) of the rows; codes of rows that are not asked for do not matter."""
    found = []
    for code in np.unique(codes[rows]).tolist():
        of_reason = np.flatnonzero(rows & (codes == code)).tolist()
        found.append((reasons[code], tuple(table.node_at(row).id for row in of_reason)))
    return sorted(found, key=lambda item: (-len(item[1]), item[0]))
