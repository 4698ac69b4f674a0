"""Whether a job is pending, running or dead; stored where it changed (control-plane.md 13.1)."""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.ports import Change, StateReader
from scheduler.state.writes.summaries import count_child
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus, JobType


def job_status(reader: StateReader, job: Job, *, lost_an_evaluation: bool = False) -> JobStatus:
    """The status the rows beside a job give it. `lost_an_evaluation`: one was just collected."""
    if job.type == JobType.SYSTEM or job.is_periodic or job.is_parameterized:
        return JobStatus.DEAD if job.stop else JobStatus.RUNNING
    if any(deployment.is_active for deployment in reader.deployments_by_job(job.key)):
        return JobStatus.RUNNING
    if reader.live_allocation_ids(job.key, 1):
        return JobStatus.RUNNING
    if reader.evaluation_ids(job.key, 1, only_open=True):
        return JobStatus.PENDING
    if lost_an_evaluation or job.stop or reader.evaluation_ids(job.key, 1, only_open=False):
        return JobStatus.DEAD
    return JobStatus.PENDING


def refresh_job_status(
    change: Change,
    key: JobKey,
    *,
    is_running: bool = False,
    lost_an_evaluation: bool = False,
) -> None:
    """Store a job's status where it changed; `is_running` when the caller knows it has work.

    Only ModifyIndex moves; the parent's counters follow. A purged job is no mistake.
    """
    job = change.job(key)
    if job is None:
        return
    status = (
        JobStatus.RUNNING
        if is_running
        else job_status(change, job, lost_an_evaluation=lost_an_evaluation)
    )
    if status != job.status:
        change.put_job(replace(job, status=status.value, modify_index=change.index))
        count_child(change, job, job.status, status.value)


def refresh_job_statuses(change: Change, keys: Iterable[JobKey]) -> None:
    """The same for several jobs, each once."""
    for key in dict.fromkeys(keys):
        refresh_job_status(change, key)
