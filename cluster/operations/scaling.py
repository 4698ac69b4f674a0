"""Scale a group of a job, or note why it was not: one transaction each, event included.

In: a store, a job's name, a request, `now` and a source of ids. Out: facts for the answer, or
`OperationRefused` with nothing written (control-plane.md 11.5, doors.md 3).
"""

import msgspec
from msgspec.structs import replace

from cluster.jobspec.cluster_rules import total_count_problem
from cluster.jobspec.quoting import quoted
from cluster.operations.admission import check_enforced_index
from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.jobs import REGISTRATION_DISABLED, JobWritten
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.scaling_nouns import SCALING_EVENTS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.scaling import record_scaling
from scheduler.state.writes.stories import person_of
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import TaskGroup

#: Any one of these lets a caller scale.
SCALE = ("submit-job", "scale-job")


class ScalingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What shall become of a group, or be known about it."""

    task_group: str
    #: Where the payload says the job is; "": it says nothing.
    namespace: str = ""
    #: None: nothing is scaled, the event is kept.
    count: int | None = None
    message: str = ""
    #: The event tells of a failure; such a one has no count.
    error: bool = False
    #: Further facts, for programs.
    meta: dict[str, object] = {}
    #: Refuse unless the stored JobModifyIndex is this; 0: any.
    job_modify_index: int = 0


def scale_job(
    store: StateStore,
    key: JobKey,
    request: ScalingRequest,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
) -> JobWritten:
    """Store a further version with that count, its evaluation and the event, all in one write.

    Without a count the event alone. Periodic and parameterized jobs get no evaluation. Raises
    `OperationRefused`, or `NotFound` for an unknown job.
    """
    require(by, key.namespace, *SCALE)
    eval_id = ids.next_id()

    def work(change: Change) -> JobWritten:
        if change.scheduler_settings().reject_job_registration and not by.access.is_management:
            raise NotAllowed(REGISTRATION_DISABLED)
        _check_request(request, key)
        job = change.job(key)
        if job is None:
            raise NotFound(f"job {quoted(key.job_id)} not found")
        group = job.task_group(request.task_group)
        if group is None:
            raise OperationRefused(
                f"task group {quoted(request.task_group)} specified for scaling does not exist"
                " in job"
            )
        event = _event(change, job, group, request)
        if request.count is None:
            record_scaling(change, event)
            return JobWritten(index=0, job_modify_index=job.modify_index)
        refusal = why_not_scaled(change, job, group, request.count)
        if refusal:
            raise OperationRefused(refusal)
        if request.job_modify_index:
            check_enforced_index(job, enforced=request.job_modify_index)
        return _scaled(change, job, event, eval_id)

    kind = SCALING_EVENTS.upserted if request.count is None else WriteKind.JOB_REGISTERED
    index, written = store.write(kind, work, now=now, by=by)
    return replace(written, index=index)


def why_not_scaled(reader: StateReader, job: Job, group: TaskGroup, count: int) -> str:
    """Why a group may not have that count now, in the words of the refusal; "" when it may."""
    policy = group.scaling
    total = sum(each.count for each in job.task_groups) - group.count + count
    reasons = (
        'jobs of type "system" can only be scaled between 0 and 1'
        if job.type == JobType.SYSTEM and count > 1
        else "",
        f"group count was less than scaling policy minimum: {count} < {policy.min}"
        if policy is not None and count < policy.min
        else "",
        f"group count was greater than scaling policy maximum: {count} > {policy.max}"
        if policy is not None and count > policy.max
        else "",
        total_count_problem(total),
        "job scaling blocked due to active deployment" if is_rolled_out(reader, job) else "",
    )
    return next(filter(None, reasons), "")


def _check_request(request: ScalingRequest, key: JobKey) -> None:
    if not request.task_group:
        raise OperationRefused("missing task group name for scaling action")
    if request.namespace not in {"", key.namespace}:
        raise OperationRefused("namespace in payload did not match header")
    if request.count is None:
        return
    if request.error:
        raise OperationRefused("scaling action should not contain count if error is true")
    if request.count < 0:
        raise OperationRefused("scaling action count can't be negative")


def is_rolled_out(reader: StateReader, job: Job) -> bool:
    """Whether a deployment of this incarnation is under way; it would be cut off."""
    newest = next(iter(reversed(reader.deployments_by_job(job.key))), None)
    return newest is not None and newest.is_active and newest.job_create_index == job.create_index


def _event(change: Change, job: Job, group: TaskGroup, request: ScalingRequest) -> ScalingEvent:
    return ScalingEvent(
        namespace=job.namespace,
        job_id=job.id,
        task_group=group.name,
        time=change.now,
        count=request.count,
        previous_count=group.count,
        message=request.message,
        error=request.error,
        meta=request.meta,
        actor=person_of(change.by),
        create_index=change.index,
    )


def _scaled(change: Change, job: Job, event: ScalingEvent, eval_id: str) -> JobWritten:
    assert event.count is not None, "only a count makes a version"
    groups = tuple(
        replace(group, count=event.count) if group.name == event.task_group else group
        for group in job.task_groups
    )
    # As stable as before: only a count differs.
    scaled = replace(job, task_groups=groups, submit_time=change.now, version_tag=None)
    stored = write_job(change, scaled)
    _keep_submission(change, job, stored)
    written = JobWritten(index=0, job_modify_index=change.index)
    if not (stored.is_periodic or stored.is_parameterized):
        write_evaluations(change, (_evaluation(stored, event, eval_id, change.now),))
        event = replace(event, eval_id=eval_id)
        written = replace(written, eval_id=eval_id, eval_create_index=change.index)
    record_scaling(change, event)
    return written


def _keep_submission(change: Change, before: Job, stored: Job) -> None:
    """The text that the job came as is that of the scaled version too."""
    text = change.get(JOB_SUBMISSIONS, (before.key, before.version))
    if text is not None:
        change.put(
            JOB_SUBMISSIONS,
            replace(text, version=stored.version, job_modify_index=stored.job_modify_index),
        )


def _evaluation(job: Job, event: ScalingEvent, eval_id: str, now: int) -> Evaluation:
    text = f"group {event.task_group} scaled from {event.previous_count} to {event.count}"
    return Evaluation(
        id=eval_id,
        namespace=job.namespace,
        priority=job.priority,
        type=job.type,
        triggered_by=EvalTrigger.JOB_SCALING.value,
        job_id=job.id,
        job_modify_index=job.job_modify_index,
        create_time=now,
        modify_time=now,
        cause=Cause(kind=CauseKind.JOB, id=job.id, index=job.job_modify_index, text=text),
    )
