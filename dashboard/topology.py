"""The map of all nodes: places of racks of nodes, how full each is, where one job runs.

In: where nodes stand, what is held of them, and a view. Out: drawings of racks with their words,
sums, the sentence. Made anew from 5,000 nodes in some milliseconds; knows no reader.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.utils.translation import gettext, ngettext

from cluster.store.ports import NodePlace, NodeSum
from cluster.store.used_by_nodes import NodeUsed
from dashboard.fleet_totals import NO_SUM, Totals, merged, state_of_place, totals_of, used_share
from dashboard.graphs.racks import HOLE, LIT, LOST, RING, SILENT, UNTOLD, RackDrawing
from dashboard.topology_view import MEASURES, USED_MEASURES, TopologyView
from dashboard.wording import NONE, count_of, natural, number

#: A rack of more nodes is drawn in parts of so many.
_LARGEST, _PART = 80, 40
_NAMED = 3


class MappedNodes(NamedTuple):
    """Everything the map is made of; `lit`: allocations of the lit job by node."""

    places: Mapping[str, NodePlace]
    sums: Mapping[str, NodeSum]
    #: Which of a node's labels is its rack; -1 where no node has any.
    rack_label: int = -1
    lit: Mapping[str, int] | None = None
    #: What the tasks of nodes use, of those that say so; {} where nobody asks.
    used: Mapping[str, NodeUsed] = {}


class MapRack(msgspec.Struct, frozen=True, kw_only=True):
    """Some nodes that stand together, in the order of their names."""

    key: str
    name: str
    nodes: tuple[NodePlace, ...]
    totals: Totals
    lit: int
    drawing: RackDrawing


class MapPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Racks that stand together."""

    key: str
    name: str
    racks: tuple[MapRack, ...]
    totals: Totals
    told: str


class TopologyMap(msgspec.Struct, frozen=True, kw_only=True):
    """The whole map."""

    places: tuple[MapPlace, ...]
    totals: Totals
    strong: str
    rest: str
    rack_count: int
    classes: tuple[str, ...]
    lit_nodes: int
    lit_count: int


def rack_keys() -> tuple[str, ...]:
    """What tells of a node which rack it stands in, in the order of their preference."""
    return tuple(settings.BIVOUAC_RACK_KEYS)


def rack_label(places: Iterable[NodePlace]) -> int:
    """Which label says the rack: the first that any node has; -1 without any."""
    best = -1
    for place in places:
        for number_of_key, value in enumerate(place.labels):
            if value and (best < 0 or number_of_key < best):
                best = number_of_key
                break
        if best == 0:
            return 0
    return best


def map_of(fleet: MappedNodes, view: TopologyView) -> TopologyMap:
    """All of it, as the view asks for it."""
    classes = sorted({place.node_class for place in fleet.places.values()} - {""})
    shown = [
        place
        for place in fleet.places.values()
        if not view.node_class or place.node_class == view.node_class
    ]
    grouped: dict[str, dict[str, list[NodePlace]]] = {}
    for place in shown:
        outer, inner = _where(place, fleet, view.group)
        grouped.setdefault(outer, {}).setdefault(inner, []).append(place)
    places = tuple(
        _place(name, racks, fleet, view)
        for name, racks in sorted(grouped.items(), key=lambda item: natural(item[0]))
    )
    totals = merged(place.totals for place in places)
    lit = fleet.lit or {}
    lit_here = [lit[place.id] for place in shown if lit.get(place.id)]
    strong, rest = _sentence(totals, places, view, lit_here)
    return TopologyMap(
        places=places, totals=totals, strong=strong, rest=rest, classes=tuple(classes),
        rack_count=sum(len(place.racks) for place in places),
        lit_nodes=len(lit_here), lit_count=sum(lit_here),
    )  # fmt: skip


def _where(place: NodePlace, fleet: MappedNodes, group: str) -> tuple[str, str]:
    rack = place.labels[fleet.rack_label] if fleet.rack_label >= 0 else ""
    if group == "class":
        return place.node_class, rack
    if group == "pool":
        return place.pool, rack
    return place.datacenter, place.node_class if group == "datacenter" else rack


def _place(
    name: str, racks: Mapping[str, Sequence[NodePlace]], fleet: MappedNodes, view: TopologyView
) -> MapPlace:
    drawn = []
    for inner, nodes in sorted(racks.items(), key=lambda item: natural(item[0])):
        ordered = sorted(nodes, key=lambda node: (natural(node.name), node.id))
        size = _PART if len(ordered) > _LARGEST else len(ordered)
        parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        for position, part in enumerate(parts):
            word = inner or _without(view.group)
            title = f"{word} {position + 1}" if len(parts) > 1 else word
            drawn.append(_rack(f"{name}/{inner}/{position}", title, name, part, fleet, view))
    totals = merged(rack.totals for rack in drawn)
    return MapPlace(
        key=_key(name), name=name or gettext("no class"), racks=tuple(drawn), totals=totals,
        told=_place_told(totals, len(drawn), view.by),
    )  # fmt: skip


def _without(group: str) -> str:
    return gettext("no class") if group == "datacenter" else gettext("no rack")


def _rack(
    path: str,
    name: str,
    place: str,
    nodes: Sequence[NodePlace],
    fleet: MappedNodes,
    view: TopologyView,
) -> MapRack:
    totals = totals_of(nodes, fleet.sums, fleet.used)
    lit = sum((fleet.lit or {}).get(node.id, 0) for node in nodes)
    key = _key(path)
    all_lost = totals.lost == totals.nodes
    mark = _mark(totals, view.by) if fleet.lit is None else (number(lit) if lit else NONE)
    ids = [node.id for node in nodes]
    drawing = RackDrawing(
        key=key, name=name, mark="lost" if all_lost else mark,
        state="lost" if all_lost else "",
        label=_rack_label(name, place, totals, view, None if fleet.lit is None else lit),
        url=f"{view.address(rack=key, node='')}#selected",
        is_selected=view.rack == key,
        looks=tuple(_looks(node, fleet, view.by) for node in nodes),
        selected=ids.index(view.node) if view.node in ids else -1,
    )  # fmt: skip
    return MapRack(key=key, name=name, nodes=tuple(nodes), totals=totals, lit=lit, drawing=drawing)


def _mark(totals: Totals, by: str) -> str:
    share = totals.share(by)
    return NONE if share is None else f"{share} %"


def _looks(node: NodePlace, fleet: MappedNodes, by: str) -> tuple[str, ...]:
    state = state_of_place(node)
    if state == "lost":
        return (LOST,)
    look = LIT if fleet.lit and fleet.lit.get(node.id) else _darkness(node, fleet, by)
    over = _OVER.get(state)
    return (look, over) if over else (look,)


_OVER = {"silent": SILENT, "draining": RING, "ineligible": HOLE}
_STEPS = ("h1", "h2", "h3", "h4", "h5")


def _darkness(node: NodePlace, fleet: MappedNodes, by: str) -> str:
    if by in USED_MEASURES:
        used = fleet.used.get(node.id)
        if used is None:
            return UNTOLD
        if by == "cpu-used":
            return _step(used.cpu_mhz, node.cpu_mhz)
        return _step(used.memory_mb, node.memory_mb)
    held = fleet.sums.get(node.id, NO_SUM)
    if by == "cpu":
        return _step(held.cpu_mhz, node.cpu_mhz)
    memory = _step(held.memory_mb, node.memory_mb)
    return max(memory, _step(held.cpu_mhz, node.cpu_mhz)) if by == "fullest" else memory


def _step(held: int, total: int) -> str:
    return _STEPS[min(max(held, 0) * 5 // total, 4)] if total > 0 else _STEPS[0]


def _key(path: str) -> str:
    """An id of the page, whatever the names hold."""
    return hashlib.sha256(path.encode()).hexdigest()[:10]


def _rack_label(name: str, place: str, totals: Totals, view: TopologyView, lit: int | None) -> str:
    word = gettext(MEASURES[view.by or "memory"])
    parts = [
        f"{name}, {place}" if place else name,
        count_of(totals.nodes, "{count} node", "{count} nodes"),
    ]
    share = totals.share(view.by)
    parts += [f"{share} % {word}"] if totals.lost < totals.nodes and share is not None else []
    parts += totals.apart
    parts += (
        []
        if lit is None
        else [gettext("{lit} of {job} there").format(lit=number(lit), job=view.job)]
    )
    return ", ".join(parts)


def _place_told(totals: Totals, racks: int, by: str) -> str:
    parts = [
        count_of(racks, "{count} rack", "{count} racks")
        + ", "
        + count_of(totals.nodes, "{count} node", "{count} nodes")
    ]
    parts += [gettext("{lost} lost").format(lost=number(totals.lost))] if totals.lost else []
    parts += (
        [gettext("{silent} silent").format(silent=number(totals.silent))] if totals.silent else []
    )
    share = totals.share(by)
    if by in USED_MEASURES:
        word = gettext("CPU") if by == "cpu-used" else gettext("memory")
        parts += [f"{word} {used_share(totals, by)}"] if share is not None else []
    elif totals.lost < totals.nodes and share is not None:
        of_rest = gettext(" of the rest") if totals.lost else ""
        parts.append(f"{share} %{of_rest} {gettext(MEASURES[by or 'memory'])}")
    if by not in USED_MEASURES and totals.memory_used_share is not None:
        parts.append(used_share(totals))
    if totals.hole is not None:
        parts.append(
            gettext("largest hole {hole_memory} MiB on {hole}").format(
                hole_memory=number(totals.hole_memory), hole=totals.hole.name
            )
        )
    return " · ".join(parts)


def _sentence(
    totals: Totals, places: Sequence[MapPlace], view: TopologyView, lit: Sequence[int]
) -> tuple[str, str]:
    if not totals.nodes:
        return gettext("No node has joined yet."), ""
    ready = gettext("{ready} of {node}").format(
        ready=number(totals.ready), node=count_of(totals.nodes, "{count} node", "{count} nodes")
    )
    if view.job:
        strong = gettext("{lit} of {job} on {node}.").format(
            lit=number(sum(lit)),
            job=view.job,
            node=count_of(len(lit), "{count} node", "{count} nodes"),
        )
        parts = [
            ngettext("{ready} takes new work.", "{ready} take new work.", totals.ready).format(
                ready=ready
            )
        ]
    else:
        strong = ngettext(
            "{ready} takes new work.", "{ready} take new work.", totals.ready
        ).format(ready=ready)
        parts = []
    if totals.lost < totals.nodes:
        parts.append(_allocated_told(totals))
        if totals.hole is not None:
            parts[-1] += gettext("; the largest hole takes {hole_memory} MiB.").format(
                hole_memory=number(totals.hole_memory)
            )
        else:
            parts[-1] += gettext("; no node takes new work.") if not totals.ready else "."
    lost = [rack.name for place in places for rack in place.racks if rack.drawing.state == "lost"]
    if lost:
        parts.append(_lost_told(lost))
    elif totals.lost:
        parts.append(
            gettext("{nodes} lost.").format(
                nodes=count_of(totals.lost, "{count} node is", "{count} nodes are")
            )
        )
    if totals.silent:
        parts.append(
            gettext("{nodes} silent.").format(
                nodes=count_of(totals.silent, "{count} node is", "{count} nodes are")
            )
        )
    return strong, " ".join(parts)


def _allocated_told(totals: Totals) -> str:
    """The beginning of a sentence; what is used only where every node says so."""
    memory, cpu = totals.memory_share, totals.cpu_share
    if not totals.is_told_by_all:
        return gettext("Memory is {memory} % allocated and CPU {cpu} %").format(
            memory=memory, cpu=cpu
        )
    return gettext(
        "Memory is {memory} % allocated and {memory_used} % used, CPU {cpu} % and {cpu_used} %"
    ).format(
        memory=memory,
        cpu=cpu,
        memory_used=totals.memory_used_share,
        cpu_used=totals.cpu_used_share,
    )


def _lost_told(lost: Sequence[str]) -> str:
    named = ", ".join(lost[:_NAMED])
    more = len(lost) - _NAMED
    rest = gettext(" and {more} more").format(more=number(more)) if more > 0 else ""
    return ngettext(
        "{named}{rest} is lost as a whole.", "{named}{rest} are lost as a whole.", len(lost)
    ).format(named=named, rest=rest)
