"""Which allocations fill the places that a job's group wants."""

from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.job import Job, JobType


def runs_itself(job: Job) -> bool:
    """Periodic and parameterized jobs run nothing but children."""
    return not (job.is_periodic or job.is_parameterized)


def counts(alloc: Allocation) -> bool:
    """Whether it is one of those that are wanted: one out of reach is replaced by another."""
    return (
        alloc.desired_status is DesiredStatus.RUN
        and not alloc.is_client_terminal
        and alloc.client_status is not ClientStatus.UNKNOWN
    )


def keeps_slot(alloc: Allocation) -> bool:
    """Batch work that the end of a drain stops: nothing is placed for it, it would begin anew."""
    return alloc.job_type == JobType.BATCH and bool(
        alloc.desired_transition.migrate_disable_placement
    )
