"""A graph as its viewers have it: whole, or what makes one version into a later one.

In: versions of one graph. Out: markup by layer, made once per item and version by `svg`. The
browser finds an element by its layer and key, changes it in place and keeps the rest.
"""

import msgspec

from dashboard.graphs.geometry import ArrowLabel, Disc, Graph, GraphEdge, GraphLane, GraphNode
from dashboard.graphs.svg import disc_svg, edge_svg, label_svg, lane_svg, node_svg

_Item = GraphEdge | ArrowLabel | GraphNode | Disc | GraphLane
#: Layer, from back to front, to its items by key. A layer is the group `.graph-<layer>`.
_Layers = dict[str, dict[str, _Item]]


class GraphMarkup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of a graph: what is not in it is gone."""

    key: str
    description: str
    #: Attributes of the `svg` element.
    frame: dict[str, str]
    #: Layer to its elements, in order.
    layers: dict[str, tuple[str, ...]]


class GraphChanges(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What differs from the version before; empty where nothing does."""

    key: str
    description: str = ""
    frame: dict[str, str] = {}
    #: Layer to the elements that are new or changed.
    layers: dict[str, tuple[str, ...]] = {}
    #: Layer to the keys that are gone.
    gone: dict[str, tuple[str, ...]] = {}


class DrawnGraph:
    """One graph, and the markup of each of its items as they were told last."""

    def __init__(self, graph: Graph) -> None:
        """Draws all of it."""
        self._graph = graph
        self._items = _layers_of(graph)
        self._elements = {
            layer: {key: _element(key, item) for key, item in items.items()}
            for layer, items in self._items.items()
        }

    def whole(self) -> GraphMarkup:
        """Every element, as whoever has followed the changes has them."""
        return GraphMarkup(
            key=self._graph.key,
            description=self._graph.description,
            frame=_frame(self._graph),
            layers={
                layer: tuple(self._elements[layer][key] for key in items)
                for layer, items in self._items.items()
            },
        )

    def redraw(self, graph: Graph) -> GraphChanges:
        """Become a later version of the same graph; what must be told of it."""
        before, self._graph = self._graph, graph
        known, self._items = self._items, _layers_of(graph)
        changed, gone = {}, {}
        for layer, items in self._items.items():
            elements, old = self._elements[layer], known[layer]
            fresh = {
                key: _element(key, item) for key, item in items.items() if old.get(key) != item
            }
            lost = tuple(key for key in old if key not in items)
            elements.update(fresh)
            for key in lost:
                del elements[key]
            changed[layer], gone[layer] = tuple(fresh.values()), lost
        return GraphChanges(
            key=graph.key,
            description="" if graph.description == before.description else graph.description,
            frame={} if graph.view == before.view else _frame(graph),
            layers={layer: elements for layer, elements in changed.items() if elements},
            gone={layer: keys for layer, keys in gone.items() if keys},
        )


def _layers_of(graph: Graph) -> _Layers:
    lanes: _Layers = {}
    if graph.lanes is not None:
        lanes["lanes"] = {lane.key: lane for lane in graph.lanes}
    return {
        **lanes,
        "edges": {edge.key: edge for edge in graph.edges},
        "labels": {str(place): label for place, label in enumerate(graph.labels)},
        "nodes": {node.key: node for node in graph.nodes},
        "discs": {disc.key: disc for disc in graph.discs},
    }


def _element(key: str, item: _Item) -> str:
    match item:
        case GraphNode():
            return node_svg(item)
        case GraphEdge():
            return edge_svg(item)
        case Disc():
            return disc_svg(item)
        case GraphLane():
            return lane_svg(item)
        case ArrowLabel():
            return label_svg(item, key=key)


def _frame(graph: Graph) -> dict[str, str]:
    x, y, width, height = (f"{value:.10g}" for value in graph.view)
    return {"viewBox": f"{x} {y} {width} {height}", "width": width, "height": height}
