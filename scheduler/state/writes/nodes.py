"""A node's row: registering it, changing its status, forgetting it (control-plane.md 9).

In: a change and what the agent or a timer says. Out: the node as stored. Drain and eligibility are
in `node_drain`, the evaluations that follow in `node_evaluations`.
"""

from msgspec.structs import replace

from scheduler.errors import IllegalTransition
from scheduler.ports import Change
from scheduler.state.nouns import NODE_POOLS
from scheduler.state.writes.node_history import with_event
from scheduler.state.writes.volumes import follow_node
from scheduler.structs.computed_class import computed_class
from scheduler.structs.identity import DEFAULT_NODE_POOL
from scheduler.structs.node import Node, NodeEvent, NodePool, NodeStatus, same_since

_SECOND = 1_000_000_000
_UNRESPONSIVE = frozenset({NodeStatus.DOWN, NodeStatus.DISCONNECTED})

_REGISTERED = NodeEvent(message="Node registered", subsystem="Cluster")
_REREGISTERED = NodeEvent(message="Node re-registered", subsystem="Cluster")
_BACK_BY_HEARTBEAT = NodeEvent(message="Node reregistered by heartbeat", subsystem="Cluster")
_WAITS_FOR_POOL = NodeEvent(
    message="Node registered but waiting for node pool to be created", subsystem="Cluster"
)


def write_node(change: Change, node: Node) -> Node:
    """Store what an agent registers and return it as stored.

    Of a known node the status, history, eligibility, drain and markers stay as they are. Its pool
    is made when it is missing.
    """
    before = change.node(node.id)
    pool = node.node_pool or DEFAULT_NODE_POOL
    stored = replace(
        node,
        node_pool=pool,
        computed_class="",
        create_index=change.index,
        modify_index=change.index,
        status_updated_at=change.now // _SECOND,
    )
    if before is None:
        stored = with_event(change, replace(stored, events=()), _REGISTERED)
    else:
        stored = _kept(before, stored)
        if before.status is NodeStatus.DOWN and stored.status is not NodeStatus.DOWN:
            stored = with_event(change, stored, _REREGISTERED)
    stored = replace(stored, computed_class=computed_class(stored))
    if change.get(NODE_POOLS, pool) is None:
        change.put(
            NODE_POOLS, NodePool(name=pool, create_index=change.index, modify_index=change.index)
        )
    change.put_node(stored)
    follow_node(change, stored.id, stored)
    return stored


def update_node_status(
    change: Change, node_id: str, status: NodeStatus, event: NodeEvent | None = None
) -> Node:
    """Ask for a status; the node as stored says which one it got and when it was last written.

    A disconnected node that returns waits as `initializing` until it has reported its allocations.
    Raises IllegalTransition for a node that is not known.
    """
    node = change.node(node_id)
    if node is None:
        raise IllegalTransition(f"node {node_id} not found")
    granted, note = _granted(change, node, status)
    event = event or note
    if granted is node.status and event is None:
        return node
    if event is None and node.status is NodeStatus.DOWN:
        event = _BACK_BY_HEARTBEAT
    stored = replace(
        node,
        status=granted,
        status_updated_at=change.now // _SECOND,
        last_missed_heartbeat_index=_missed_marker(node, granted, change.index),
        modify_index=change.index,
    )
    if event is not None:
        stored = with_event(change, stored, event)
    change.put_node(stored)
    follow_node(change, stored.id, stored)
    return stored


def add_node_event(change: Change, node_id: str, event: NodeEvent) -> Node:
    """Add a line to a node's history; raises IllegalTransition for a node that is not known."""
    node = change.node(node_id)
    if node is None:
        raise IllegalTransition(f"node {node_id} not found")
    stored = replace(with_event(change, node, event), modify_index=change.index)
    change.put_node(stored)
    return stored


def delete_node(change: Change, node_id: str) -> Node:
    """Forget a node and return it as it was; raises IllegalTransition when it is not known."""
    node = change.node(node_id)
    if node is None:
        raise IllegalTransition(f"node {node_id} not found")
    change.delete_node(node_id)
    follow_node(change, node_id, None)
    return node


def _kept(before: Node, node: Node) -> Node:
    return replace(
        node,
        status=before.status,
        status_description=before.status_description,
        status_updated_at=before.status_updated_at,
        events=before.events,
        scheduling_eligibility=before.scheduling_eligibility,
        drain_strategy=before.drain_strategy,
        last_drain=before.last_drain,
        identity_signing_key_id=before.identity_signing_key_id,
        last_missed_heartbeat_index=max(
            before.last_missed_heartbeat_index, node.last_missed_heartbeat_index
        ),
        last_alloc_update_index=max(before.last_alloc_update_index, node.last_alloc_update_index),
        create_index=before.create_index,
        # An agent that starts again looks at its drivers anew: that alone is no change.
        drivers=same_since(before.drivers, node.drivers),
    )


def _granted(
    change: Change, node: Node, status: NodeStatus
) -> tuple[NodeStatus, NodeEvent | None]:
    """The status a request leads to, and what to note about it."""
    if status is not NodeStatus.READY:
        return status, None
    if node.status is NodeStatus.DISCONNECTED:
        return NodeStatus.INITIALIZING, None
    if node.status is not NodeStatus.INITIALIZING:
        return status, None
    if node.last_alloc_update_index <= node.last_missed_heartbeat_index and any(
        not alloc.is_terminal for alloc in change.allocations_by_node(node.id)
    ):
        return NodeStatus.INITIALIZING, None
    if node.node_pool != DEFAULT_NODE_POOL and change.get(NODE_POOLS, node.node_pool) is None:
        is_known = any(event.message == _WAITS_FOR_POOL.message for event in node.events)
        return NodeStatus.INITIALIZING, None if is_known else _WAITS_FOR_POOL
    return status, None


def _missed_marker(node: Node, status: NodeStatus, index: int) -> int:
    if status in _UNRESPONSIVE and node.status not in _UNRESPONSIVE:
        return index
    if status is NodeStatus.READY and node.status is not NodeStatus.READY:
        return 0
    return node.last_missed_heartbeat_index
