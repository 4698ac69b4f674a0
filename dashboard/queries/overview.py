"""The page Now: the lifecycle map with counts and moves, who waits, what needs somebody.

In: a reader, or the Overview that a feed keeps. Out: the context of `overview.html` and its parts.
"""

from typing import Any

from cluster.store.ports import Listing, RecordReader
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.overview import ANSWERED, FINISHED, WINDOW, Overview
from dashboard.queries.evaluations import evaluation_rows
from dashboard.queries.happenings import Happened
from dashboard.queries.usual import points, usual_figures
from dashboard.subscription import topic_text
from dashboard.viewer import Viewer
from scheduler.state import nouns

#: Points of a line through the window.
STRETCHES = 12
_LINE_OF = {**dict.fromkeys(FINISHED, "finished"), ANSWERED: "plans"}
#: The newest evaluations under the map; rows of what needs a person.
NEWEST, MAX_NEEDS = 10, 10


def overview_page(
    reader: RecordReader, viewer: Viewer, *, demo: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The context of the page; `demo` where one runs beside."""
    overview = Overview(viewer.looks_at, sees_nodes=viewer.access.reads("node"))
    overview.load(reader)
    happened = happened_to(viewer.looks_at, sees_nodes=viewer.access.reads("node"))
    happened.load(reader)
    newest = Listing(namespaces=viewer.looks_at, limit=NEWEST, reverse=True)
    shown = reader.page(nouns.EVALUATIONS, newest)[:NEWEST]
    parts = overview_parts(overview, viewer.now)
    return {
        **parts,
        "map_mermaid": graph_mermaid(parts["map"]),
        "usual": usual_figures(reader, viewer.looks_at, viewer.now),
        "happened": happened.rows(),
        "newest": evaluation_rows(reader, shown, viewer.now),
        "live_topics": topic_text("overview", viewer.chosen or "*"),
        "demo": demo,
    }


def happened_to(namespaces: frozenset[str] | None, *, sees_nodes: bool) -> Happened:
    """What happened in these namespaces (None: all), and to nodes for whoever sees them."""
    return Happened(
        lambda namespace: not namespace or namespaces is None or namespace in namespaces,
        sees_nodes=sees_nodes,
    )


def overview_parts(overview: Overview, now: int) -> dict[str, Any]:
    """What page and frames show of the overview."""
    strong, rest = overview.sentence(now)
    needs = overview.needs(now)
    counts = overview.counts()
    return {
        "counts": counts,
        "map": lifecycle_map(counts, overview.flows(now)),
        "figures": overview.figures(now),
        "lines": {name: points(line) for name, line in _lines(overview, now).items()},
        "strong": strong,
        "rest": rest,
        "waiting": (waiting := overview.waiting()),
        "waiting_shown": sum(len(item.together) for item in waiting),
        "waiting_count": overview.waiting_count,
        "needs": needs[:MAX_NEEDS],
        "more_needs": max(len(needs) - MAX_NEEDS, 0),
        "needs_count": len(needs),
        "sees_nodes": overview.sees_nodes,
    }


def _lines(overview: Overview, now: int) -> dict[str, list[int]]:
    """What ended and what plans were answered in each twelfth of the window, oldest first."""
    told = {"finished": [0] * STRETCHES, "plans": [0] * STRETCHES}
    for move in overview.moves:
        place = (move.at - (now - WINDOW)) * STRETCHES // WINDOW
        name = _LINE_OF.get(move.arrow)
        if name is not None and 0 <= place < STRETCHES:
            told[name][place] += 1
    return told
