"""Who may rehearse what: whoever may look at what a rehearsal would show.

In: a caller, a scenario. Out: nothing, or `NotAllowed`. Nothing moves: no right to move is asked.
"""

from cluster.operations.job_rights import require_registration
from cluster.operations.rights import require, require_reads
from cluster.rehearsal.scenario import (
    ChangeQuota,
    ChangeSettings,
    DispatchJob,
    RevertJob,
    RunJob,
    ScaleJob,
    Scenario,
    StopJob,
)
from scheduler.access.access import Access
from scheduler.access.caller import Caller


def require_rehearsal(by: Caller, scenario: Scenario) -> None:
    """Refuse unless each change may be asked about."""
    require_reads(by, "node")
    for change in scenario.changes:
        match change:
            case RunJob(job=job):
                require_registration(by, job, "plan-job")
            case StopJob(key=key) | ScaleJob(key=key) | DispatchJob(key=key) | RevertJob(key=key):
                require(by, key.namespace, "read-job")
            case ChangeSettings():
                require_reads(by, "operator")
            case ChangeQuota():
                require_reads(by, "quota")


def may_see_scenario(access: Access, scenario: Scenario) -> bool:
    """Whether the changes themselves may be told: they may hold whole jobs."""
    return access.is_management or all(
        access.allows(change.job.namespace, "read-job")
        if isinstance(change, RunJob)
        else access.allows(change.key.namespace, "read-job")
        for change in scenario.changes
        if isinstance(change, RunJob | StopJob | ScaleJob | DispatchJob | RevertJob)
    )
