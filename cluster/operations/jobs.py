"""Register, deregister and re-evaluate jobs: one transaction each, with the evaluation it causes.

In: a store, a canonical job or its name, `now` and a source of ids. Out: facts for the answer, or
`OperationRefused` with nothing written. A dry run is `cluster.operations.job_plan`.
"""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cluster.jobspec.validate import Judgement, judge_job
from cluster.operations.admission import (
    Admitted,
    admit,
    check_enforced_index,
    check_transition,
    keep_what_was,
)
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.job_rights import require_registration
from cluster.operations.rights import require
from cluster.operations.scaling_policies import with_policy_ids
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.foresight import Foresight, JobAct
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import has_same_spec, purge_job, stop_job, write_job
from scheduler.state.writes.stories import version_story
from scheduler.state.writes.transitions import mark_transitions
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredTransition
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobType
from scheduler.structs.policies import ReschedulePolicy
from scheduler.structs.story import StoryKind

DEFAULT_PRIORITY = 50
LOWEST_PRIORITY = 1
HIGHEST_PRIORITY = 100
#: Bytes of a submission (source, flags, variables) that are kept with a job version.
MAX_SUBMISSION = 1_000_000


class JobRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """A request to store a job. `job` is canonical (cluster.jobspec)."""

    job: Job
    #: The text it came as; its names and version are filled in here.
    submission: JobSubmission | None = None
    #: Refuse unless the stored JobModifyIndex is `job_modify_index`; 0: the job must be new.
    enforce_index: bool = False
    job_modify_index: int = 0
    #: 0: the job's own.
    eval_priority: int = 0
    preserve_counts: bool = False
    preserve_resources: bool = False
    #: Warnings about what the request said and `job` cannot, as it has no field for it.
    dropped_fields: tuple[str, ...] = ()
    #: Of the job, by whoever read it where no write waits for that; None: it is judged here.
    judged: Judgement | None = None


class JobWritten(msgspec.Struct, frozen=True, kw_only=True):
    """What a write to a job left behind. `eval_id` is empty when none was made."""

    index: int
    eval_id: str = ""
    eval_create_index: int = 0
    job_modify_index: int = 0
    warnings: tuple[str, ...] = ()


#: Purging or not, what lets a caller take a job away.
_DEREGISTER = {
    True: ("submit-job", "purge-job"),
    False: ("submit-job", "deregister-job", "purge-job"),
}
REGISTRATION_DISABLED = (
    "Job registration, dispatch, and scale are disabled by the scheduler configuration"
)


def register_job(
    store: StateStore, request: JobRegistration, *, by: Caller, now: int, ids: IDSource
) -> JobWritten:
    """Store the job as a new version, or only evaluate it again when nothing changed.

    Periodic and parameterized jobs get no evaluation. Raises `OperationRefused` with every
    problem at once. Managers may register while registration is switched off.
    """
    require_registration(by, request.job, "register-job")
    check_priority(request.eval_priority)
    # Before the transaction, which must be short.
    judged = request.judged or judge_job(request.job)
    eval_id = ids.next_id()

    def work(change: Change) -> JobWritten:
        change.foresee(Foresight(JobAct.REGISTRATION, request.job.key, eval_id))
        admitted = admit(change, request.job, judged)
        return register_in(change, request, admitted, NewIds(eval_id, ids))

    index, written = store.write(WriteKind.JOB_REGISTERED, work, now=now, by=by)
    return replace(written, index=index)


def deregister_job(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    key: JobKey,
    *,
    by: Caller,
    purge: bool = False,
    eval_priority: int = 0,
    no_shutdown_delay: bool = False,
    now: int,
    ids: IDSource,
) -> JobWritten:
    """Stop the job as a new version, or purge it with all it has. An unknown job is no error."""
    require(by, key.namespace, *_DEREGISTER[purge])
    check_priority(eval_priority)
    eval_id = ids.next_id()

    def work(change: Change) -> JobWritten:
        job = change.job(key)
        if job is None:
            return JobWritten(index=0)
        if no_shutdown_delay:
            _skip_shutdown_delay(change, key)
        if purge:
            purge_job(change, key)
        else:
            stopped = stop_job(change, key)
            assert stopped is not None, "it was there"
            version_story(change, stopped, StoryKind.STOP, "job stopped")
        evaluation = _deregister_evaluation(job, eval_id, eval_priority, change, purge=purge)
        return _written(change, evaluation, job_modify_index=change.index)

    index, written = store.write(WriteKind.JOB_DEREGISTERED, work, now=now, by=by)
    return replace(written, index=index)


def evaluate_job(
    store: StateStore,
    key: JobKey,
    *,
    by: Caller,
    force_reschedule: bool = False,
    now: int,
    ids: IDSource,
) -> JobWritten:
    """Look at the job again; `force_reschedule` also replaces its failed allocations now."""
    require(by, key.namespace, "submit-job", "evaluate-job")
    eval_id = ids.next_id()

    def work(change: Change) -> JobWritten:
        job = change.job(key)
        if job is None:
            raise OperationRefused("job not found")
        if job.is_periodic:
            raise OperationRefused("can't evaluate periodic job")
        if job.is_parameterized:
            raise OperationRefused("can't evaluate parameterized job")
        cause = Cause(kind=CauseKind.OPERATOR, id=job.id, text="evaluation asked for")
        evaluation = job_evaluation(job, eval_id, change.now, cause=cause)
        evaluation = evaluation.changed(job_modify_index=job.modify_index)
        forced = _replaceable(change, job) if force_reschedule else ()
        transition = DesiredTransition(force_reschedule=True)
        mark_transitions(change, {alloc.id: transition for alloc in forced}, (evaluation,))
        return JobWritten(
            index=0,
            eval_id=eval_id,
            eval_create_index=change.index,
            job_modify_index=job.modify_index,
        )

    index, written = store.write(WriteKind.EVALUATION_UPDATED, work, now=now, by=by)
    return replace(written, index=index)


def check_priority(eval_priority: int) -> None:
    """Refuse a priority of an evaluation outside 1 to 100; 0 means not given."""
    if eval_priority and not LOWEST_PRIORITY <= eval_priority <= HIGHEST_PRIORITY:
        raise OperationRefused("Eval priority must be between 1 and 100 inclusively")


def submission_size(submission: JobSubmission) -> int:
    """Bytes that count against `MAX_SUBMISSION`."""
    flags = submission.variable_flags
    texts = [submission.source, submission.variables, *flags, *flags.values()]
    return sum(len(text.encode()) for text in texts)


class NewIds(NamedTuple):
    """Identifiers for what a registration makes."""

    eval_id: str
    source: IDSource


def require_registration_enabled(change: Change) -> None:
    """Refuse everyone but managers while registration, dispatch and scaling are switched off."""
    settings = change.scheduler_settings()
    if settings.reject_job_registration and not change.by.access.is_management:
        raise NotAllowed(REGISTRATION_DISABLED)


def register_in(
    change: Change, request: JobRegistration, admitted: Admitted, ids: NewIds
) -> JobWritten:
    """What `register_job` writes, in a transaction that is open already."""
    require_registration_enabled(change)
    stored = change.job(request.job.key)
    job = admitted.job
    if request.enforce_index:
        check_enforced_index(stored, enforced=request.job_modify_index)
    check_transition(stored, job)
    job = with_policy_ids(job, stored, ids.source)
    job = keep_what_was(
        job, stored, counts=request.preserve_counts, resources=request.preserve_resources
    )
    submission, dropped = _kept_submission(request.submission)
    told = (*admitted.warnings, *dropped, *admitted.left_out, *request.dropped_fields)
    if stored is not None and has_same_spec(stored, job):
        evaluation = _register_evaluation(stored, ids.eval_id, change, request.eval_priority)
        written = _written(change, evaluation, job_modify_index=stored.modify_index)
        return replace(written, warnings=told)
    # A tag names the version that it was set on.
    job = write_job(change, replace(job, submit_time=change.now, version_tag=None))
    if submission is not None:
        _put_submission(change, submission, job)
    evaluation = _register_evaluation(job, ids.eval_id, change, request.eval_priority)
    if evaluation is None:
        version_story(change, job, StoryKind.ROLLOUT, f"version {job.version} registered")
    written = _written(change, evaluation, job_modify_index=change.index)
    return replace(written, warnings=told)


def _kept_submission(
    submission: JobSubmission | None,
) -> tuple[JobSubmission | None, tuple[str, ...]]:
    if submission is None or not submission.source:
        return None, ()
    size = submission_size(submission)
    if size <= MAX_SUBMISSION:
        return submission, ()
    warning = (
        f"job source size of {size / 1e6:.1f} MB exceeds maximum of"
        f" {MAX_SUBMISSION / 1e6:.1f} MB and will be discarded"
    )
    return None, (warning,)


def _put_submission(change: Change, submission: JobSubmission, job: Job) -> None:
    change.put(
        JOB_SUBMISSIONS,
        replace(
            submission,
            namespace=job.namespace,
            job_id=job.id,
            version=job.version,
            job_modify_index=job.job_modify_index,
        ),
    )


def _register_evaluation(
    job: Job, eval_id: str, change: Change, eval_priority: int
) -> Evaluation | None:
    if job.is_periodic or job.is_parameterized:
        return None
    text = f"version {job.version} registered"
    cause = Cause(kind=CauseKind.JOB, id=job.id, index=job.job_modify_index, text=text)
    evaluation = job_evaluation(job, eval_id, change.now, cause=cause)
    return evaluation.changed(
        priority=eval_priority or job.priority, job_modify_index=job.job_modify_index
    )


def _deregister_evaluation(
    job: Job, eval_id: str, eval_priority: int, change: Change, *, purge: bool
) -> Evaluation | None:
    if job.is_periodic or job.is_parameterized:
        return None
    text = "job purged" if purge else "job stopped"
    cause = Cause(kind=CauseKind.JOB, id=job.id, index=change.index, text=text)
    return job_evaluation(job, eval_id, change.now, cause=cause).changed(
        # Always the service scheduler, whatever the job was: it only has to stop things.
        type=JobType.SERVICE.value,
        triggered_by=EvalTrigger.JOB_DEREGISTER.value,
        priority=eval_priority or job.priority or DEFAULT_PRIORITY,
        job_modify_index=change.index,
    )


def job_evaluation(job: Job, eval_id: str, now: int, *, cause: Cause) -> Evaluation:
    """A first look at a job, of its type and priority."""
    return Evaluation(
        id=eval_id,
        namespace=job.namespace,
        priority=job.priority,
        type=job.type,
        triggered_by=EvalTrigger.JOB_REGISTER.value,
        job_id=job.id,
        create_time=now,
        modify_time=now,
        cause=cause,
    )


def _written(
    change: Change, evaluation: Evaluation | None, *, job_modify_index: int
) -> JobWritten:
    if evaluation is None:
        return JobWritten(index=0, job_modify_index=job_modify_index)
    write_evaluations(change, (evaluation,))
    return JobWritten(
        index=0,
        eval_id=evaluation.id,
        eval_create_index=change.index,
        job_modify_index=job_modify_index,
    )


def _skip_shutdown_delay(change: Change, key: JobKey) -> None:
    transition = DesiredTransition(no_shutdown_delay=True)
    running = {alloc.id: transition for alloc in change.allocations_by_job(key)}
    mark_transitions(change, running, ())


def _replaceable(change: Change, job: Job) -> list[Allocation]:
    """Failed allocations without a successor whose group may be rescheduled."""
    return [
        alloc
        for alloc in change.allocations_by_job(job.key)
        if alloc.client_status is ClientStatus.FAILED
        and not alloc.next_allocation
        and _may_reschedule(job, alloc.task_group)
    ]


def _may_reschedule(job: Job, group_name: str) -> bool:
    group = job.task_group(group_name)
    policy: ReschedulePolicy | None = None if group is None else group.reschedule_policy
    return policy is not None and (policy.attempts > 0 or policy.unlimited)
