"""Put each allocation into exactly one bucket by what its node and its own states say.

In: a set, the tainted nodes, `now`. Out: seven disjoint sets (reconciler.md 5).
"""

import msgspec

from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.history import (
    is_canary,
    is_expired,
    is_wanted,
    lost_after,
    needs_reconnect,
    replace_on_disconnect,
)
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.node import Node, NodeStatus

_MAY_RECONNECT = frozenset({ClientStatus.UNKNOWN, ClientStatus.RUNNING, ClientStatus.FAILED})


class Buckets(msgspec.Struct, frozen=True, kw_only=True):
    """A set of allocations, split."""

    untainted: AllocSet
    migrating: AllocSet
    lost: AllocSet
    disconnecting: AllocSet
    reconnecting: AllocSet
    ignored: AllocSet
    expiring: AllocSet


def classify(allocs: AllocSet, situation: Situation) -> Buckets:
    """Split the set; every member lands in exactly one bucket."""
    split: dict[str, list[Allocation]] = {name: [] for name in Buckets.__struct_fields__}
    for alloc in allocs.values():
        split[_bucket(alloc, situation)].append(alloc)
    return Buckets(**{name: AllocSet(members) for name, members in split.items()})


def _bucket(alloc: Allocation, situation: Situation) -> str:
    reconnects = alloc.client_status in _MAY_RECONNECT and needs_reconnect(alloc)
    is_failed = alloc.client_status is ClientStatus.FAILED
    if reconnects and is_failed and is_wanted(alloc):
        return "reconnecting"
    if not reconnects and alloc.is_terminal:
        return _bucket_of_terminal(alloc)
    if is_expired(alloc, situation.origin(alloc), situation.now):
        return "expiring"
    if reconnects and is_failed and alloc.desired_status is DesiredStatus.STOP:
        return "ignored"
    return _bucket_by_node(alloc, situation, reconnects=reconnects)


def _bucket_of_terminal(alloc: Allocation) -> str:
    if alloc.is_server_terminal:
        # A drained batch allocation keeps its slot although it was told to stop.
        keeps_slot = alloc.desired_transition.migrate_disable_placement
        return "untainted" if keeps_slot else "ignored"
    if is_canary(alloc) and alloc.desired_transition.migrate:
        return "migrating"
    return "untainted"


def _bucket_by_node(alloc: Allocation, situation: Situation, *, reconnects: bool) -> str:
    is_tainted = alloc.node_id in situation.tainted
    node = situation.tainted.get(alloc.node_id)
    if node is not None and node.status is NodeStatus.DISCONNECTED:
        return _bucket_on_disconnected(alloc, situation)
    if alloc.desired_transition.migrate:
        return "migrating"
    if not is_tainted or (node is not None and node.status is NodeStatus.READY):
        return "reconnecting" if reconnects else "untainted"
    return _bucket_on_lost_node(alloc, node, situation)


def _bucket_on_disconnected(alloc: Allocation, situation: Situation) -> str:
    if alloc.client_status is ClientStatus.UNKNOWN:
        return "untainted"
    if alloc.client_status is ClientStatus.PENDING:
        return "lost"
    return "disconnecting" if lost_after(situation.origin(alloc)) else "lost"


def _bucket_on_lost_node(alloc: Allocation, node: Node | None, situation: Situation) -> str:
    if node is None:
        return "lost"
    if node.status is not NodeStatus.DOWN:
        return "untainted"
    if not replace_on_disconnect(situation.origin(alloc)):
        if alloc.client_status is ClientStatus.UNKNOWN:
            return "untainted"
        if alloc.client_status is ClientStatus.RUNNING:
            return "disconnecting"
    return "lost"
