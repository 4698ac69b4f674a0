"""The map of all evaluations: counts per state, moves per arrow, and the legend of the machine.

In: counts and moves. Out: geometry. Which states exist and where they stand is `machine`'s
business.
"""

from collections.abc import Mapping

from dashboard.graphs import machine
from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Graph,
    GraphEdge,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.texts import gettext
from dashboard.wording import number

#: Moves in the window from which an arrow is drawn strong.
HOT = 20


def lifecycle_map(
    counts: Mapping[str, int], flows: Mapping[str, int], *, window: str = ""
) -> Graph:
    """Where every evaluation is, and how many moved along each arrow (keys of `machine`)."""
    x, y, radius = machine.EVENT_PLACE
    nodes = [
        GraphNode(
            key=machine.EVENT,
            state="event",
            name=gettext("Cluster event"),
            shape=CIRCLE,
            x=x,
            y=y,
            width=2 * radius,
            height=2 * radius,
            lines=circle_lines(x, y, (gettext("Cluster"), gettext("event"))),
        )
    ]
    for state, place in machine.PLACES.items():
        nodes.append(_counted_node(state, place, counts.get(state)))
    edges = tuple(
        _flow_edge(arrow, flows.get(arrow.key, 0))
        for arrow in machine.ARROWS
        if arrow.key not in machine.RARE or flows.get(arrow.key)
    )
    return Graph(
        key="map",
        title=gettext("Lifecycle map"),
        description=gettext(
            "Every evaluation state with the number of evaluations in it now, and "
            "how many moved along each arrow in the {window}."
        ).format(window=window or gettext("last minute")),
        view=machine.VIEW,
        nodes=tuple(nodes),
        edges=edges,
        labels=(ArrowLabel(x=machine.BUS.x, y=machine.BUS.y, text=gettext("new evaluation")),),
    )


def _counted_node(state: str, place: machine.StatePlace, count: int | None) -> GraphNode:
    told = "" if count is None else number(count)
    return GraphNode(
        key=state,
        state=state,
        name=gettext("{state}: {told} evaluations").format(state=state, told=told)
        if told
        else state,
        x=place.x,
        y=place.y,
        width=place.width,
        height=machine.HEIGHT,
        icon=state,
        is_quasi=place.is_quasi,
        is_current=bool(count) and state in ("scheduling", "applying"),
        lines=stadium_lines(
            (place.x, place.y), (place.width, machine.HEIGHT), state, right=("count", told)
        ),
        href=f"/evaluations/?status={state}",
    )


def _flow_edge(arrow: machine.Arrow, moved: int) -> GraphEdge:
    spot = arrow.spot
    flow = number(moved) if moved else ""
    words = tuple(map(gettext, arrow.words)) or (("",) if flow else ())
    labels = tuple(
        ArrowLabel(
            x=spot.x, y=spot.y + 14 * line, text=text, anchor=spot.anchor,
            flow=flow if line == len(words) - 1 else "",
        )
        for line, text in enumerate(words)
    ) if spot.x else ()  # fmt: skip
    return GraphEdge(
        key=arrow.key,
        source=arrow.source,
        target=arrow.target,
        kind=arrow.kind,
        path="hot" if moved >= HOT else "",
        line=arrow.line,
        labels=labels,
        text=", ".join(map(gettext, arrow.words)) or gettext(arrow.meaning),
    )
