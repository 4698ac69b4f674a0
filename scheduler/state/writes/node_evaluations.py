"""When a change of a node makes evaluations, and of which jobs (control-plane.md 9.4, 9.6).

In: the node before and after, a reader. Out: a verdict, or new evaluations, not yet stored.
"""

import re

from scheduler.ports import IDSource, StateReader
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.identity import ALL_NODE_POOLS, JobKey
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node, NodeStatus

_ENDED_BATCH = frozenset({ClientStatus.FAILED, ClientStatus.COMPLETE, ClientStatus.LOST})


def status_needs_evaluations(before: NodeStatus, after: NodeStatus) -> bool:
    """Whether a written status is worth evaluations; `down` always is, also when it was down."""
    if after is NodeStatus.DOWN:
        return True
    if before is after:
        return False
    came_up = after is NodeStatus.READY and before in (NodeStatus.INITIALIZING, NodeStatus.DOWN)
    return came_up or NodeStatus.DISCONNECTED in (before, after)


def registration_needs_evaluations(before: Node | None, after: Node) -> bool:
    """Whether a registration is worth evaluations; more capacity alone is not."""
    if after.status is NodeStatus.DOWN:
        return True
    if before is None:
        return after.status is NodeStatus.READY
    return status_needs_evaluations(before.status, after.status) or any(
        one != other for one, other in zip(_looked_at(before), _looked_at(after), strict=True)
    )


def node_evaluations(
    reader: StateReader, node: Node, ids: IDSource, *, now: int, text: str = ""
) -> tuple[Evaluation, ...]:
    """One pending evaluation per job that the node concerns.

    `node` is the one of the write that causes them; its ModifyIndex tells which write that was.
    """
    affected: dict[JobKey, tuple[int, str]] = {}
    for alloc in reader.allocations_by_node(node.id):
        if alloc.job_key not in affected and _is_concerned(alloc):
            affected[alloc.job_key] = (alloc.job_priority, alloc.job_type)
    for job in reader.jobs_of_type(JobType.SYSTEM):
        if job.key not in affected and not job.stop and matches_node(job, node):
            affected[job.key] = (job.priority, job.type)
    return tuple(
        Evaluation(
            id=ids.next_id(),
            namespace=key.namespace,
            priority=priority,
            type=job_type,
            triggered_by=EvalTrigger.NODE_UPDATE,
            job_id=key.job_id,
            node_id=node.id,
            node_modify_index=node.modify_index,
            create_time=now,
            modify_time=now,
            cause=Cause(
                kind=CauseKind.NODE,
                id=node.id,
                index=node.modify_index,
                text=text or f"node {node.name or node.id} is {node.status.value}",
            ),
        )
        for key, (priority, job_type) in affected.items()
    )


def matches_node(job: Job, node: Node) -> bool:
    """Whether the job's pool and one of its datacenter patterns match the node."""
    if job.node_pool not in (ALL_NODE_POOLS, node.node_pool):
        return False
    return any(_glob(pattern, node.datacenter) for pattern in job.datacenters)


def _is_concerned(alloc: Allocation) -> bool:
    if alloc.job_type == JobType.SERVICE:
        return not (alloc.is_server_terminal and alloc.is_client_terminal)
    return alloc.job_type == JobType.BATCH and alloc.client_status not in _ENDED_BATCH


def _looked_at(node: Node) -> tuple[object, ...]:
    return (
        node.datacenter,
        node.name,
        node.node_class,
        node.attributes,
        node.meta,
        node.drivers,
        node.host_volumes,
        node.node_resources.devices,
    )


def _glob(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
