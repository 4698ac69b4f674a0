"""Jobs whose failures keep them from what they want: for *Now*, for lists, and for webhooks.

In: a job's face and its counts. Out: how it fails, or None. Knows no reader.
"""

import msgspec

from cluster.store.ports import JobFace
from scheduler.structs.job import JobStatus, JobSummary, JobType

#: So often an allocation is restarted before it counts as one that fails again and again.
RESTARTS = 2


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """A job some of whose allocations fail and are not running again."""

    job: JobFace
    done: int
    wanted: int
    failed: int
    #: Allocations that their nodes have restarted several times, and that do not run now.
    restarting: int = 0


def failing(job: JobFace, summary: JobSummary, restarting: int = 0) -> Failing | None:
    """The job as one that fails; None for one that has ended or has what it wants.

    A service does not end by itself: dead, it was given up while somebody still wants it.

    Of a job of which something runs, only those count that neither start nor wait for room: old
    failures are kept for a while, and a job that grows is no failing one.
    """
    has_ended = job.status == JobStatus.DEAD and job.type != JobType.SERVICE
    if job.is_stopped or has_ended:
        return None
    groups = tuple(summary.summary.values())
    failed = sum(group.failed for group in groups)
    running = sum(group.running for group in groups)
    under_way = sum(group.starting + group.queued + group.unknown for group in groups)
    done = running
    wanted = job.wanted
    if job.type in {JobType.SYSTEM, JobType.SYSBATCH}:
        wanted = running + under_way
    elif job.type == JobType.BATCH:
        done += sum(group.complete for group in groups)
    again = bool(restarting) and done < wanted
    if not again and not is_failing(failed=failed, done=done, under_way=under_way, wanted=wanted):
        return None
    return Failing(job=job, done=done, wanted=wanted, failed=failed, restarting=restarting)


def is_failing(*, failed: int, done: int, under_way: int, wanted: int) -> bool:
    """Whether failures keep a job from what it wants; `under_way`: start or wait for room."""
    if not failed or done >= wanted:
        return False
    return done + under_way < wanted or (not done and failed > 1)
