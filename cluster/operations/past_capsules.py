"""The capsule of an evaluation of the record, as it was decided.

In: a reader, an evaluation that ended. Out: the document, with what the event log has forgotten
named under `Missing`. Secrets of nodes stay here. Deciding it again is `capsules`' business.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from cluster.operations.errors import NotFound
from cluster.store.history import Past
from cluster.store.ports import RecordReader
from scheduler.engine.capsule import Capsule
from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from scheduler.structs.job import Job, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.worker import seed_of

_DECIDED = (EvalStatus.COMPLETE, EvalStatus.FAILED)


def capsule_of(reader: RecordReader, evaluation: Evaluation) -> dict[str, object]:
    """The document of `capsule.md`. Raises NotFound when no scheduler has ended with it."""
    if evaluation.status not in _DECIDED or not evaluation.snapshot_index:
        raise NotFound("eval was not decided by a scheduler")
    past = Past(reader, evaluation.snapshot_index)
    refusals = [
        step
        for step in reader.lifecycle(evaluation.id)
        if step.step is Step.PLAN_ANSWERED and step.nodes
    ]
    capsule = _capsule(reader, past, evaluation, refusals)
    document: dict[str, object] = msgspec.json.decode(msgspec.json.encode(capsule))
    missing = [
        *_forgotten(past, evaluation),
        *_between_attempts(refusals),
        *_never_taken(reader, past, evaluation),
    ]
    return document | {"Missing": missing}


def _capsule(
    reader: RecordReader,
    past: Past,
    evaluation: Evaluation,
    refusals: Iterable[LifecycleStep],
) -> Capsule:
    key = evaluation.job_key
    allocs = [
        alloc
        for alloc in past.rows(Allocation, reader.allocations())
        if alloc.job_key == key or not alloc.is_client_terminal
    ]
    allocs += _counted(reader, past, evaluation)
    evaluations = [
        row
        for row in past.rows(Evaluation, reader.evaluations_by_job(key))
        if row.job_key == key and row.id != evaluation.id
    ]
    deployments = past.rows(Deployment, reader.deployments_by_job(key))
    settings = past.rows(SchedulerSettings, (reader.scheduler_settings(),))
    limited = tuple(
        space for space in past.rows(Namespace, reader.list_all(NAMESPACES)) if space.quota
    )
    return Capsule(
        name=evaluation.id,
        now=evaluation.modify_time,
        seed=seed_of(evaluation.job_key),
        index=past.index,
        scheduler_config=settings[0] if settings else SchedulerSettings(),
        node_pools=tuple(past.rows(NodePool, reader.list_all(NODE_POOLS))),
        namespaces=limited,
        quotas=tuple(past.rows(QuotaSpec, reader.list_all(QUOTAS))) if limited else (),
        nodes=tuple(replace(node, secret_id="") for node in past.rows(Node, reader.nodes())),
        jobs=tuple(_jobs(reader, past, evaluation, allocs)),
        allocations=tuple(allocs),
        deployments=tuple(row for row in deployments if row.job_key == key),
        evaluations=tuple(evaluations),
        evaluation=_as_it_came(past, evaluation),
        reject_nodes=tuple(sorted({node_id for step in refusals for node_id in step.nodes})),
        reject_attempts=len(list(refusals)),
    )


def _as_it_came(past: Past, evaluation: Evaluation) -> Evaluation:
    """The evaluation before its run wrote the outcome on it."""
    before = past.row(evaluation, Evaluation, evaluation.namespace, evaluation.id)
    if before is not None and before.status not in _DECIDED:
        return before
    return evaluation.changed(
        status=EvalStatus.PENDING,
        status_description="",
        failed_task_groups={},
        queued_allocations={},
        plan_annotations=None,
        blocked_eval="",
        next_eval="",
        counted_evals=(),
        nearest={},
    )


def _counted(reader: RecordReader, past: Past, evaluation: Evaluation) -> Iterator[Allocation]:
    """What the run counted though it was not yet in the record, as it was being submitted."""
    for eval_id in evaluation.counted_evals:
        for alloc in _first_placed(reader, past, eval_id):
            yield alloc.changed(
                desired_status=DesiredStatus.RUN, client_status=ClientStatus.PENDING
            )


def _first_placed(reader: RecordReader, past: Past, eval_id: str) -> list[Allocation]:
    """Allocations of an evaluation's first commit after the past: a later one was not out yet."""
    newer = [a for a in reader.allocations_by_eval(eval_id) if a.create_index > past.index]
    first = min((alloc.create_index for alloc in newer), default=0)
    return [alloc for alloc in newer if alloc.create_index == first]


def _jobs(
    reader: RecordReader, past: Past, evaluation: Evaluation, allocs: Iterable[Allocation]
) -> Iterator[Job]:
    """Every version that an allocation names, and the current one of the evaluated job."""
    key = evaluation.job_key
    current = past.row(reader.job(key), Job, *key)
    named: dict[tuple[object, ...], Job] = {}
    for alloc in allocs:
        name = (alloc.job_key, alloc.job_create_index, alloc.job_version)
        job = None if name in named else reader.job_of(alloc)
        if job is not None:
            named[name] = job
    if current is not None:
        named[current.key, current.create_index, current.version] = current
    for job in named.values():
        # A purged job has no current version; a stopped one means the same to a scheduler.
        is_gone = current is None and job.key == key
        yield replace(job, stop=True) if is_gone else job


def _forgotten(past: Past, evaluation: Evaluation) -> Iterator[str]:
    if past.is_trimmed:
        yield f"rows deleted since index {past.index}: the events after it are no longer kept"
    for name in sorted(past.forgotten):
        if name.key == evaluation.id:
            # What its run wrote on it is known, and taken off.
            continue
        yield f"{name.topic} {name.key} has changed since; it is given as it stands now"


def _never_taken(reader: RecordReader, past: Past, evaluation: Evaluation) -> Iterator[str]:
    for eval_id in evaluation.counted_evals:
        answers = [row for row in reader.lifecycle(eval_id) if row.step is Step.PLAN_ANSWERED]
        was_refused = any(row.nodes for row in answers)
        if was_refused or not _first_placed(reader, past, eval_id):
            yield f"what a plan of evaluation {eval_id} was to take and did not get"
        # The run counted their room alone; here they are rows, which quotas count as well.
        space = reader.get(NAMESPACES, evaluation.namespace)
        if space is not None and space.quota:
            yield f"that evaluation {eval_id} took nothing of quota {space.quota} yet"


def _between_attempts(refusals: Iterable[LifecycleStep]) -> Iterator[str]:
    for step in refusals:
        yield f"what others had written before plan {step.plan_id} was refused"
