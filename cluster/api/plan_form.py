"""The answer to a plan request, and differences of jobs as JSON."""

from datetime import datetime
from typing import Any

from cluster.api.encode import to_plain
from cluster.api.stubs import allocation_stub
from cluster.jobspec.problems import warning_text
from cluster.operations.job_plan import PlannedJob


def plan_form(planned: PlannedJob, *, with_diff: bool, additions: bool) -> dict[str, Any]:
    """JobPlanResponse. `Placements` is ours: where each allocation would go, with its scores."""
    annotations = to_plain(planned.annotations)
    preempted = [allocation_stub(alloc) for alloc in planned.preempted]
    annotations["PreemptedAllocs"] = preempted or None
    failed = {name: to_plain(metric) for name, metric in planned.failed_task_groups.items()}
    created = [to_plain(evaluation) for evaluation in planned.created_evaluations]
    form: dict[str, Any] = {
        "Index": planned.index,
        "Annotations": annotations,
        "FailedTGAllocs": failed or None,
        "JobModifyIndex": planned.job_modify_index,
        "CreatedEvals": created or None,
        "Diff": to_plain(planned.diff) if with_diff else None,
        # In the zone of the job, as the reference writes it.
        "NextPeriodicLaunch": _rfc3339(planned.next_launch),
        "Warnings": warning_text(planned.warnings),
    }
    placements = [to_plain(placement) for placement in planned.placements]
    if placements and additions:
        form["Placements"] = placements
    return form


def _rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
