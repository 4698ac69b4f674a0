"""What is told of one of many nodes, jobs and allocations, from a changed value.

In: structs as events bring them. Out: the same faces that a reader gives of all (`ports`).
"""

from collections.abc import Sequence

from cluster.store.node_labels import labels_of
from cluster.store.ports import AllocFace, JobFace, NodeFace, NodePlace
from scheduler.state import columns
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node, NodeEligibility, NodeStatus

SECOND = 1_000_000_000


def is_ready(face: NodeFace) -> bool:
    """Whether new allocations may be placed on it."""
    return (
        face.status == NodeStatus.READY
        and face.eligibility == NodeEligibility.ELIGIBLE
        and not face.is_draining
    )


def face_of(node: Node) -> NodeFace:
    """What a list of many nodes needs of a changed one."""
    return NodeFace(
        node.id,
        node.name,
        node.status.value,
        node.scheduling_eligibility.value,
        is_draining=node.drain_strategy is not None,
        since=0 if node.status is NodeStatus.READY else node.status_updated_at * SECOND,
    )


def place_of(node: Node, keys: Sequence[str]) -> NodePlace:
    """Where a changed node stands, and what it can give; `labels` are its values of `keys`."""
    return NodePlace(
        id=node.id,
        name=node.name,
        datacenter=node.datacenter,
        pool=node.node_pool,
        node_class=node.node_class,
        status=node.status.value,
        eligibility=node.scheduling_eligibility.value,
        is_draining=node.drain_strategy is not None,
        cpu_mhz=columns.node_cpu_mhz(node),
        memory_mb=columns.node_memory_mb(node),
        labels=labels_of(keys)(node.meta, node.attributes),
    )


def job_face(job: Job) -> JobFace:
    """What is told of a changed job beside its counts."""
    wanted = sum(group.count for group in job.task_groups)
    return JobFace(job.namespace, job.id, job.type, job.status, job.stop, wanted)


def alloc_face(alloc: Allocation) -> AllocFace:
    """What is told of a changed allocation on a node that drains."""
    is_service = alloc.job_type == JobType.SERVICE
    return AllocFace(alloc.id, alloc.node_id, alloc.name, alloc.job_key, is_service)


def restarts(alloc: Allocation) -> int:
    """How often its node has restarted it; 0 for one that runs, or is not wanted any more."""
    if alloc.is_server_terminal or alloc.client_status is not ClientStatus.PENDING:
        return 0
    return sum(state.restarts for state in alloc.task_states.values())
