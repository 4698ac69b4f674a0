"""What a core run asks to be deleted, in parts of bounded size, and the write that does it.

In: what a look found. Out: `Reap`s, and for an open change the deletions, each asked for again:
whatever came to life since is left out, so a part that comes twice does no harm.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from scheduler.collection import rules
from scheduler.collection.looks import Look
from scheduler.messages import Reap, Reaped
from scheduler.ports import Change, IDSource
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.nouns import ACL_TOKENS
from scheduler.state.writes.evaluations import collect, write_evaluations
from scheduler.state.writes.jobs import purge_job
from scheduler.state.writes.node_evaluations import node_evaluations
from scheduler.state.writes.nodes import delete_node
from scheduler.state.writes.stories import newest_story_of_node
from scheduler.structs.allocation import Allocation
from scheduler.structs.collection import Collection
from scheduler.structs.identity import JobKey

Item = TypeVar("Item")

#: The largest parts of the reference, which no reap exceeds: ids in all, and jobs.
MOST_IDS = 7281
MOST_JOBS = 2048
#: Parts as they are made here. A write holds up every other, so it deletes no more than what
#: takes some tens of milliseconds; each of these takes along other rows.
IDS_AT_ONCE = 256
JOBS_AT_ONCE = 64
NODES_AT_ONCE = 32


def parts(look: Look, asked: Reap) -> Iterator[Reap]:
    """What a look found, as changes of `asked`: allocations fill a part before evaluations do."""
    allocations, evaluations = [*look.allocations], [*look.evaluations]
    while allocations or evaluations:
        some, allocations = allocations[:IDS_AT_ONCE], allocations[IDS_AT_ONCE:]
        room = IDS_AT_ONCE - len(some)
        more, evaluations = evaluations[:room], evaluations[room:]
        yield replace(asked, allocations=tuple(some), evaluations=tuple(more))
    for jobs in _cut(look.jobs, JOBS_AT_ONCE):
        yield replace(asked, jobs=jobs)
    for deployments in _cut(look.deployments, IDS_AT_ONCE):
        yield replace(asked, deployments=deployments)
    for nodes in _cut(look.nodes, NODES_AT_ONCE):
        yield replace(asked, nodes=nodes)
    for tokens in _cut(look.tokens, IDS_AT_ONCE):
        yield replace(asked, tokens=tokens)


def _cut(items: Sequence[Item], size: int) -> Iterator[tuple[Item, ...]]:
    return (tuple(items[start : start + size]) for start in range(0, len(items), size))


def is_too_large(reap: Reap) -> bool:
    """Whether one write may not do so much."""
    ids = (reap.allocations, reap.evaluations, reap.deployments, reap.nodes, reap.tokens)
    return sum(map(len, ids)) > MOST_IDS or len(reap.jobs) > MOST_JOBS


def write_reaped(change: Change, reap: Reap, ids: IDSource) -> Reaped:
    """Delete what still may go, and count it; a node's end is news for the jobs that were on it.

    Allocations go first: an evaluation goes only when none of it is left.
    """
    reaped = Reaped(
        allocations=_reap_allocations(change, reap),
        evaluations=_reap_evaluations(change, reap),
        jobs=sum(_reap_job(change, reap, key) for key in reap.jobs),
        deployments=sum(_reap_deployment(change, reap, each) for each in reap.deployments),
        nodes=sum(_reap_node(change, reap, node_id, ids) for node_id in reap.nodes),
        tokens=sum(_reap_token(change, reap, accessor) for accessor in reap.tokens),
    )
    if reaped.count:
        row = _row_of(change, reap.core_job, reap.started_at)
        counts = {name: getattr(row, name) + getattr(reaped, name) for name in _COUNTED}
        _put(change, replace(row, **counts))
    return reaped


def write_ended(change: Change, core_job: str, started_at: int) -> None:
    """Note that a run has ended, also one that found nothing."""
    _put(change, replace(_row_of(change, core_job, started_at), ended_at=change.now))


def write_demanded(change: Change, core_job: str) -> None:
    """Note that somebody asks for a run."""
    row = change.get(COLLECTIONS, core_job) or Collection(name=core_job)
    _put(change, replace(row, demanded_at=change.now))


_COUNTED = ("allocations", "evaluations", "jobs", "deployments", "nodes", "tokens")


def _row_of(change: Change, core_job: str, started_at: int) -> Collection:
    row = change.get(COLLECTIONS, core_job)
    if row is not None and row.started_at == started_at:
        return row
    return Collection(
        name=core_job,
        demanded_at=row.demanded_at if row else 0,
        started_at=started_at,
        create_index=row.create_index if row else 0,
    )


def _put(change: Change, row: Collection) -> None:
    index = change.index
    change.put(
        COLLECTIONS, replace(row, create_index=row.create_index or index, modify_index=index)
    )


def _reap_allocations(change: Change, reap: Reap) -> int:
    change.preload(allocs=reap.allocations)
    found = (change.allocation(alloc_id) for alloc_id in reap.allocations)
    gone = [alloc.id for alloc in found if alloc is not None and _may_go(change, alloc, reap)]
    collect(change, (), gone)
    return len(gone)


def _may_go(change: Change, alloc: Allocation, reap: Reap) -> bool:
    evaluation = change.evaluation(alloc.eval_id)
    eval_type = evaluation.type if evaluation is not None else alloc.job_type
    old = reap.cutoffs
    return rules.is_garbage_of(
        alloc,
        eval_type,
        change.job(alloc.job_key),
        cutoff=old.job if reap.with_jobs else old.of_evaluation(eval_type),
        now=old.now,
        with_batch=reap.with_jobs,
    )


def _reap_evaluations(change: Change, reap: Reap) -> int:
    found = [change.evaluation(eval_id) for eval_id in reap.evaluations]
    gone = [
        row.id
        for row in found
        if row is not None and row.is_terminal and not change.allocations_by_eval(row.id)
    ]
    collect(change, gone, ())
    return len(gone)


def _reap_job(change: Change, reap: Reap, key: JobKey) -> bool:
    job = change.job(key)
    if job is None or not rules.may_be_purged(change, job, cutoff=reap.cutoffs.job):
        return False
    is_empty = not change.evaluation_ids(key, 1, only_open=False)
    if not is_empty or change.allocation_ids(key, 1):
        return False
    return purge_job(change, key) is not None


def _reap_deployment(change: Change, reap: Reap, deployment_id: str) -> bool:
    row = change.deployment(deployment_id)
    if row is None or not rules.is_garbage_deployment(change, row, cutoff=reap.cutoffs.deployment):
        return False
    change.delete_deployment(deployment_id)
    return True


def _reap_node(change: Change, reap: Reap, node_id: str, ids: IDSource) -> bool:
    node = change.node(node_id)
    if node is None or not rules.is_garbage_node(change, node, cutoff=reap.cutoffs.node):
        return False
    # What its end makes is part of the loss that came before it.
    story = newest_story_of_node(change, node_id)
    evaluations = [
        row.changed(story_id=story) for row in node_evaluations(change, node, ids, now=change.now)
    ]
    delete_node(change, node_id)
    write_evaluations(change, evaluations)
    return True


def _reap_token(change: Change, reap: Reap, accessor: str) -> bool:
    token = change.get(ACL_TOKENS, accessor)
    if token is None or not token.is_expired(reap.cutoffs.token):
        return False
    change.delete(ACL_TOKENS, accessor)
    return True
