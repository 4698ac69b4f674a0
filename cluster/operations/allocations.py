"""What becomes of allocations: reports of nodes, stops by operators, drains.

In: a store, reports or ids, `now`, ids. Out: facts for the answer, or `OperationRefused`. Restarts
and signals change no record: they go straight to the agent (`node_calls`).
"""

from collections.abc import Mapping

import msgspec

from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.node_identities import require_proof
from cluster.operations.nodes import make_ready
from cluster.operations.rights import require, require_management
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.transitions import mark_transitions
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredTransition
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeStatus

_REPORTABLE = frozenset(
    {
        ClientStatus.PENDING,
        ClientStatus.RUNNING,
        ClientStatus.COMPLETE,
        ClientStatus.FAILED,
    }
)
_SILENCED = frozenset({NodeStatus.DOWN, NodeStatus.DISCONNECTED})


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one node reports of its allocations."""

    node_id: str
    #: What it proves itself with: its secret or its identity; managers need none.
    secret: str = ""
    allocations: tuple[Allocation, ...]
    #: That is all it has to say, and it asks to be ready by the same write.
    asks_ready: bool = False


class StoppedAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """An allocation was marked; the evaluation replaces it."""

    eval_id: str
    index: int


def report_from_client(
    store: StateStore, reports: tuple[NodeReport, ...], *, by: Caller, now: int, ids: IDSource
) -> tuple[int, tuple[OperationRefused | None, ...]]:
    """Take in reports of several nodes in one write; the answer has a place for each report.

    A report that is refused keeps the others from nothing. A node that came back and asks for it
    is ready by this write: a plan for what was reported would be refused until its next beat.
    """

    def work(change: Change) -> tuple[OperationRefused | None, ...]:
        change.preload(
            allocs=[alloc.id for report in reports for alloc in report.allocations],
            nodes=[report.node_id for report in reports],
        )
        answers = tuple(_refusal(change, report, by) for report in reports)
        pairs = zip(reports, answers, strict=True)
        accepted = [report for report, refusal in pairs if refusal is None]
        told = [
            alloc.changed(node_id=report.node_id)
            for report in accepted
            for alloc in report.allocations
        ]
        if told:
            update_from_client(change, told, ids)
        for report in accepted:
            if report.asks_ready:
                make_ready(change, report.node_id, ids)
        return answers

    return store.write(WriteKind.ALLOCATION_UPDATED, work, now=now, by=by)


def stop_allocation(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    alloc_id: str,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    no_shutdown_delay: bool = False,
    reschedule: bool = False,
) -> StoppedAllocation:
    """Have the scheduler stop the allocation and, where its job wants it, replace it."""

    def work(change: Change) -> str:
        alloc = change.allocation(alloc_id)
        if alloc is None or not by.access.allows(alloc.namespace, "read-job", "alloc-lifecycle"):
            # Whoever may not know of it is not told either.
            raise NotFound("allocation not found")
        require(by, alloc.namespace, "alloc-lifecycle")
        job = change.job(alloc.job_key)
        evaluation = Evaluation(
            id=ids.next_id(),
            namespace=alloc.namespace,
            priority=job.priority if job else alloc.job_priority,
            type=job.type if job else alloc.job_type,
            triggered_by=EvalTrigger.ALLOC_STOP,
            job_id=alloc.job_id,
            job_modify_index=job.modify_index if job else 0,
            create_time=now,
            modify_time=now,
            cause=Cause(kind=CauseKind.OPERATOR, id=alloc.id, text="an allocation was stopped"),
        )
        transition = DesiredTransition(
            migrate=True, no_shutdown_delay=no_shutdown_delay, reschedule=reschedule
        )
        mark_transitions(change, {alloc_id: transition}, [evaluation])
        return evaluation.id

    kind = WriteKind.ALLOCATION_UPDATE_DESIRED_STATUS
    index, eval_id = store.write(kind, work, now=now, by=by)
    return StoppedAllocation(eval_id=eval_id, index=index)


def mark_draining(
    store: StateStore,
    transitions: Mapping[str, DesiredTransition],
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> int:
    """Let allocations leave their draining nodes: one `node-drain` evaluation per job.

    Returns the index of the write. At most 7281 allocations at a time, as the reference has it.
    """
    require_management(by)

    def work(change: Change) -> None:
        known = {
            alloc_id: transition
            for alloc_id, transition in transitions.items()
            if change.allocation(alloc_id) is not None
        }
        first: dict[JobKey, Allocation] = {}
        for alloc_id in known:
            alloc = change.allocation(alloc_id)
            if alloc is not None:
                first.setdefault(alloc.job_key, alloc)
        mark_transitions(
            change, known, [_drain_evaluation(change, alloc, ids) for alloc in first.values()]
        )

    kind = WriteKind.ALLOCATION_UPDATE_DESIRED_STATUS
    index, _ = store.write(kind, work, now=now, by=by, fence=fence)
    return index


def _drain_evaluation(change: Change, alloc: Allocation, ids: IDSource) -> Evaluation:
    job = change.job(alloc.job_key)
    node = change.node(alloc.node_id)
    return Evaluation(
        id=ids.next_id(),
        namespace=alloc.namespace,
        priority=job.priority if job else alloc.job_priority,
        type=job.type if job else alloc.job_type,
        triggered_by=EvalTrigger.NODE_DRAIN,
        job_id=alloc.job_id,
        job_modify_index=job.modify_index if job else 0,
        create_time=change.now,
        modify_time=change.now,
        cause=Cause(
            kind=CauseKind.DRAIN,
            id=alloc.node_id,
            text=f"node {node.name if node else alloc.node_id} is draining",
        ),
    )


def _refusal(change: Change, report: NodeReport, by: Caller) -> OperationRefused | None:
    if not report.allocations:
        return OperationRefused("missing allocations")
    node = change.node(report.node_id)
    if node is None:
        return NotFound(f"node {report.node_id} not found")
    try:
        require_proof(change, node, report.secret, by=by, now=change.now)
    except NotAllowed as refused:
        return refused
    if node.status in _SILENCED:
        return OperationRefused(
            f"node {node.id} is not allowed to update allocs while in status {node.status.value}"
        )
    for alloc in report.allocations:
        if alloc.client_status not in _REPORTABLE:
            return OperationRefused(f'a node does not report "{alloc.client_status}"')
        stored = change.allocation(alloc.id)
        if stored is not None and stored.node_id != report.node_id:
            return NotAllowed(f"allocation {alloc.id} is not on node {report.node_id}")
    return None
