"""The counts kept beside a job, moved by writes of allocations, evaluations and children.

In: what changed. Out: a summary put, or nothing when no count moves (control-plane.md 13.2, 13.3).
"""

from collections import Counter, defaultdict

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import (
    Job,
    JobChildrenSummary,
    JobStatus,
    JobSummary,
    TaskGroupSummary,
)

_BIN: dict[ClientStatus, str] = {
    ClientStatus.PENDING: "starting",
    ClientStatus.RUNNING: "running",
    ClientStatus.COMPLETE: "complete",
    ClientStatus.FAILED: "failed",
    ClientStatus.LOST: "lost",
    ClientStatus.UNKNOWN: "unknown",
}
#: Ends are counted for good.
_NEVER_LOWERED = frozenset({ClientStatus.COMPLETE, ClientStatus.FAILED})


def prepare_summary(change: Change, job: Job) -> None:
    """Make the summary of a new job; give a changed job's new groups their counts."""
    before = change.get(JOB_SUMMARIES, job.key)
    missing = [
        group.name
        for group in job.task_groups
        if before is None or group.name not in before.summary
    ]
    if before is not None and not missing:
        return
    base = before or JobSummary(job_id=job.id, namespace=job.namespace, create_index=change.index)
    groups = {**base.summary, **{name: TaskGroupSummary() for name in missing}}
    _put(change, replace(base, summary=groups))


def count_queued(change: Change, evaluation: Evaluation) -> None:
    """Take over an evaluation's queued counts; groups unknown to the summary are passed over."""
    summary = change.get(JOB_SUMMARIES, evaluation.job_key)
    if summary is None or not evaluation.queued_allocations:
        return
    groups = dict(summary.summary)
    for name, queued in evaluation.queued_allocations.items():
        if name in groups:
            groups[name] = replace(groups[name], queued=queued)
    if groups != summary.summary:
        _put(change, replace(summary, summary=groups))


def count_allocation(change: Change, before: Allocation | None, after: Allocation) -> None:
    """Move an allocation from the bin of its old client status to that of its new one."""
    if before is not None and before.client_status is after.client_status:
        return
    summary = change.get(JOB_SUMMARIES, after.job_key)
    if summary is None or summary.create_index != after.job_create_index:
        return
    counts = summary.summary.get(after.task_group)
    if counts is None:
        return
    moved = _one_more(counts, after.client_status)
    if before is None:
        moved = replace(moved, queued=max(0, moved.queued - 1))
    elif before.client_status not in _NEVER_LOWERED:
        moved = _one_less(moved, before.client_status)
    _put(change, replace(summary, summary={**summary.summary, after.task_group: moved}))


def uncount_allocation(change: Change, gone: Allocation) -> None:
    """One is collected that its node never said the end of: it is not counted as there."""
    if gone.is_client_terminal:
        return
    summary = change.get(JOB_SUMMARIES, gone.job_key)
    counts = summary.summary.get(gone.task_group) if summary is not None else None
    if summary is None or counts is None or summary.create_index != gone.job_create_index:
        return
    moved = _one_less(counts, gone.client_status)
    _put(change, replace(summary, summary={**summary.summary, gone.task_group: moved}))


def count_child(change: Change, job: Job, before: str, after: str) -> None:
    """Move a child from one status to another in its parent's summary; "" is no status yet."""
    if not job.parent_id or before == after:
        return
    summary = change.get(JOB_SUMMARIES, JobKey(job.namespace, job.parent_id))
    if summary is None:
        return
    counts = {
        "pending": summary.children.pending,
        "running": summary.children.running,
        "dead": summary.children.dead,
    }
    if before in counts:
        counts[before] = max(0, counts[before] - 1)
    if after in counts:
        counts[after] += 1
    _put(change, replace(summary, children=JobChildrenSummary(**counts)))


def recount_summaries(change: Change) -> int:
    """Count the allocations and children that are there; how many summaries that changed.

    What is queued stays: it cannot be told from allocations. Children that were collected are
    counted no longer.
    """
    jobs = change.jobs()
    children: defaultdict[JobKey, Counter[str]] = defaultdict(Counter)
    for job in jobs:
        if job.parent_id:
            children[JobKey(job.namespace, job.parent_id)][job.status] += 1
    return sum(_recount(change, job, children[job.key]) for job in jobs)


def _recount(change: Change, job: Job, statuses: Counter[str]) -> bool:
    before = change.get(JOB_SUMMARIES, job.key)
    base = before or JobSummary(
        job_id=job.id, namespace=job.namespace, create_index=job.create_index
    )
    groups = {
        name: TaskGroupSummary(queued=counts.queued) for name, counts in base.summary.items()
    }
    for group in job.task_groups:
        groups.setdefault(group.name, TaskGroupSummary())
    for alloc in change.allocations_by_job(job.key):
        if alloc.job_create_index == job.create_index and alloc.task_group in groups:
            counts = groups[alloc.task_group]
            groups[alloc.task_group] = _one_more(counts, alloc.client_status)
    children = JobChildrenSummary(
        pending=statuses[JobStatus.PENDING],
        running=statuses[JobStatus.RUNNING],
        dead=statuses[JobStatus.DEAD],
    )
    recounted = replace(base, summary=groups, children=children)
    if recounted == before:
        return False
    _put(change, recounted)
    return True


def _one_more(counts: TaskGroupSummary, status: ClientStatus) -> TaskGroupSummary:
    name = _BIN[status]
    return replace(counts, **{name: _count(counts, name) + 1})


def _one_less(counts: TaskGroupSummary, status: ClientStatus) -> TaskGroupSummary:
    name = _BIN[status]
    return replace(counts, **{name: max(0, _count(counts, name) - 1)})


def _count(counts: TaskGroupSummary, name: str) -> int:
    value: int = getattr(counts, name)
    return value


def _put(change: Change, summary: JobSummary) -> None:
    change.put(JOB_SUMMARIES, replace(summary, modify_index=change.index))
