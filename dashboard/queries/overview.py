"""The page Now: the lifecycle map with counts and moves, who waits, what needs somebody.

In: a reader, or the Overview that a feed keeps. Out: the context of `overview.html` and its parts.
"""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.operations.story_rights import levels_of
from cluster.store.ports import RecordReader
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.moves import MOST_LIVES, WINDOWS
from dashboard.overview import Overview
from dashboard.queries.events import EventsWish, kept_told
from dashboard.queries.figures import figure_tiles
from dashboard.queries.happenings import Happened, Happening, teller_for
from dashboard.queries.stories import running_strip
from dashboard.queries.usual import BesideFigures, usual
from dashboard.subscription import topic_text
from dashboard.viewer import Viewer
from dashboard.wording import clock_time, count_of

#: Rows of what needs a person.
MAX_NEEDS = 10
#: The stretches over which moves are counted: on the button, in a sentence.
_WORDS = {
    "": (gettext_noop("1 min"), gettext_noop("last minute")),
    "5m": (gettext_noop("5 min"), gettext_noop("last 5 minutes")),
    "1h": (gettext_noop("1 h"), gettext_noop("last hour")),
}


def overview_page(
    reader: RecordReader,
    viewer: Viewer,
    *,
    demo: dict[str, Any] | None = None,
    window: str = "",
) -> dict[str, Any]:
    """The context of the page; `demo` where one runs beside, `window` a key of `WINDOWS`."""
    sees_nodes = viewer.access.reads("node")
    window = window if window in WINDOWS else ""
    overview = Overview(viewer.looks_at, sees_nodes=sees_nodes, window=window)
    overview.load(reader)
    happened = Happened(teller_for(viewer.looks_at, sees_nodes=sees_nodes))
    happened.load(reader)
    parts = overview_parts(
        overview, usual_of(reader, overview, viewer.looks_at, viewer.now), viewer.now
    )
    space = viewer.chosen or "*"
    return {
        **parts,
        **running_strip(reader, viewer.looks_at, levels_of(viewer.access)),
        "map_mermaid": graph_mermaid(parts["map"]),
        "windows": _windows(window),
        **happened_parts(happened.rows()),
        "live_topics": topic_text("overview", f"{space}/{window}" if window else space),
        "demo": demo,
    }


def usual_of(
    reader: RecordReader, overview: Overview, namespaces: frozenset[str] | None, now: int
) -> BesideFigures:
    """What stands beside the figures of an overview."""
    return usual(reader, namespaces, now, overview.figures(now).running, overview.nodes)


def happened_parts(rows: Sequence[Happening]) -> dict[str, Any]:
    """What happened lately, and where the page of the events goes on."""
    wish = EventsWish()
    older = wish.address(before=str(rows[-1].since)) if rows else wish.address()
    return {"happened": rows, "older_url": older, "kept_told": kept_told()}


def overview_parts(overview: Overview, beside: BesideFigures | None, now: int) -> dict[str, Any]:
    """What page and frames show of the overview; figures where what stands beside is known."""
    strong, rest = overview.sentence(now)
    needs = overview.needs(now)
    counts, flows = overview.counts(), overview.flows(now)
    tiles = {}
    if beside is not None:
        sees = {"sees_work": overview.sees_work, "sees_nodes": overview.sees_nodes}
        tiles["figures"] = figure_tiles(overview.figures(now), beside, **sees)
    return {
        **tiles,
        "counts": counts,
        "map": lifecycle_map(counts, flows, window=gettext(_WORDS[overview.window][1])),
        "map_told": _moves_told(overview, sum(flows.values())),
        "strong": strong,
        "rest": rest,
        "waiting": (waiting := overview.waiting()),
        "waiting_shown": sum(len(item.together) for item in waiting),
        "waiting_count": overview.waiting_count,
        "waiting_allocations": overview.waiting_allocations,
        "needs": needs[:MAX_NEEDS],
        "more_needs": max(len(needs) - MAX_NEEDS, 0),
        "needs_count": len(needs),
        "sees_nodes": overview.sees_nodes,
    }


def _windows(chosen: str) -> list[dict[str, Any]]:
    return [
        {
            "word": gettext(word),
            "url": f"/?moved={key}#lifecycle-map" if key else "/#lifecycle-map",
            "is_current": key == chosen,
        }
        for key, (word, _) in _WORDS.items()
    ]


def _moves_told(overview: Overview, moved: int) -> dict[str, str]:
    """How many moves there were, and what of them is not known any more."""
    told = gettext("{move} in the {window}").format(
        move=count_of(moved, "{count} move", "{count} moves"),
        window=gettext(_WORDS[overview.window][1]),
    )
    unknown = []
    if overview.whole_from:
        unknown.append(
            gettext("before {time} those of the newest {most} only").format(
                time=clock_time(overview.whole_from),
                most=count_of(
                    MOST_LIVES[overview.window], "{count} evaluation", "{count} evaluations"
                ),
            )
        )
    if overview.collected:
        unknown.append(
            gettext("the moves of {evaluation} that were collected are not known any more").format(
                evaluation=count_of(
                    overview.collected, "{count} evaluation", "{count} evaluations"
                )
            )
        )
    return {"moved": told, "unknown": "; ".join(unknown)}
