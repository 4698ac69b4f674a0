"""Which committed writes mean room for blocked evaluations.

In: frames of the event log. Out: the evaluations they release. It remembers of each node only what
is needed to see a change (evaluations.md 4.2).
"""

from collections.abc import Iterable
from typing import NamedTuple

from scheduler.broker.blocked_evals import BlockedEvals, Made, Released
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, StateEvent, WriteKind
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.state.quota_use import raises_some
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.evaluation import Cause, CauseKind
from scheduler.structs.job import Namespace
from scheduler.structs.node import Node, NodeEligibility, NodeStatus
from scheduler.structs.quota import QuotaAmounts, QuotaSpec

#: Client statuses that free what an allocation held. A lost one still holds it.
FREEING = (ClientStatus.COMPLETE, ClientStatus.FAILED)


class KnownNode(NamedTuple):
    """What a node was when last seen."""

    status: NodeStatus
    eligibility: NodeEligibility
    computed_class: str


class Freed:
    """What one frame made available, each with what made it so: the first that did.

    A large report releases once per class.
    """

    def __init__(self, index: int) -> None:
        self._index = index
        self.classes: dict[str, Made] = {}
        self.ended: dict[tuple[str, str], Made] = {}
        self.nodes: dict[str, Made] = {}
        self.quotas: dict[str, Made] = {}

    def by(self, kind: CauseKind, row_id: str, text: str) -> Cause:
        """A row of this frame as what made room."""
        return Cause(kind=kind, id=row_id, index=self._index, text=text)


class CapacityHooks:
    """Turns frames into calls of the tracker."""

    def __init__(self, blocked: BlockedEvals) -> None:
        self._blocked = blocked
        self._nodes: dict[str, KnownNode] = {}
        #: Namespace to the quota it names.
        self._quotas: dict[str, str] = {}
        self._limits: dict[str, QuotaAmounts] = {}

    def restore(self, reader: StateReader) -> None:
        """Know the nodes and namespaces as they are."""
        self._nodes = {node.id: _known(node) for node in reader.nodes()}
        self._quotas = {space.name: space.quota for space in reader.list_all(NAMESPACES)}
        self._limits = {quota.name: quota.limits for quota in reader.list_all(QUOTAS)}

    def observe(self, frame: EventFrame, monotonic: float) -> tuple[Released, ...]:
        """What this frame releases; its index is recorded for runs that overlooked it."""
        freed = Freed(frame.index)
        for event in frame.events:
            if isinstance(event.value, Node):
                self._observe_node(frame.kind, event, event.value, freed)
            elif isinstance(event.value, Allocation):
                self._observe_allocation(frame.kind, event.value, freed)
            elif isinstance(event.value, Namespace):
                self._observe_namespace(event, event.value, freed)
            elif isinstance(event.value, QuotaSpec):
                self._observe_quota(event, event.value, freed)
        return self._call_tracker(freed, frame.index, monotonic)

    def recall(self, frames: Iterable[EventFrame], monotonic: float) -> tuple[Released, ...]:
        """What frames may have released that were committed while nobody watched.

        What stood before them is not known any more: an open node counts as newly opened, a quota
        that was written as raised. That costs a run at most.
        """
        released: list[Released] = []
        for frame in frames:
            freed = Freed(frame.index)
            for event in frame.events:
                if isinstance(event.value, Allocation):
                    self._observe_allocation(frame.kind, event.value, freed)
                elif not event.deleted:
                    _recall(event.value, freed)
            released += self._call_tracker(freed, frame.index, monotonic)
        return tuple(released)

    def _observe_node(self, kind: str, event: StateEvent, node: Node, freed: Freed) -> None:
        if event.deleted:
            self._nodes.pop(node.id, None)
            return
        before = self._nodes.get(node.id)
        self._nodes[node.id] = _known(node)
        by = freed.by(CauseKind.NODE, node.id, f"node {node.name or node.id}")
        if before is not None and _opened(before, node):
            is_back = before.status is not NodeStatus.READY and node.status is NodeStatus.READY
            made = Made(f"{by.text} {'is ready' if is_back else 'was set eligible'}", by)
            freed.classes.setdefault(node.computed_class, made)
            freed.nodes.setdefault(node.id, made)
        elif kind == WriteKind.NODE_REGISTRATION and node.status is NodeStatus.READY:
            made = Made(f"{by.text} {'joined' if before is None else 'registered again'}", by)
            freed.classes.setdefault(node.computed_class, made)

    def _observe_allocation(self, kind: str, alloc: Allocation, freed: Freed) -> None:
        quota = self._quotas.get(alloc.namespace, "")
        by = freed.by(CauseKind.ALLOCATION, alloc.id, f"allocation {alloc.name}")
        if kind == WriteKind.PLAN_RESULT and alloc.client_status is ClientStatus.LOST and quota:
            # Its node may still hold it, but the quota counts it no more.
            freed.quotas.setdefault(quota, Made(f"an allocation of quota {quota} was lost", by))
        if kind != WriteKind.ALLOCATION_UPDATED or alloc.client_status not in FREEING:
            return
        # Whose it was is not for everybody who waits.
        made = Made(f"an allocation ended on node {alloc.node_name or alloc.node_id}", by)
        freed.nodes.setdefault(alloc.node_id, made)
        node = self._nodes.get(alloc.node_id)
        if node is not None:
            freed.ended.setdefault((node.computed_class, quota), made)
        elif quota:
            # The node is gone; what was taken of the quota is free all the same.
            freed.quotas.setdefault(quota, made)

    def _observe_namespace(self, event: StateEvent, space: Namespace, freed: Freed) -> None:
        before = self._quotas.pop(space.name, "")
        after = "" if event.deleted else space.quota
        # The quota it leaves is no longer in the way of its jobs, nor it in the way of others'.
        if before != after:
            made = Made(f"namespace {space.name} changed its quota")
            freed.quotas |= dict.fromkeys((quota for quota in (before, after) if quota), made)
        if not event.deleted:
            self._quotas[space.name] = after

    def _observe_quota(self, event: StateEvent, quota: QuotaSpec, freed: Freed) -> None:
        before = self._limits.pop(quota.name, None)
        if event.deleted:
            return
        if before is not None and raises_some(before, quota.limits):
            freed.quotas[quota.name] = Made(f"quota {quota.name} was raised")
        self._limits[quota.name] = quota.limits

    def _call_tracker(self, freed: Freed, index: int, monotonic: float) -> tuple[Released, ...]:
        tracker = self._blocked
        released: list[Released] = []
        for computed_class, made in freed.classes.items():
            released += tracker.unblock(computed_class, index, monotonic, made)
        for (computed_class, quota), made in freed.ended.items():
            released += tracker.unblock_class_and_quota(
                computed_class, quota, index, monotonic, made
            )
        for node_id, made in freed.nodes.items():
            released += tracker.unblock_node(node_id, made)
        for quota, made in freed.quotas.items():
            released += tracker.unblock_quota(quota, index, monotonic, made)
        return tuple(released)


def _opened(before: KnownNode, node: Node) -> bool:
    """It became ready, or eligible."""
    was_ready = before.status is NodeStatus.READY
    was_eligible = before.eligibility is NodeEligibility.ELIGIBLE
    is_eligible = node.scheduling_eligibility is NodeEligibility.ELIGIBLE
    return (node.status is NodeStatus.READY and not was_ready) or (
        is_eligible and not was_eligible
    )


def _recall(value: object, freed: Freed) -> None:
    if isinstance(value, Node):
        is_eligible = value.scheduling_eligibility is NodeEligibility.ELIGIBLE
        if value.status is NodeStatus.READY and is_eligible:
            made = Made(f"node {value.name or value.id} is open")
            freed.classes[value.computed_class] = freed.nodes[value.id] = made
    elif isinstance(value, Namespace) and value.quota:
        freed.quotas[value.quota] = Made(f"namespace {value.name} was written")
    elif isinstance(value, QuotaSpec):
        freed.quotas[value.name] = Made(f"quota {value.name} was written")


def _known(node: Node) -> KnownNode:
    return KnownNode(node.status, node.scheduling_eligibility, node.computed_class)
