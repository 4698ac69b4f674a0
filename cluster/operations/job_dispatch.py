"""Dispatch: make a child of a parameterized job, with its payload and metadata.

In: a store, the parent's name, what the child is given, `now` and a source of ids. Out: the name
of the child and its evaluation, or `DispatchRefused` and nothing written (control-plane.md 11.6).
"""

import base64
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from cluster.jobspec.names import name_fault
from cluster.jobspec.problems import Problem
from cluster.jobspec.quoting import quoted
from cluster.operations.errors import OperationRefused
from cluster.operations.jobs import HIGHEST_PRIORITY, job_evaluation, require_registration_enabled
from cluster.operations.rights import require
from cluster.operations.scaling_policies import with_own_policies
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOBS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import write_job
from scheduler.structs.evaluation import Cause, CauseKind
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, ParameterizedJob

#: Bytes of a payload.
MAX_PAYLOAD = 16_384
#: Bytes of one value of metadata; ours, the reference takes any.
LONGEST_META = 65_536
_SECOND = 1_000_000_000


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one child is given."""

    payload: bytes = b""
    #: Laid over the parent's.
    meta: Mapping[str, str] = {}
    #: Stands in the child's id, as it is.
    id_prefix: str = ""
    #: As long as a child with the same token is kept, nothing is dispatched; "": always.
    idempotency_token: str = ""
    #: 0: the parent's.
    priority: int = 0


class JobDispatched(msgspec.Struct, frozen=True, kw_only=True):
    """Which child there is now. `eval_id` is empty when none was made."""

    index: int
    job_id: str
    job_create_index: int
    eval_id: str = ""
    eval_create_index: int = 0
    #: Whether the child was there already, by its token.
    was_there: bool = False


class DispatchRefused(OperationRefused):
    """This cannot be dispatched; `problems` are all of them, with the field each is about.

    Its text is the first one's.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(problems[0].message)


def dispatch_job(
    store: StateStore, key: JobKey, asked: Dispatch, *, by: Caller, now: int, ids: IDSource
) -> JobDispatched:
    """Make a child of the parameterized job, or find the one that has the same token.

    Raises `DispatchRefused`. A child that is periodic launches children itself and gets no
    evaluation.
    """
    require(by, key.namespace, "dispatch-job")
    eval_id = ids.next_id()

    def work(change: Change) -> JobDispatched:
        require_registration_enabled(change)
        problems = list(dispatch_problems(change.job(key), asked))
        if problems:
            raise DispatchRefused(problems)
        parent = change.job(key)
        assert parent is not None, "its absence is a problem"
        there = _with_token(change, key, asked.idempotency_token)
        if there is not None:
            return JobDispatched(
                index=0, job_id=there.id, job_create_index=there.create_index, was_there=True
            )
        return _dispatched(change, parent, asked, eval_id, ids)

    index, dispatched = store.write(WriteKind.JOB_DISPATCHED, work, now=now, by=by)
    return replace(dispatched, index=index)


def dispatch_problems(parent: Job | None, asked: Dispatch) -> Iterator[Problem]:
    """Every reason not to dispatch, in the order in which programs are told the first."""
    if parent is None:
        yield Problem("", "parameterized job not found")
        return
    rules = parent.parameterized_job
    if rules is None or not parent.is_parameterized:
        yield Problem("", f"Specified job {quoted(parent.id)} is not a parameterized job")
        return
    if parent.stop:
        yield Problem("", f"Specified job {quoted(parent.id)} is stopped")
    yield from _payload_problems(rules, asked.payload)
    yield from _meta_problems(rules, asked.meta)
    if asked.priority and not 1 <= asked.priority <= HIGHEST_PRIORITY:
        text = f"dispatch job priority must be between [1, {HIGHEST_PRIORITY}]"
        yield Problem("Priority", text)
    name = child_id(parent.id, asked.id_prefix, now=0, unique="0" * 8)
    if fault := name_fault(name):
        yield Problem("IdPrefixTemplate", f"the id of the child {fault}")
    if fault := name_fault(asked.idempotency_token):
        yield Problem("idempotency_token", f"idempotency_token {fault}")


def child_id(parent_id: str, prefix: str, *, now: int, unique: str) -> str:
    """What a child is called; `unique` are eight hexadecimal digits."""
    named = f"{prefix}-" if prefix else ""
    return f"{parent_id}/dispatch-{named}{now // _SECOND:010}-{unique}"


def _payload_problems(rules: ParameterizedJob, payload: bytes) -> Iterator[Problem]:
    if rules.payload == "required" and not payload:
        yield Problem("Payload", "Payload is not provided but required by parameterized job")
    if rules.payload == "forbidden" and payload:
        yield Problem("Payload", "Payload provided but forbidden by parameterized job")
    if len(payload) > MAX_PAYLOAD:
        text = f"Payload exceeds maximum size; {len(payload)} > {MAX_PAYLOAD}"
        yield Problem("Payload", text)


def _meta_problems(rules: ParameterizedJob, meta: Mapping[str, str]) -> Iterator[Problem]:
    unknown = sorted(set(meta) - {*rules.meta_required, *rules.meta_optional})
    if unknown:
        text = f"Dispatch request included unpermitted metadata keys: [{' '.join(unknown)}]"
        yield Problem("Meta", text)
    missing = sorted(set(rules.meta_required) - set(meta))
    if missing:
        text = f"Dispatch did not provide required meta keys: [{' '.join(missing)}]"
        yield Problem("Meta", text)
    for name, value in sorted(meta.items()):
        # They become variables of processes, which take neither.
        if "\0" in value:
            yield Problem("Meta", f"Meta {name} contains a null character")
        if len(value.encode("utf-8", "replace")) > LONGEST_META:
            yield Problem("Meta", f"Meta {name} is longer than {LONGEST_META} bytes")


def _with_token(reader: StateReader, key: JobKey, token: str) -> Job | None:
    if not token:
        return None
    return next(iter(reader.list_by(JOBS, "dispatch_token", (*key, token))), None)


def _dispatched(
    change: Change, parent: Job, asked: Dispatch, eval_id: str, ids: IDSource
) -> JobDispatched:
    child = with_own_policies(_child(parent, asked, _free_id(change, parent, asked, ids)), ids)
    child = write_job(change, replace(child, submit_time=change.now))
    if child.is_periodic:
        return JobDispatched(index=0, job_id=child.id, job_create_index=child.create_index)
    cause = Cause(
        kind=CauseKind.JOB, id=parent.id, index=change.index, text=f"{child.id} dispatched"
    )
    evaluation = job_evaluation(child, eval_id, change.now, cause=cause)
    write_evaluations(change, (evaluation.changed(job_modify_index=child.job_modify_index),))
    return JobDispatched(
        index=0,
        job_id=child.id,
        job_create_index=child.create_index,
        eval_id=eval_id,
        eval_create_index=change.index,
    )


def _free_id(change: Change, parent: Job, asked: Dispatch, ids: IDSource) -> str:
    """An id that no job has."""
    while True:
        # The last digits: every source that only counts tells its ids apart by them.
        unique = ids.next_id()[-8:]
        name = child_id(parent.id, asked.id_prefix, now=change.now, unique=unique)
        if change.job(JobKey(parent.namespace, name)) is None:
            return name


def _child(parent: Job, asked: Dispatch, name: str) -> Job:
    return replace(
        parent,
        id=name,
        name=name,
        parent_id=parent.id,
        dispatched=True,
        dispatch_idempotency_token=asked.idempotency_token,
        payload=base64.b64encode(asked.payload).decode("ascii"),
        meta={**parent.meta, **asked.meta},
        priority=asked.priority or parent.priority,
        status="",
        status_description="",
        # It names a version of the parent.
        version_tag=None,
    )
