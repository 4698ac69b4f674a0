"""Rows of jobs: each with the counts of its groups and the one word for how it stands.

In: jobs and a reader. Out: lines in the order of the jobs. Two reads, whatever the number of
allocations.
"""

from collections.abc import Collection, Iterable

import msgspec

from cluster.jobspec.launch_times import next_due
from cluster.notifications.failing import is_failing
from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.launches import kind_told
from scheduler.structs.job import (
    Job,
    JobChildrenSummary,
    JobStatus,
    JobSummary,
    JobType,
    TaskGroupSummary,
)
from scheduler.structs.periodic_launch import PeriodicLaunch
from scheduler.structs.task_group import TaskGroup

#: Rows of one page.
PAGE_SIZE = 100


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many allocations of a job or group are in which state, and how many are wanted."""

    wanted: int = 0
    running: int = 0
    starting: int = 0
    queued: int = 0
    complete: int = 0
    #: Ended because something else was wanted: replaced, moved, scaled down.
    stopped: int = 0
    failed: int = 0
    lost: int = 0
    unknown: int = 0

    @property
    def named(self) -> tuple[tuple[str, str, int, int], ...]:
        """State, word, number and of how many (0: not said) of those not zero, living first."""
        # While versions change more may run than are wanted: no share is told then.
        wanted = self.wanted if self.running <= self.wanted else 0
        rows = (
            ("running", "running", self.running, wanted),
            ("pending", "starting", self.starting, 0),
            ("blocked", "waiting", self.queued, 0),
            ("unknown", "unknown", self.unknown, 0),
            ("complete", "complete", self.complete, 0),
            ("failed", "failed", self.failed, 0),
            ("lost", "lost", self.lost, 0),
            ("stopped", "stopped", self.stopped, 0),
        )
        return tuple(row for row in rows if row[2])

    @property
    def done(self) -> int:
        """Those that do or did what they are for."""
        return self.running + self.complete


class JobLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the list."""

    job: Job
    counts: Counts
    #: Of one that launches others: `periodic, next 03:00 UTC`; "" for others.
    kind: str = ""

    @property
    def status(self) -> str:
        """As labelled: a job that was stopped is not merely finished."""
        return standing_of(self.job, self.counts)

    @property
    def url(self) -> str:
        return job_url(self.job.key)


def counts_of(group: TaskGroupSummary, wanted: int, *, ends: bool = True) -> Counts:
    """The counts of one group. What completes in a job that never `ends` was stopped."""
    return Counts(
        wanted=wanted,
        running=group.running,
        starting=group.starting,
        queued=group.queued,
        complete=group.complete if ends else 0,
        stopped=0 if ends else group.complete,
        failed=group.failed,
        lost=group.lost,
        unknown=group.unknown,
    )


def group_counts(job: Job, summary: JobSummary | None) -> dict[str, Counts]:
    """By group of the job; a stopped job wants none, nor one that only its children run for."""
    stored = summary.summary if summary is not None else {}
    ends = job.type in {JobType.BATCH.value, JobType.SYSBATCH.value}
    counts = {}
    for group in job.task_groups:
        there = stored.get(group.name, TaskGroupSummary())
        counts[group.name] = counts_of(there, _wanted(job, group, there), ends=ends)
    return counts


def _wanted(job: Job, group: TaskGroup, there: TaskGroupSummary) -> int:
    if job.stop or job.is_periodic or job.is_parameterized:
        return 0
    if job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value}:
        # One for each node that fits, which no number of the job says.
        over = there.complete if job.type == JobType.SYSBATCH.value else 0
        return there.running + there.starting + there.queued + there.unknown + over
    return group.count


def total(parts: Iterable[Counts]) -> Counts:
    """Several counts as one, state by state."""
    rows = [msgspec.structs.astuple(part) for part in parts]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    return Counts(**dict(zip(Counts.__struct_fields__, sums, strict=False)))


def status_of(job: Job) -> str:
    """The word for the job's status; what only launches others says that, whatever is stored."""
    if job.stop:
        return "stopped"
    if job.status == JobStatus.DEAD or not (job.is_periodic or job.is_parameterized):
        return job.status
    if job.is_parameterized:
        return "takes-work"
    return "launches" if job.launches_by_time else "off"


def standing_of(job: Job, counts: Counts) -> str:
    """The word for how the job stands: what is stored, unless its counts say otherwise."""
    status = status_of(job)
    # A service does not end by itself: dead, it was given up while somebody still wants it.
    has_ended = status == JobStatus.DEAD and job.type != JobType.SERVICE.value
    if has_ended or status in {"stopped", "launches", "off", "takes-work"}:
        return status
    under_way = counts.starting + counts.queued + counts.unknown
    if is_failing(
        failed=counts.failed, done=counts.done, under_way=under_way, wanted=counts.wanted
    ):
        return "failing"
    if status == JobStatus.RUNNING and counts.wanted and not counts.done:
        return "starting" if counts.starting else "waiting" if counts.queued else status
    return status


def job_lines(reader: RecordReader, jobs: Collection[Job]) -> tuple[JobLine, ...]:
    """The rows of these jobs, in one read."""
    summaries = reader.summaries_among({job.key for job in jobs})
    launches = reader.launches_among({job.key for job in jobs if job.launches_by_time})
    return tuple(
        JobLine(
            job=job,
            counts=total(group_counts(job, summaries.get(job.key)).values()),
            kind=_kind(job, summaries.get(job.key), launches.get(job.key)),
        )
        for job in jobs
    )


def _kind(job: Job, summary: JobSummary | None, launches: PeriodicLaunch | None) -> str:
    if not (job.is_periodic or job.is_parameterized):
        return ""
    decided_to = launches.decided_to if launches is not None else 0
    # Nothing is decided yet: the leader begins when it first sees the job.
    next_at = next_due(job, decided_to) if job.launches_by_time and decided_to else None
    children = summary.children if summary is not None else JobChildrenSummary()
    return kind_told(job, next_at, decided_to, children)
