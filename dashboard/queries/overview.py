"""The page Now: the lifecycle map with counts and moves, who waits, what needs somebody.

In: a reader, or the Overview that a room keeps. Out: the context of `overview.html` and its parts.
"""

from typing import Any

from cluster.store.listing import Listing
from cluster.store.listing import page as rows_of
from cluster.store.reader import DjangoStateReader
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.overview import Overview
from dashboard.queries.evaluations import evaluation_rows
from dashboard.viewer import Viewer

#: The newest evaluations under the map.
NEWEST = 10


def overview_page(reader: DjangoStateReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the page."""
    overview = Overview(viewer.namespaces)
    overview.load(reader)
    newest = Listing(namespaces=viewer.namespaces, limit=NEWEST, reverse=True)
    shown = rows_of(reader, "evaluations", newest)[:NEWEST]
    parts = overview_parts(overview, viewer.now)
    return {
        **parts,
        "map_mermaid": graph_mermaid(parts["map"]),
        "newest": evaluation_rows(reader, shown, viewer.now),
        "live_topics": "overview:*",
    }


def overview_parts(overview: Overview, now: int) -> dict[str, Any]:
    """What page and frames show of the overview."""
    strong, rest = overview.sentence()
    counts = overview.counts()
    return {
        "counts": counts,
        "map": lifecycle_map(counts, overview.flows(now)),
        "figures": overview.figures(now),
        "strong": strong,
        "rest": rest,
        "waiting": overview.waiting(),
        "waiting_count": overview.waiting_count,
        "needs": overview.needs(),
    }
