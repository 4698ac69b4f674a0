"""Drain and eligibility of a node: what one request changes of its row (control-plane.md 7, 9.5).

Each function stamps and puts the node; the evaluations that follow are the caller's.
"""

import msgspec
from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.writes.node_history import with_event
from scheduler.structs.node import DrainStrategy, LastDrain, Node, NodeEligibility, NodeEvent

SECOND = 1_000_000_000


class DrainNote(msgspec.Struct, frozen=True):
    """Who asks for a change of a drain, and why."""

    accessor_id: str = ""
    meta: dict[str, str] = {}


def set_drain(
    change: Change,
    node: Node,
    strategy: DrainStrategy | None,
    note: DrainNote,
    *,
    mark_eligible: bool = False,
) -> Node:
    """Start, change or cancel a drain; cancelling none changes eligibility only."""
    drained = replace(
        node,
        drain_strategy=_begun(node.drain_strategy, strategy, change.now),
        last_drain=_last_drain(node, strategy, note, change.now),
        scheduling_eligibility=_eligibility(node, strategy, mark_eligible=mark_eligible),
        status_updated_at=change.now // SECOND,
    )
    message = _drain_message(node.drain_strategy, strategy)
    if not message:
        return _put(change, drained, None)
    return _put(change, drained, NodeEvent(message=message, subsystem="Drain"))


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
    event = NodeEvent(message="Node drain complete", subsystem="Drain", details=details)
    return _put(change, finished, event)


def set_eligibility(change: Change, node: Node, eligibility: NodeEligibility) -> Node:
    """Open or close the node for new allocations."""
    word = "eligible" if eligibility is NodeEligibility.ELIGIBLE else "ineligible"
    message = f"Node marked as {word} for scheduling"
    marked = replace(
        node, scheduling_eligibility=eligibility, status_updated_at=change.now // SECOND
    )
    return _put(change, marked, NodeEvent(message=message, subsystem="Cluster"))


def _put(change: Change, node: Node, event: NodeEvent | None) -> Node:
    stored = replace(node, modify_index=change.index)
    if event is not None:
        stored = with_event(change, stored, event)
    change.put_node(stored)
    return stored


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
