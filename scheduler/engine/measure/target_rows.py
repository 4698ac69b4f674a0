"""Compare two targets on all nodes at once, asking once per distinct pair of values.

In: the node table, two targets, an operand. Out: the rows on which it holds. What an operand means
is `operands`' business; whether it is a demand or a wish is the caller's.
"""

import numpy as np

from scheduler.engine.measure.operands import compare
from scheduler.ports import PatternMatcher
from scheduler.state.node_table import Bools, NodeTable
from scheduler.structs.constraint import Affinity, Constraint
from scheduler.structs.node_target import is_literal


def rows_where(
    table: NodeTable, comparison: Constraint | Affinity, matcher: PatternMatcher
) -> Bools:
    """Rows on which `l_target operand r_target` holds; shape (row_count,)."""
    operand, r_target = comparison.operand, comparison.r_target
    left = table.column(comparison.l_target)
    if is_literal(r_target):
        return left.where(
            lambda value: compare(operand, value, r_target, matcher),
            missing=compare(operand, None, r_target, matcher),
        )
    right = table.column(r_target)
    # Codes start at -1, so that one more than either gives every pair a number of its own.
    width = len(right.values) + 1
    pairs = (left.codes + 1).astype(np.int64) * width + (right.codes + 1)
    distinct, pair_of_row = np.unique(pairs, return_inverse=True)
    left_values, right_values = (None, *left.values), (None, *right.values)
    verdicts = np.array(
        [
            compare(operand, left_values[pair // width], right_values[pair % width], matcher)
            for pair in distinct.tolist()
        ],
        dtype=np.bool_,
    )
    holds: Bools = verdicts[pair_of_row]
    return holds
