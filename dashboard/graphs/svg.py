"""A graph as SVG text: the one place where a node, an arrow, a label or a step has its look.

In: geometry. Out: one element per item, with the item's key in `data-key`. A page is made of all
of them, a live frame carries those that changed; `static/js/graphs/svg.js` puts them in their
places and knows none of their shapes. Names come from people: everything is escaped here.
"""

from collections.abc import Mapping
from html import escape

from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Disc,
    GraphEdge,
    GraphLane,
    GraphNode,
    Line,
)
from dashboard.wording import ELLIPSIS

_DISC_RADIUS = 9
_ICON_SIZE = 16

#: What an attribute may hold: text, a number, or whether it is there at all.
_Value = str | float | bool


def node_svg(node: GraphNode) -> str:
    """A node with outlines, icon and texts; a link where it has an address.

    The Tab key reaches every node until `navigate.js` lets arrow keys run along the edges.
    """
    attributes: dict[str, _Value] = {
        "class": "graph-node",
        "data-key": node.key,
        "data-state": node.state,
        "data-quasi": node.is_quasi,
        "data-tombstone": node.is_tombstone,
        "aria-current": "true" if node.is_selected else False,
        "href": node.href or False,
        "role": False if node.href else "img",
        "tabindex": 0,
        "aria-label": node.name,
    }
    outlines = _circle(node) if node.shape == CIRCLE else _stadium(node)
    # What was cut is told whole to whoever points at it.
    is_cut = any(line.text.endswith(ELLIPSIS) for line in node.lines)
    title = _element("title", {}, escape(node.name)) if is_cut else ""
    return _element("a", attributes, title + outlines + "".join(map(_line, node.lines)))


def edge_svg(edge: GraphEdge) -> str:
    """An arrow with its labels."""
    marker = f"url(#{edge.marker})"
    line: dict[str, _Value] = {"class": "line", "d": edge.line, "marker-end": marker}
    if edge.is_double:
        line["marker-start"] = marker
    attributes: dict[str, _Value] = {
        "class": "graph-edge",
        "data-key": edge.key,
        "data-source": edge.source,
        "data-target": edge.target,
        "data-kind": edge.kind,
        "data-path": edge.path or False,
    }
    return _element("g", attributes, _element("path", line) + "".join(map(label_svg, edge.labels)))


def lane_svg(lane: GraphLane) -> str:
    """A band: hairline above, gutter with bar and words; a link to its rows."""
    middle = lane.y + lane.height / 2
    words = [("graph-lane-title", lane.title), *(("graph-lane-sub", sub) for sub in lane.subs)]
    first = middle + 4.5 - 7.5 * (len(words) - 1)
    gutter: dict[str, _Value] = {"x": 0, "y": lane.y + 1, "height": lane.height - 1}
    parts = [
        _element("line", {"class": "rule", "x2": lane.width, "y1": lane.y, "y2": lane.y}),
        _element("rect", {"class": "hit", **gutter, "width": lane.gutter}),
        _element("rect", {"class": "bar", **gutter, "width": 3}),
        *(
            _element("text", {"class": name, "x": 14, "y": first + 15.5 * row}, escape(text))
            for row, (name, text) in enumerate(words)
        ),
    ]
    attributes: dict[str, _Value] = {
        "class": "graph-lane",
        "data-key": lane.key,
        "data-state": lane.state or False,
        "href": lane.href or False,
        "aria-label": lane.name,
    }
    return _element("a", attributes, "".join(parts))


def label_svg(label: ArrowLabel, *, key: str = "") -> str:
    """Text beside an arrow; with a key one that stands by itself."""
    name = "graph-label" if label.anchor == "middle" else f"graph-label graph-label-{label.anchor}"
    words = escape(label.text)
    if label.flow:
        flow = _element("tspan", {"class": "flow"}, escape(label.flow))
        words = f"{words} {flow}" if words else flow
    attributes: dict[str, _Value] = {"class": name, "data-key": key or False}
    return _element("text", attributes | {"x": label.x, "y": label.y}, words)


def disc_svg(disc: Disc) -> str:
    """The number of a step on its arrow."""
    circle = _element("circle", {"cx": disc.x, "cy": disc.y, "r": _DISC_RADIUS})
    text = _element("text", {"x": disc.x, "y": disc.baseline}, escape(disc.text))
    return _element("g", {"class": "graph-step", "data-key": disc.key}, circle + text)


def _circle(node: GraphNode) -> str:
    centre = {"cx": node.x, "cy": node.y}
    return _element("circle", {"class": "focus", **centre, "r": node.focus_radius}) + _element(
        "circle", {"class": "shape", **centre, "r": node.radius}
    )


def _stadium(node: GraphNode) -> str:
    """From back to front: focus, what is folded behind, the pulse, the shape, the icon."""
    size = node.width, node.height, node.radius
    x, y, *grown = node.focus
    parts = [_rect("focus", (x, y), grown)]
    parts += [_rect("behind", place, size) for place in node.behind]
    if node.is_current:
        parts.append(_rect("graph-pulse", (node.x, node.y), size))
    parts.append(_rect("shape", (node.x, node.y), size))
    if node.icon:
        x, y = node.icon_place
        place = {"x": x, "y": y, "width": _ICON_SIZE, "height": _ICON_SIZE}
        parts.append(_element("use", {"class": "graph-icon", "href": f"#i-{node.icon}", **place}))
    return "".join(parts)


def _rect(name: str, corner: tuple[float, float], size: tuple[float, ...] | list[float]) -> str:
    width, height, radius = size
    x, y = corner
    place: dict[str, _Value] = {"class": name, "x": x, "y": y}
    return _element("rect", place | {"width": width, "height": height, "rx": radius})


def _line(line: Line) -> str:
    attributes: dict[str, _Value] = {"class": f"graph-{line.role}", "x": line.x, "y": line.y}
    return _element("text", attributes, escape(line.text))


def _element(name: str, attributes: Mapping[str, _Value], content: str = "") -> str:
    """`content` is markup; attributes that are False are left out."""
    written = "".join(
        f' {attribute}="{_written(value)}"'
        for attribute, value in attributes.items()
        if value is not False
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _written(value: _Value) -> str:
    if value is True:
        return ""
    return escape(value) if isinstance(value, str) else f"{round(value, 2):.10g}"
