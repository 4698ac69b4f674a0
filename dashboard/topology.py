"""The map of all nodes: places of racks of nodes, how full each is, where one job runs.

In: where nodes stand, what is held of them, and a view. Out: drawings of racks with their words,
sums, the sentence. Made anew from 5,000 nodes in some milliseconds; knows no reader.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.utils.translation import gettext, ngettext

from cluster.store.ports import NodePlace, NodeSum
from dashboard.graphs.racks import HOLE, LIT, LOST, RING, SILENT, RackDrawing
from dashboard.topology_view import MEASURES, TopologyView
from dashboard.wording import NONE, count_of, natural, number
from scheduler.structs.node import LOST as LOST_STATUSES
from scheduler.structs.node import NodeEligibility, NodeStatus

#: A rack of more nodes is drawn in parts of so many.
_LARGEST, _PART = 80, 40
_NAMED = 3
NO_SUM = NodeSum()


class MappedNodes(NamedTuple):
    """Everything the map is made of; `lit`: allocations of the lit job by node."""

    places: Mapping[str, NodePlace]
    sums: Mapping[str, NodeSum]
    #: Which of a node's labels is its rack; -1 where no node has any.
    rack_label: int = -1
    lit: Mapping[str, int] | None = None


class MapRack(msgspec.Struct, frozen=True, kw_only=True):
    """Some nodes that stand together, in the order of their names."""

    key: str
    name: str
    nodes: tuple[NodePlace, ...]
    totals: "Totals"
    lit: int
    drawing: RackDrawing


class MapPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Racks that stand together."""

    key: str
    name: str
    racks: tuple[MapRack, ...]
    totals: "Totals"
    told: str


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over nodes. What can be given counts of those that are not lost."""

    nodes: int = 0
    ready: int = 0
    lost: int = 0
    #: They missed their heartbeat; what they hold is not given up yet.
    silent: int = 0
    draining: int = 0
    closed: int = 0
    cpu_mhz: int = 0
    memory_mb: int = 0
    cpu_held: int = 0
    memory_held: int = 0
    #: The node on which one more allocation could get most, and how much.
    hole: NodePlace | None = None
    hole_memory: int = 0
    hole_cpu: int = 0

    @property
    def apart(self) -> list[str]:
        """How many of them take no new work, by why."""
        counts = (
            (self.lost, "lost"), (self.silent, "silent"), (self.draining, "draining"),
            (self.closed, "closed"),
        )  # fmt: skip
        return [f"{number(count)} {word}" for count, word in counts if count]

    @property
    def memory_share(self) -> int:
        """Percent of memory allocated."""
        return _percent(self.memory_held, self.memory_mb)

    @property
    def cpu_share(self) -> int:
        """Percent of CPU allocated."""
        return _percent(self.cpu_held, self.cpu_mhz)

    def share(self, by: str) -> int:
        """Percent allocated, by what darkness means."""
        memory, cpu = self.memory_share, self.cpu_share
        return {"cpu": cpu, "fullest": max(memory, cpu)}.get(by, memory)


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
    totals = totals_of(shown, fleet.sums)
    lit = fleet.lit or {}
    lit_here = [lit[place.id] for place in shown if lit.get(place.id)]
    strong, rest = _sentence(totals, places, view, lit_here)
    return TopologyMap(
        places=places, totals=totals, strong=strong, rest=rest, classes=tuple(classes),
        rack_count=sum(len(place.racks) for place in places),
        lit_nodes=len(lit_here), lit_count=sum(lit_here),
    )  # fmt: skip


def totals_of(nodes: Iterable[NodePlace], sums: Mapping[str, NodeSum]) -> Totals:
    """Sums over these nodes."""
    counts: Counter[str] = Counter()
    cpu = memory = cpu_held = memory_held = 0
    best: tuple[int, int, NodePlace] | None = None
    for node in nodes:
        state = state_of_place(node)
        counts[state] += 1
        counts["nodes"] += 1
        if state == "lost":
            continue
        held = sums.get(node.id, NO_SUM)
        cpu, memory = cpu + node.cpu_mhz, memory + node.memory_mb
        cpu_held, memory_held = cpu_held + held.cpu_mhz, memory_held + held.memory_mb
        if state == "ready":
            left = max(node.memory_mb - held.memory_mb, 0), max(node.cpu_mhz - held.cpu_mhz, 0)
            # Of equal ones the first by name, however they come.
            if best is None or left > best[:2] or (left == best[:2] and node.name < best[2].name):
                best = (*left, node)
    return Totals(
        nodes=counts["nodes"], ready=counts["ready"], lost=counts["lost"],
        silent=counts["silent"], draining=counts["draining"], closed=counts["ineligible"],
        cpu_mhz=cpu, memory_mb=memory, cpu_held=cpu_held, memory_held=memory_held,
        hole=best[2] if best else None,
        hole_memory=best[0] if best else 0, hole_cpu=best[1] if best else 0,
    )  # fmt: skip


def state_of_place(node: NodePlace) -> str:
    """`ready`, `draining`, `lost`, `silent`, or `ineligible`: closed, or not heard of yet."""
    if node.status in LOST_STATUSES:
        return "lost"
    if node.status == NodeStatus.DISCONNECTED:
        return "silent"
    if node.is_draining:
        return "draining"
    is_open = node.eligibility == NodeEligibility.ELIGIBLE and node.status == NodeStatus.READY
    return "ready" if is_open else "ineligible"


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
    everything = [node for nodes in racks.values() for node in nodes]
    totals = totals_of(everything, fleet.sums)
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
    totals = totals_of(nodes, fleet.sums)
    lit = sum((fleet.lit or {}).get(node.id, 0) for node in nodes)
    key = _key(path)
    all_lost = totals.lost == totals.nodes
    mark = f"{totals.share(view.by)} %" if fleet.lit is None else (number(lit) if lit else NONE)
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


def _looks(node: NodePlace, fleet: MappedNodes, by: str) -> tuple[str, ...]:
    state = state_of_place(node)
    if state == "lost":
        return (LOST,)
    held = fleet.sums.get(node.id, NO_SUM)
    memory, cpu = _step(held.memory_mb, node.memory_mb), _step(held.cpu_mhz, node.cpu_mhz)
    step = {"cpu": cpu, "fullest": max(memory, cpu)}.get(by, memory)
    look = LIT if fleet.lit and fleet.lit.get(node.id) else f"h{step}"
    over = {"silent": (SILENT,), "draining": (RING,), "ineligible": (HOLE,)}.get(state, ())
    return (look, *over)


def _step(held: int, total: int) -> int:
    return min(held * 5 // total, 4) + 1 if total > 0 else 1


def _percent(held: int, total: int) -> int:
    return round(100 * held / total) if total else 0


def _key(path: str) -> str:
    """An id of the page, whatever the names hold."""
    return hashlib.sha256(path.encode()).hexdigest()[:10]


def _rack_label(name: str, place: str, totals: Totals, view: TopologyView, lit: int | None) -> str:
    word = gettext(MEASURES[view.by or "memory"])
    parts = [
        f"{name}, {place}" if place else name,
        count_of(totals.nodes, "{count} node", "{count} nodes"),
    ]
    parts += [f"{totals.share(view.by)} % {word}"] if totals.lost < totals.nodes else []
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
    if totals.lost < totals.nodes:
        of_rest = gettext(" of the rest") if totals.lost else ""
        parts.append(f"{totals.share(by)} %{of_rest} {gettext(MEASURES[by or 'memory'])}")
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
        memory, cpu = totals.share("memory"), totals.share("cpu")
        parts.append(
            gettext("Memory is {memory} % allocated and CPU {cpu} %").format(
                memory=memory, cpu=cpu
            )
        )
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


def _lost_told(lost: Sequence[str]) -> str:
    named = ", ".join(lost[:_NAMED])
    more = len(lost) - _NAMED
    rest = gettext(" and {more} more").format(more=number(more)) if more > 0 else ""
    return ngettext(
        "{named}{rest} is lost as a whole.", "{named}{rest} are lost as a whole.", len(lost)
    ).format(named=named, rest=rest)
