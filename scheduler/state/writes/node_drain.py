"""Drain and eligibility of a node: what one request changes of its row (control-plane.md 7.1, 7.4, 9.5).

Each function stamps and puts the node; the evaluations that follow are the caller's.
"""

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.structs.node import DrainStrategy, LastDrain, Node, NodeEligibility, NodeEvent

SECOND = 1_000_000_000
KEPT_EVENTS = 10


class DrainNote:
    """Who asks for a change of a drain, and why."""

    def __init__(self, accessor_id: str = "", meta: dict[str, str] | None = None) -> None:
        self.accessor_id = accessor_id
        self.meta = meta or {}


def add_events(change: Change, node: Node, *events: NodeEvent) -> Node:
    """Put the node with these lines at the end of its history."""
    stamped = tuple(replace(event, create_index=change.index) for event in events)
    kept = (*node.events, *stamped)[-KEPT_EVENTS:]
    return put_stamped(change, replace(node, events=kept))


def put_stamped(change: Change, node: Node) -> Node:
    """Put the node as changed by this write."""
    stored = replace(node, modify_index=change.index)
    change.put_node(stored)
    return stored


def set_drain(
    change: Change,
    node: Node,
    strategy: DrainStrategy | None,
    note: DrainNote,
    *,
    mark_eligible: bool = False,
) -> Node:
    """Start, change or cancel a drain. Clearing a drain that is not set changes eligibility only."""
    drained = replace(
        node,
        drain_strategy=_begun(node.drain_strategy, strategy, change.now),
        last_drain=_last_drain(node, strategy, note, change.now),
        scheduling_eligibility=_eligibility(node, strategy, mark_eligible=mark_eligible),
        status_updated_at=change.now // SECOND,
    )
    message = _drain_message(node.drain_strategy, strategy)
    if not message:
        return put_stamped(change, drained)
    return add_events(change, drained, _event(change, message, "Drain"))


def finish_drain(change: Change, node: Node, *, deadline_reached: bool) -> Node:
    """The drain did its work: the strategy goes, the node stays ineligible."""
    details = {"deadline_reached": "true"} if deadline_reached else {}
    last = node.last_drain or LastDrain(started_at=_whole(change.now))
    finished = replace(
        node,
        drain_strategy=None,
        last_drain=replace(last, status="complete", updated_at=_whole(change.now)),
        status_updated_at=change.now // SECOND,
    )
    return add_events(change, finished, _event(change, "Node drain complete", "Drain", details))


def set_eligibility(change: Change, node: Node, eligibility: NodeEligibility) -> Node:
    """Open or close the node for new allocations."""
    word = "eligible" if eligibility is NodeEligibility.ELIGIBLE else "ineligible"
    return add_events(
        change,
        replace(
            node,
            scheduling_eligibility=eligibility,
            status_updated_at=change.now // SECOND,
        ),
        _event(change, f"Node marked as {word} for scheduling", "Cluster"),
    )


def _event(
    change: Change, message: str, subsystem: str, details: dict[str, str] | None = None
) -> NodeEvent:
    return NodeEvent(
        message=message, subsystem=subsystem, details=details or {}, timestamp=change.now
    )


def _begun(
    before: DrainStrategy | None, after: DrainStrategy | None, now: int
) -> DrainStrategy | None:
    if after is None:
        return None
    return replace(
        after,
        started_at=before.started_at if before else now,
        force_deadline=now + after.deadline if after.deadline > 0 else 0,
    )


def _eligibility(
    node: Node, strategy: DrainStrategy | None, *, mark_eligible: bool
) -> NodeEligibility:
    if strategy is not None:
        return NodeEligibility.INELIGIBLE
    return NodeEligibility.ELIGIBLE if mark_eligible else node.scheduling_eligibility


def _last_drain(
    node: Node, strategy: DrainStrategy | None, note: DrainNote, now: int
) -> LastDrain | None:
    """Times are whole seconds, as the reference keeps them."""
    if node.drain_strategy is None and strategy is None:
        return node.last_drain
    fresh = node.drain_strategy is None or node.last_drain is None
    last = LastDrain(started_at=_whole(now)) if fresh else node.last_drain
    assert last is not None, "a fresh one was made when there was none"
    return replace(
        last,
        updated_at=_whole(now),
        status="draining" if strategy else "canceled",
        accessor_id=note.accessor_id or last.accessor_id,
        meta=note.meta or last.meta,
    )


def _drain_message(before: DrainStrategy | None, after: DrainStrategy | None) -> str:
    if after is not None:
        return "Node drain strategy updated" if before else "Node drain strategy set"
    return "Node drain disabled" if before else ""


def _whole(now: int) -> int:
    return now // SECOND * SECOND
