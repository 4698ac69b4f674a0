"""Launch children of periodic jobs: when they are due, or because somebody asks.

In: a store, a job's name, `now`, ids, and the leader's fence where a watcher asks. Out: what was
made, or `OperationRefused` with nothing written (control-plane.md 12).
"""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cluster.jobspec.launch_times import due_times, next_due
from cluster.operations.errors import OperationRefused
from cluster.operations.jobs import NewIds, job_evaluation
from cluster.operations.rights import require, require_management
from cluster.operations.scaling_policies import with_own_policies, with_policy_ids
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOBS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import has_same_spec, write_job
from scheduler.state.writes.launches import launches_of, note_launches
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.periodic_launch import (
    LaunchOutcome,
    PastLaunch,
    PeriodicLaunch,
    child_id,
    child_prefix,
    is_credible,
)

SECOND = 1_000_000_000
#: Due for longer, ns, nobody led or the clock was set forward: one launch stands for all.
LATE = 10 * SECOND


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch left behind; without a child when none was due, or none may be made."""

    index: int
    child_id: str = ""
    eval_id: str = ""
    eval_create_index: int = 0


class _Due(NamedTuple):
    """What is to be decided now."""

    launches: PeriodicLaunch
    #: Oldest first; all but the newest were missed.
    times: tuple[int, ...]
    #: One launch, now, for all of them.
    is_late: bool


def launch_due(  # noqa: PLR0913 - who, what, when, and the lease under which
    store: StateStore,
    key: JobKey,
    *,
    by: Caller,
    catches_up: bool = False,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> Launched:
    """Decide the next launch of a job, if it is due: ran, or skipped as the one before still runs.

    What is decided is written in the same transaction, so no launch is ever made twice. With
    `catches_up`, or when it is late, one launch now stands for all that have passed.
    """
    require_management(by)
    means = NewIds(ids.next_id(), ids)

    def work(change: Change) -> Launched:
        job = change.job(key)
        due = None if job is None else _due(change, job, catches_up=catches_up)
        if job is None or due is None:
            return Launched(index=0)
        return _decide(change, job, due, means)

    index, launched = store.write(WriteKind.JOB_LAUNCH_DECIDED, work, now=now, by=by, fence=fence)
    return replace(launched, index=index)


def force_launch(
    store: StateStore, key: JobKey, *, by: Caller, now: int, ids: IDSource
) -> Launched:
    """Launch a child now, beside the schedule, and whatever still runs.

    Asked for twice in one second, the same child is evaluated again.
    """
    require(by, key.namespace, "submit-job", "dispatch-job", "force-periodic-job")
    means = NewIds(ids.next_id(), ids)

    def work(change: Change) -> Launched:
        job = change.job(key)
        if job is None:
            raise OperationRefused("job not found")
        if not job.is_periodic:
            raise OperationRefused("can't force launch non-periodic job")
        if not job.launches_by_time:
            raise OperationRefused(
                f'force launch for job "{job.id}" failed: '
                f'can\'t force run non-tracked job "{job.id}" ({job.namespace})'
            )
        cause = Cause(kind=CauseKind.OPERATOR, id=job.id, text="launch asked for")
        launched = _launch(change, job, change.now, means, cause)
        news = PastLaunch(
            due=change.now,
            outcome=LaunchOutcome.FORCED,
            at=change.now,
            child_id=launched.child_id,
        )
        note_launches(change, launches_of(change, job), (news,), launch=change.now)
        return launched

    index, launched = store.write(WriteKind.JOB_LAUNCH_DECIDED, work, now=now, by=by)
    return replace(launched, index=index)


def running_child(reader: StateReader, job: Job) -> Job | None:
    """A launched child of the job that has not ended, if there is one."""
    children = reader.list_by(JOBS, "live_children", job.key)
    prefix = child_prefix(job.id)
    return next((child for child in children if child.id.startswith(prefix)), None)


def _due(change: Change, job: Job, *, catches_up: bool) -> _Due | None:
    if not job.launches_by_time:
        return None
    launches = launches_of(change, job)
    if not is_credible(launches.decided_to, change.now):
        launch = min(launches.launch, change.now)
        note_launches(change, replace(launches, decided_to=change.now, launch=launch), ())
        return None
    due = next_due(job, launches.decided_to)
    if due is None or due > change.now:
        return None
    if catches_up or change.now - due >= LATE:
        return _Due(launches, due_times(job, launches.decided_to, change.now), is_late=True)
    return _Due(launches, (due,), is_late=False)


def _decide(change: Change, job: Job, due: _Due, ids: NewIds) -> Launched:
    *missed, newest = due.times
    news = [PastLaunch(due=each, outcome=LaunchOutcome.MISSED, at=change.now) for each in missed]
    at = change.now if due.is_late else newest
    launched, launch = Launched(index=0), 0
    running = (
        running_child(change, job) if job.periodic and job.periodic.prohibit_overlap else None
    )
    if running is not None:
        news.append(_news(change, newest, LaunchOutcome.SKIPPED, running.id))
    elif due.is_late and due.launches.launch >= newest:
        # Somebody has launched one by hand since.
        news.append(_news(change, newest, LaunchOutcome.MISSED))
    else:
        launched = _launch(change, job, at, ids, _cause(job, newest, len(missed)))
        launch = at
        news.append(_news(change, newest, LaunchOutcome.RAN, launched.child_id))
    decided_to = change.now if due.is_late else newest
    note_launches(change, replace(due.launches, decided_to=decided_to), news, launch=launch)
    return launched


def _news(change: Change, due: int, outcome: LaunchOutcome, child: str = "") -> PastLaunch:
    return PastLaunch(due=due, outcome=outcome, at=change.now, child_id=child)


def _cause(job: Job, due: int, missed: int) -> Cause:
    text = f"due at {due // SECOND}"
    if missed:
        text += f", and {missed} missed before"
    return Cause(kind=CauseKind.TIMER, id=job.id, text=text)


def _launch(change: Change, job: Job, at: int, ids: NewIds, cause: Cause) -> Launched:
    """Store the child of an instant and the evaluation that starts it."""
    name = child_id(job.id, at)
    child = replace(
        job,
        id=name,
        name=name,
        parent_id=job.id,
        periodic=None,
        status="",
        status_description="",
        # A tag keeps a version from being collected, and names one of the parent's.
        version_tag=None,
        submit_time=change.now,
    )
    stored = change.job(child.key)
    child = with_policy_ids(with_own_policies(child, ids.source), stored, ids.source)
    if stored is None or not has_same_spec(stored, child):
        stored = write_job(change, child)
    evaluation = job_evaluation(stored, ids.eval_id, change.now, cause=cause).changed(
        triggered_by=EvalTrigger.PERIODIC_JOB.value, job_modify_index=stored.job_modify_index
    )
    write_evaluations(change, (evaluation,))
    return Launched(index=0, child_id=name, eval_id=ids.eval_id, eval_create_index=change.index)
