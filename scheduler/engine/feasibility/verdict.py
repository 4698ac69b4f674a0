"""All checks on all nodes: which rows pass, and the first reason against each of the others.

In: a FeasibilityAsk. Out: a GroupFeasibility. The plan and free room are not looked at.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.feasibility import CLASS_CHECKS, NODE_CHECKS
from scheduler.engine.feasibility.check import FeasibilityAsk, FeasibilityCheck
from scheduler.engine.feasibility.constraints import group_constraints
from scheduler.engine.feasibility.volumes import csi_volume_ids
from scheduler.state.node_table import Bools
from scheduler.structs.computed_class import escapes_class


class GroupFeasibility(NamedTuple):
    """What the checks say of one group. Columns have the shape (row_count,)."""

    #: Index into `reasons`; 0 where every check passes.
    reason_codes: NDArray[np.int16]
    #: The first is "".
    reasons: tuple[str, ...]
    #: The name of the check that gave each reason; "" beside the first.
    checks: tuple[str, ...]
    passes_job: Bools
    #: Rows that pass every check a computed class stands for.
    passes_class: Bools
    job_escapes: bool
    group_escapes: bool
    #: Sorted, as `csi-volume:<namespace>:<id>`.
    missing_resources: tuple[str, ...]

    @property
    def passes(self) -> Bools:
        """Rows that pass every check."""
        passes: Bools = self.reason_codes == 0
        return passes


def judge(ask: FeasibilityAsk) -> GroupFeasibility:
    """Run every check in order; the first refusal of a row names its reason."""
    codes = np.zeros(ask.table.row_count, dtype=np.int16)
    # By reason, the check that gave it first.
    reasons = {"": ""}
    job_check, *group_checks = CLASS_CHECKS
    _refuse(codes, reasons, [job_check], ask)
    passes_job: Bools = codes == 0
    _refuse(codes, reasons, group_checks, ask)
    passes_class: Bools = codes == 0
    _refuse(codes, reasons, list(NODE_CHECKS), ask)
    volumes = csi_volume_ids(ask.group, ask.alloc_name)
    return GroupFeasibility(
        reason_codes=codes,
        reasons=tuple(reasons),
        checks=tuple(reasons.values()),
        passes_job=passes_job,
        passes_class=passes_class,
        job_escapes=any(escapes_class(c.l_target, c.r_target) for c in ask.job.constraints),
        group_escapes=bool(volumes)
        or any(escapes_class(c.l_target, c.r_target) for c in group_constraints(ask.group)),
        missing_resources=tuple(f"csi-volume:{ask.job.namespace}:{volume}" for volume in volumes),
    )


def _refuse(
    codes: NDArray[np.int16],
    reasons: dict[str, str],
    checks: list[FeasibilityCheck],
    ask: FeasibilityAsk,
) -> None:
    for check in checks:
        for refusal in check.refusals(ask):
            refused = refusal.rows & (codes == 0)
            if refused.any():
                reasons.setdefault(refusal.reason, check.name)
                codes[refused] = list(reasons).index(refusal.reason)
