"""The page of the topology: the map of all nodes, and what is selected on it.

In: a reader and a TopologyView. Out: the context of `topology.html`, in eight reads whatever the
number of nodes: their places, what is held of each, where the lit job runs, what is selected.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from msgspec.structs import replace

from cluster.page_addresses import job_url
from cluster.store.ports import Listing, NodePlace, NodeSum, RecordReader
from dashboard.fleet_totals import NO_SUM, cpu_told, memory_told, state_of_place
from dashboard.graphs.racks import racks_html
from dashboard.queries.allocations import state_of
from dashboard.queries.nodes import capacities, node_state
from dashboard.queries.topology_past import past_context, past_map
from dashboard.subscription import topic_text
from dashboard.topology import (
    MappedNodes,
    MapRack,
    TopologyMap,
    map_of,
    rack_keys,
    rack_label,
)
from dashboard.topology_view import GROUPS, MEASURES, NOW, USED_MEASURES, TopologyView
from dashboard.viewer import Viewer
from dashboard.wording import natural, number
from scheduler.state import nouns
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.job import Job
from scheduler.structs.node import NodeStatus

#: Allocations of the selected node that are shown, those that hold most memory first.
MAX_ALLOCATIONS = 8
#: Jobs of one id in several namespaces that are looked through.
_NAMESAKES = 20


def topology_page(reader: RecordReader, viewer: Viewer, *, wanted: TopologyView) -> dict[str, Any]:
    """The context of the page."""
    view, missing = _with_job(reader, viewer, wanted)
    past = past_map(reader, view) if view.at else None
    # Links lead on from this moment, whatever word asked for it.
    view = replace(view, at=str(past.moment.index) if past is not None else "")
    fleet = past.fleet if past is not None else read_fleet(reader, view)
    return {
        "view": view,
        "wanted_job": wanted.job,
        "missing_job": missing,
        "groups": {key: gettext(word) for key, word in GROUPS.items()},
        "measures": {key: gettext(word) for key, word in MEASURES.items()},
        "rack_key": rack_keys()[fleet.rack_label] if fleet.rack_label >= 0 else "",
        "rack_keys": ", ".join(rack_keys()),
        "map_url": view.address(view=""),
        "table_url": view.address(view="table"),
        # The past does not change.
        "live_topics": topic_text("topology", view.text) if past is None else "",
        "back_url": view.address(at=NOW, node=""),
        "namespace": view.namespace,
        "job_url": job_url(view.lit) if view.lit else "",
        **shown_map(fleet, view),
        **selected_parts(reader, fleet, view, viewer.namespaces),
        **(past_context(past, view) if past is not None else {}),
    }


def _with_job(
    reader: RecordReader, viewer: Viewer, wanted: TopologyView
) -> tuple[TopologyView, bool]:
    """The view with the lit job's namespace; whether a job was asked for that is not there."""
    if not wanted.job:
        return replace(wanted, namespace=""), False
    namespaces = viewer.namespaces
    if wanted.namespace:
        is_seen = viewer.sees(wanted.namespace)
        namespaces = frozenset({wanted.namespace}) if is_seen else frozenset()
    listing = Listing(
        prefix=wanted.job, namespaces=namespaces, equals={}, limit=_NAMESAKES, by_id=True
    )
    jobs = [job for job in reader.page(nouns.JOBS, listing) if job.id == wanted.job]
    if not jobs:
        return replace(wanted, job="", namespace=""), True
    found: Job = min(jobs, key=lambda job: (job.namespace != DEFAULT_NAMESPACE, job.namespace))
    return replace(wanted, namespace=found.namespace), False


def read_fleet(reader: RecordReader, view: TopologyView) -> MappedNodes:
    """Everything the map is made of, in three reads, four where a job is lit."""
    places = {each.id: each for each in reader.node_places(rack_keys())}
    lit: dict[str, int] | None = None
    if view.lit is not None:
        lit = {}
        for node_id in reader.held_places(view.lit).values():
            lit[node_id] = lit.get(node_id, 0) + 1
    return MappedNodes(
        places, reader.node_sums(), rack_label(places.values()), lit, reader.node_used()
    )


def shown_map(fleet: MappedNodes, view: TopologyView) -> dict[str, Any]:
    """The map with its markup."""
    drawn = map_of(fleet, view)
    return {
        "map": drawn,
        "memory_used_told": memory_told(drawn.totals),
        "cpu_used_told": cpu_told(drawn.totals),
        "is_by_use": view.by in USED_MEASURES,
        "view": view,
        "place_racks": [
            {"place": place, "html": mark_safe(racks_html(rack.drawing for rack in place.racks))}  # noqa: S308 - graphs.racks escapes every name
            for place in drawn.places
        ]
        if not view.view
        else (),
        "is_lit": view.lit is not None,
        "measure_word": gettext(MEASURES[view.by or "memory"]),
    }


def selected_parts(
    reader: RecordReader,
    fleet: MappedNodes,
    view: TopologyView,
    namespaces: frozenset[str] | None,
) -> dict[str, Any]:
    """The rack and the node that are selected; nothing of what is not there any more."""
    rack = _selected_rack(map_of(fleet, replace(view, node="")), view) if view.rack else None
    # What ran on a node is told of now only.
    node = reader.node(view.node) if view.node and not view.at else None
    context: dict[str, Any] = {"view": view, "rack": rack, "node": None}
    if rack is not None:
        context["rack_rows"] = [_node_row(each, fleet, view) for each in rack.nodes]
    if node is None:
        return context
    allocs = [each for each in reader.allocations_by_node(node.id) if not each.is_client_terminal]
    seen = [each for each in allocs if namespaces is None or each.namespace in namespaces]
    seen.sort(key=lambda alloc: (-_memory(alloc), natural(alloc.name), alloc.id))
    place = fleet.places.get(node.id)
    alike = sum(each.node_class == node.node_class for each in fleet.places.values())
    use = reader.node_use(node.id)
    return {
        **context,
        "node": node,
        "node_state": node_state(node),
        "capacities": capacities(node, use),
        "alike": alike if node.node_class else 0,
        "class_url": view.address(node_class=node.node_class, rack="", node=""),
        "used": fleet.used.get(node.id),
        "rack_name": place.labels[fleet.rack_label] if place and fleet.rack_label >= 0 else "",
        "alloc_count": len(allocs),
        "hidden": len(allocs) - len(seen),
        "allocs": [
            {"alloc": each, "state": state_of(each), "memory": _memory(each)}
            for each in seen[:MAX_ALLOCATIONS]
        ],
    }


def _memory(alloc: Any) -> int:
    tasks = alloc.allocated_resources.tasks.values()
    return sum(task.memory.memory_mb for task in tasks)


def _selected_rack(drawn: TopologyMap, view: TopologyView) -> MapRack | None:
    racks = (rack for place in drawn.places for rack in place.racks)
    return next((rack for rack in racks if rack.key == view.rack), None)


def _node_row(place: NodePlace, fleet: MappedNodes, view: TopologyView) -> Mapping[str, Any]:
    held: NodeSum = fleet.sums.get(place.id, NO_SUM)
    state = state_of_place(place)
    is_closed = state == "ineligible" and place.status == NodeStatus.READY
    return {
        "place": place,
        "state": state if is_closed or state in {"silent", "draining"} else place.status,
        "held": held,
        "lit": (fleet.lit or {}).get(place.id, 0),
        "url": f"/nodes/{place.id}/" if view.at else f"{view.address(node=place.id)}#selected",
        "is_selected": place.id == view.node,
        "used": fleet.used.get(place.id),
        "memory_told": gettext("{memory_mb} of {memory_mb2}").format(
            memory_mb=number(held.memory_mb), memory_mb2=number(place.memory_mb)
        ),
        "cpu_told": gettext("{cpu_mhz} of {cpu_mhz2}").format(
            cpu_mhz=number(held.cpu_mhz), cpu_mhz2=number(place.cpu_mhz)
        ),
    }
