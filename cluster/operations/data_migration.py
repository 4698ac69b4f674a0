"""Whose data a node may fetch from another: that of the allocation which one of its own replaces.

In: a reader, what an agent shows, its allocation. Out: where the data is, or `OperationRefused`
that says why there is none.
"""

from typing import NamedTuple

from cluster.operations.errors import NotAllowed, NotFound
from cluster.operations.node_identities import NODE_NOT_FOUND, require_proof
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.structs.node import NodeStatus

_UNREACHABLE = frozenset({NodeStatus.DOWN, NodeStatus.DISCONNECTED})


class DataSource(NamedTuple):
    """Where the data is."""

    node_id: str
    alloc_id: str


def data_source(
    reader: StateReader, node_id: str, alloc_id: str, *, secret: str, by: Caller, now: int
) -> DataSource:
    """The allocation that one of the node's replaces, and its node.

    Raises NotAllowed for another node's, NotFound where nothing is to be had any more.
    """
    node, alloc = reader.node(node_id), reader.allocation(alloc_id)
    if node is None:
        raise NotFound(NODE_NOT_FOUND)
    require_proof(reader, node, secret, by=by, now=now)
    if alloc is None or alloc.is_terminal:
        raise NotFound("allocation does not exist, or is over")
    if alloc.node_id != node.id:
        raise NotAllowed(f"allocation {alloc.id} is not on node {node.id}")
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    if group is None or not group.ephemeral_disk.migrate:
        raise NotAllowed(f"the group of allocation {alloc.id} takes no data along")
    before = reader.allocation(alloc.previous_allocation)
    if before is None or before.job_key != alloc.job_key:
        raise NotFound("the allocation before is not known any more")
    source = reader.node(before.node_id)
    if source is None:
        raise NotFound("the node of the allocation before is gone")
    if source.status in _UNREACHABLE:
        raise NotFound(f"the node of the allocation before is {source.status.value}")
    return DataSource(source.id, before.id)
