"""The cluster as it was at the moment of a replay: where nodes stood and how full each was.

In: nodes as they are, and what is remembered of how they stood. Out: the same as then, for the
drawing of the topology. A node whose lines of that time are not kept any more is counted, and
drawn as it stands now.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from django.utils.translation import gettext

from cluster.store.past_nodes import HeldMore, NodeThen
from cluster.store.ports import NodeFace, NodePlace, NodeSum, RecordReader
from dashboard.fleet_totals import NO_SUM
from dashboard.topology import MappedNodes, rack_keys, rack_label
from dashboard.wording import count_of
from scheduler.state.writes.node_history import KEPT_EVENTS
from scheduler.structs.node import NodeEligibility, NodeEvent, NodeStatus

#: A node with how it stands.
Standing = TypeVar("Standing", NodePlace, NodeFace)

_SECOND = 1_000_000_000
_JOINED = "Node registered"
_SILENT = "Node heartbeat missed"
#: By the message of a line, what it made of a node.
_UP = {
    _JOINED: True, "Node re-registered": True, "Node reregistered by heartbeat": True,
    _SILENT: False,
}  # fmt: skip
_DRAINS = {
    "Node drain strategy set": True, "Node drain disabled": False, "Node drain complete": False,
}  # fmt: skip
_OPEN = {
    "Node marked as eligible for scheduling": True,
    "Node marked as ineligible for scheduling": False,
    "Node marked as ineligible for scheduling due to multiple plan rejections": False,
    "Node drain strategy set": False,
}


class FleetThen(NamedTuple):
    """All nodes of a moment, and of how many nobody knows any more how they stood."""

    nodes: MappedNodes
    unknown: int
    #: Nodes that joined later.
    later: int


def fleet_then(reader: RecordReader, index: int, at: int) -> FleetThen:
    """In four reads, whatever the number of nodes."""
    past = reader.past_of_nodes(index, at)
    places = reader.node_places(rack_keys())
    then, unknown, later = {}, 0, 0
    for place in places:
        memory = past.memories.get(place.id)
        if memory is None:
            then[place.id] = place
        elif memory.create_index > index:
            later += 1
        elif _has_forgotten(memory, index):
            unknown += 1
            then[place.id] = place
        else:
            then[place.id] = place_then(place, memory, index, at)
    sums = sums_then(reader.node_sums(), past.held_more, then)
    return FleetThen(MappedNodes(then, sums, rack_label(then.values())), unknown, later)


def sums_then(
    sums: Mapping[str, NodeSum], more: Mapping[str, HeldMore], nodes: Iterable[str]
) -> dict[str, NodeSum]:
    """What was held of each node."""
    then = {}
    for node_id in nodes:
        now, plus = sums.get(node_id, NO_SUM), more.get(node_id, HeldMore())
        then[node_id] = NodeSum(*(max(a + b, 0) for a, b in zip(now, plus, strict=True)))
    return then


def place_then(place: Standing, memory: NodeThen, index: int, at: int) -> Standing:
    """How the node stood, by the lines of its history."""
    drains = _told(memory.events, index, _DRAINS)
    opened = _told(memory.events, index, _OPEN)
    eligibility = place.eligibility
    if opened is not None:
        word = NodeEligibility.ELIGIBLE if opened else NodeEligibility.INELIGIBLE
        eligibility = word.value
    return place._replace(
        status=_status_then(place, memory, index, at),
        eligibility=eligibility,
        is_draining=place.is_draining if drains is None else drains,
    )


def _status_then(place: NodePlace | NodeFace, memory: NodeThen, index: int, at: int) -> str:
    # The record keeps the second only.
    if memory.status_since + _SECOND <= at:
        return place.status
    was_up = _told(memory.events, index, _UP)
    if was_up is None:
        return place.status
    if was_up:
        return NodeStatus.READY.value
    # Whoever was lost comes back with a line; whoever was only silent comes back without one.
    comes_back = any(
        _UP.get(event.message) and event.create_index > index for event in memory.events
    )
    if comes_back or place.status == NodeStatus.DOWN:
        return NodeStatus.DOWN.value
    return NodeStatus.DISCONNECTED.value


def _told(events: Iterable[NodeEvent], index: int, meanings: Mapping[str, bool]) -> bool | None:
    """What the last line by then made of it, else the opposite of the first one after."""
    before: bool | None = None
    for event in events:
        if event.message not in meanings:
            continue
        if event.create_index > index:
            return before if before is not None else not meanings[event.message]
        before = meanings[event.message]
    return before


def _has_forgotten(memory: NodeThen, index: int) -> bool:
    """Whether lines of between then and now may have been dropped."""
    events = memory.events
    return (
        len(events) >= KEPT_EVENTS
        and events[0].create_index > index
        and events[0].message != _JOINED
    )


def forgotten_told(then: FleetThen) -> str:
    """What of that moment nobody knows any more."""
    parts = []
    if then.unknown:
        count = count_of(then.unknown, "{count} node", "{count} nodes")
        parts.append(
            gettext("How {count} stood then is not known any more: drawn as now.").format(
                count=count
            )
        )
    if then.later:
        parts.append(
            gettext("{node} joined later.").format(
                node=count_of(then.later, "{count} node", "{count} nodes")
            )
        )
    parts.append(
        gettext("Nodes that were purged and work that was collected since are not counted.")
    )
    return " ".join(parts)
