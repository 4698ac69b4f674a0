"""All nodes before a rehearsal and after it, drawn as the topology draws them.

In: all nodes as they are, what a rehearsal found. Out: two maps with their titles. Nodes that it
did not touch are drawn as they are now in both.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from msgspec.structs import replace

from cluster.rehearsal.result import Rehearsed, RehearsedNode
from cluster.store.ports import NodePlace
from dashboard.fleet_totals import NO_SUM, Totals, totals_of
from dashboard.graphs.racks import ADDED, RackDrawing, racks_html
from dashboard.topology import MappedNodes, MapPlace, map_of
from dashboard.topology_view import TopologyView
from dashboard.wording import count_of, natural, number
from scheduler.structs.node import NodeEligibility, NodeStatus

_GONE = frozenset({"lost", "purged"})
_ADDED = "added"
#: Racks that are named as destinations.
_MOST_RACKS = 8


class DrawnFleet(NamedTuple):
    """One of both maps."""

    title: str
    #: `place` and `html` of each datacenter.
    places: list[dict[str, Any]]
    totals: Totals


class BeforeAfter(NamedTuple):
    """All nodes before the rehearsal, and as it leaves them."""

    before: DrawnFleet
    after: DrawnFleet


def before_after(fleet: MappedNodes, result: Rehearsed) -> BeforeAfter:
    """Both maps; the same scale, the same order."""
    told = {node.id: node for node in result.nodes}
    before, after = _fleet_before(fleet, told), fleet_after(fleet, result)
    return BeforeAfter(
        _drawn(before, gettext("Before: {nodes}, memory {share} % allocated"), "before"),
        _drawn(after, gettext("Rehearsed: {nodes}, memory {share} % allocated"), "after"),
    )


def _fleet_before(fleet: MappedNodes, told: dict[str, RehearsedNode]) -> MappedNodes:
    sums = dict(fleet.sums)
    for node_id in told.keys() & fleet.places.keys():
        each, held = told[node_id], fleet.sums.get(node_id, NO_SUM)
        sums[node_id] = held._replace(cpu_mhz=each.cpu_before, memory_mb=each.memory_before)
    return fleet._replace(sums=sums)


def fleet_after(fleet: MappedNodes, result: Rehearsed) -> MappedNodes:
    """All nodes as the rehearsal leaves them; those it adds stand in a rack of their own."""
    places, sums = dict(fleet.places), dict(fleet.sums)
    added = [node for node in result.nodes if node.fate == _ADDED]
    for node in result.nodes:
        place = places.get(node.id)
        if place is not None:
            places[node.id] = _as_rehearsed(place, node.fate)
        elif node.fate == _ADDED:
            places[node.id] = _new_place(node, fleet, len(added))
        else:
            continue
        held = sums.get(node.id, NO_SUM)
        sums[node.id] = held._replace(cpu_mhz=node.cpu_after, memory_mb=node.memory_after)
    label = max(fleet.rack_label, 0) if added else fleet.rack_label
    return MappedNodes(places, sums, label)


def _as_rehearsed(place: NodePlace, fate: str) -> NodePlace:
    if fate in _GONE:
        return place._replace(status=NodeStatus.DOWN.value)
    if fate == "drained":
        return place._replace(is_draining=True, eligibility=NodeEligibility.INELIGIBLE.value)
    if fate in {"closed", "opened"}:
        opened = fate == "opened"
        word = NodeEligibility.ELIGIBLE if opened else NodeEligibility.INELIGIBLE
        return place._replace(eligibility=word.value)
    return place


def _new_place(node: RehearsedNode, fleet: MappedNodes, count: int) -> NodePlace:
    """Where a new node stands: in the datacenter of the one it is like."""
    like = node.name.partition("-like-")[0]
    model = next((each for each in fleet.places.values() if each.name == like), None)
    label = max(fleet.rack_label, 0)
    rack = gettext("{count} new").format(count=number(count))
    return NodePlace(
        id=node.id,
        name=node.name,
        datacenter=model.datacenter if model is not None else "",
        pool=model.pool if model is not None else "",
        node_class=model.node_class if model is not None else "",
        status=NodeStatus.READY.value,
        eligibility=NodeEligibility.ELIGIBLE.value,
        is_draining=False,
        cpu_mhz=node.cpu_mhz,
        memory_mb=node.memory_mb,
        labels=("",) * label + (rack,),
    )


def _drawn(fleet: MappedNodes, title: str, side: str) -> DrawnFleet:
    drawn = map_of(fleet, TopologyView())
    totals = totals_of(fleet.places.values(), fleet.sums)
    standing = totals.nodes - totals.lost
    return DrawnFleet(
        title.format(
            nodes=count_of(standing, "{count} node", "{count} nodes"), share=totals.memory_share
        ),
        [
            {"name": place.name, "html": mark_safe(racks_html(_drawings(place, side, fleet)))}  # noqa: S308 - graphs.racks escapes every name
            for place in drawn.places
        ],
        totals,
    )


def _drawings(place: MapPlace, side: str, fleet: MappedNodes) -> Iterator[RackDrawing]:
    for rack in place.racks:
        drawing = replace(rack.drawing, key=f"{side}-{rack.key}")
        # Nodes that there are not: they have no row in the index of nodes.
        is_new = bool(rack.nodes) and all("-like-" in node.name for node in rack.nodes)
        if side == "after" and is_new:
            looks = tuple((*look, ADDED) for look in drawing.looks)
            drawing = replace(drawing, looks=looks, url="#jobs-title")
        yield drawing


def destinations_told(fleet: MappedNodes, result: Rehearsed) -> str:
    """Where those went that found a place, by rack; "" where not all of them are told."""
    if result.allocations_left_out or not result.totals.placed:
        return ""
    after = fleet_after(fleet, result)
    counts: Counter[str] = Counter()
    for each in result.allocations:
        place = after.places.get(each.to_node_id)
        if place is not None:
            counts[_rack_of(place, after.rack_label)] += 1
    named = sorted(counts, key=lambda name: (-counts[name], natural(name)))
    parts = [f"{name} {number(counts[name])}" for name in named[:_MOST_RACKS]]
    more = sum(counts[name] for name in named[_MOST_RACKS:])
    if more:
        parts.append(gettext("others {more}").format(more=number(more)))
    return gettext("To {places}").format(places=", ".join(parts)) if parts else ""


def _rack_of(place: NodePlace, label: int) -> str:
    rack = place.labels[label] if 0 <= label < len(place.labels) else ""
    return rack or place.datacenter or place.name
