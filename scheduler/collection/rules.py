"""Which rows nobody needs any more (control-plane.md 4.2 to 4.4).

In: a reader and the instant up to which rows are old. Out: verdicts, asked once when rows are
found and once more when they are deleted. Where to look is for `looks.py`, how to delete for
`reaps.py`.
"""

import msgspec

from scheduler.ports import StateReader
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, JobStatus, JobType
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.policies import ReschedulePolicy

SECOND = 1_000_000_000


class Garbage(msgspec.Struct, frozen=True):
    """What of one evaluation may go: allocations, and perhaps the evaluation itself."""

    takes_evaluation: bool
    allocations: tuple[str, ...] = ()


def is_garbage_allocation(alloc: Allocation, job: Job | None, *, cutoff: int, now: int) -> bool:
    """Whether an allocation is neither running, nor young, nor needed to reschedule its job."""
    if not alloc.is_terminal or alloc.modify_time > cutoff:
        return False
    if alloc.client_status is ClientStatus.RUNNING:
        return False
    if job is None or job.stop or job.status == JobStatus.DEAD:
        return True
    if alloc.desired_status is DesiredStatus.STOP:
        return True
    if alloc.client_status is not ClientStatus.FAILED:
        return True
    return not _is_needed_to_reschedule(alloc, job, now)


def _is_needed_to_reschedule(alloc: Allocation, job: Job, now: int) -> bool:
    group = job.task_group(alloc.task_group)
    policy = group.reschedule_policy if group else None
    if policy is None or not (policy.attempts or policy.unlimited):
        return False
    if alloc.next_allocation:
        return False
    return policy.unlimited or _is_in_interval(alloc, policy, now)


def _is_in_interval(alloc: Allocation, policy: ReschedulePolicy, now: int) -> bool:
    """Its attempts still count; without any attempt it has yet to be rescheduled."""
    tracker = alloc.reschedule_tracker
    if tracker is None or not tracker.events:
        return True
    return now - tracker.events[-1].reschedule_time <= policy.interval


def garbage_of(
    reader: StateReader, evaluation: Evaluation, *, cutoff: int, now: int, with_batch: bool
) -> Garbage:
    """What of an evaluation is garbage.

    `with_batch`: finished batch work may go because its job goes too. Otherwise the newest ended
    allocations of a batch job stay: without them the job would run again.
    """
    if not evaluation.is_terminal or evaluation.modify_time > cutoff:
        return Garbage(takes_evaluation=False)
    allocs = reader.allocations_by_eval(evaluation.id)
    job = reader.job(evaluation.job_key)
    old = tuple(
        alloc.id
        for alloc in allocs
        if is_garbage_of(
            alloc, evaluation.type, job, cutoff=cutoff, now=now, with_batch=with_batch
        )
    )
    return Garbage(len(old) == len(allocs), old)


def is_garbage_of(
    alloc: Allocation,
    eval_type: str,
    job: Job | None,
    *,
    cutoff: int,
    now: int,
    with_batch: bool,
) -> bool:
    """Whether an allocation may go, seen from an evaluation of this type that made it."""
    if eval_type == JobType.BATCH and job is not None:
        is_over = job.status == JobStatus.DEAD and (job.stop or with_batch)
        if not is_over:
            return _is_of_older_version(alloc, job, cutoff)
    return is_garbage_allocation(alloc, job, cutoff=cutoff, now=now)


def _is_of_older_version(alloc: Allocation, job: Job, cutoff: int) -> bool:
    return (
        alloc.is_terminal
        and alloc.modify_time <= cutoff
        and alloc.create_index < job.job_modify_index
    )


def may_be_deleted(reader: StateReader, evaluation: Evaluation) -> bool:
    """Whether a person may delete it, however young: no allocation of it is alive or to move."""
    job = reader.job(evaluation.job_key)
    if job is None or job.stop or job.status == JobStatus.DEAD:
        return True
    return not any(
        _holds_evaluation(alloc, job) for alloc in reader.allocations_by_eval(evaluation.id)
    )


def _holds_evaluation(alloc: Allocation, job: Job) -> bool:
    if alloc.client_status in (ClientStatus.RUNNING, ClientStatus.UNKNOWN):
        return True
    group = job.task_group(alloc.task_group)
    policy = group.reschedule_policy if group else None
    if alloc.client_status is not ClientStatus.FAILED or policy is None:
        return False
    if policy.unlimited:
        return True
    was_moved = alloc.reschedule_tracker is not None and bool(alloc.reschedule_tracker.events)
    return policy.attempts > 0 and not (alloc.next_allocation and was_moved)


def is_garbage_job(reader: StateReader, job: Job, *, cutoff: int) -> bool:
    """Whether a job and everything of it may go: all or nothing."""
    return may_be_purged(reader, job, cutoff=cutoff) and not reader.is_stirring(job.key, cutoff)


def may_be_purged(reader: StateReader, job: Job, *, cutoff: int) -> bool:
    """Whether a job may go once nothing of it is left; a tag on any version keeps it."""
    if job.submit_time > cutoff or not _is_collectable(job):
        return False
    return all(version.version_tag is None for version in reader.job_versions(job.key))


def _is_collectable(job: Job) -> bool:
    if job.is_periodic or job.is_parameterized:
        return job.stop
    ends_by_itself = job.type in (JobType.BATCH, JobType.SYSBATCH)
    return job.status == JobStatus.DEAD and (job.stop or ends_by_itself)


def is_garbage_node(reader: StateReader, node: Node, *, cutoff: int) -> bool:
    """Whether a node has been down for long and holds nothing."""
    return (
        node.status is NodeStatus.DOWN
        and node.status_updated_at * SECOND <= cutoff
        and all(alloc.is_terminal for alloc in reader.allocations_by_node(node.id))
    )


def is_garbage_deployment(reader: StateReader, deployment: Deployment, *, cutoff: int) -> bool:
    """Whether a deployment ended long ago and nothing alive refers to it."""
    return (
        not deployment.is_active
        and deployment.modify_time <= cutoff
        and all(alloc.is_terminal for alloc in reader.allocations_by_deployment(deployment.id))
    )
