"""The way of evaluations from the queue to the record: places with counts, arrows with flows.

In: how many are where now, and how many went which way in a stretch of time. Out: geometry. What
the words of the arrows mean is said in `scheduler.structs.counted`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dashboard.graphs.geometry import (
    CIRCLE,
    ArrowLabel,
    Graph,
    GraphEdge,
    GraphNode,
    circle_lines,
    stadium_lines,
)
from dashboard.texts import gettext, gettext_noop
from dashboard.wording import number

#: Moves in the stretch from which an arrow is drawn strong.
HOT = 20
_VIEW = (0.0, 0.0, 1160.0, 246.0)
_MADE = (118.0, 122.0, 44.0)
_HEIGHT = 48.0


class _Place(NamedTuple):
    x: float
    y: float
    width: float
    word: str
    state: str
    icon: str
    href: str
    is_quasi: bool = False


_WAITS, _DISPUTED = "#scheduler-waits", "#scheduler-disputed"
_PLACES = {
    "waiting": _Place(236, 18, 152, gettext_noop("waiting"), "queued", "pending", _WAITS),
    "ready": _Place(236, 98, 152, gettext_noop("ready"), "pending", "pending", _WAITS),
    "delayed": _Place(236, 180, 152, gettext_noop("delayed"), "delayed", "delayed", _WAITS,
                      is_quasi=True),
    "hand": _Place(476, 98, 152, gettext_noop("in hand"), "scheduling", "scheduling",
                   "#scheduler-workers", is_quasi=True),
    "plans": _Place(706, 98, 152, gettext_noop("plan queue"), "applying", "applying",
                    "#scheduler-times", is_quasi=True),
    "applied": _Place(942, 30, 176, gettext_noop("as planned"), "complete", "complete",
                      "#scheduler-times"),
    "part": _Place(942, 166, 176, gettext_noop("in part"), "exhausted", "blocked", _DISPUTED),
}  # fmt: skip


class _Way(NamedTuple):
    """One arrow: the word its flow is counted by, its line, what stands beside it and where."""

    key: str
    source: str
    target: str
    line: str
    x: float
    y: float
    word: str = ""
    anchor: str = "middle"


_WAYS = (
    _Way("new-ready", "made", "ready", "M164 122H232", 198, 113),
    _Way("new-waiting", "made", "waiting", "M150 90C166 58 190 44 230 42", 168, 58, anchor="end"),
    _Way("new-delayed", "made", "delayed", "M150 154C166 186 190 202 230 204", 168, 196,
         anchor="end"),
    _Way("waiting-ready", "waiting", "ready", "M312 68V96", 322, 86, gettext_noop("its turn"),
         "start"),
    _Way("delayed-ready", "delayed", "ready", "M312 180V150", 322, 169,
         gettext_noop("time is up"), "start"),
    _Way("ready-hand", "ready", "hand", "M392 122H472", 432, 113, gettext_noop("taken")),
    _Way("hand-back", "hand", "delayed", "M552 148V184Q552 204 532 204H396", 474, 198,
         gettext_noop("handed back")),
    _Way("hand-plans", "hand", "plans", "M632 122H702", 667, 113, gettext_noop("plan")),
    _Way("plans-whole", "plans", "applied", "M862 112C890 84 900 54 938 54", 886, 66,
         gettext_noop("as planned"), "end"),
    _Way("plans-part", "plans", "part", "M862 132C890 160 900 190 938 190", 886, 190,
         gettext_noop("in part"), "end"),
)  # fmt: skip


def queue_map(counts: Mapping[str, int], flows: Mapping[str, int], *, stretch: str) -> Graph:
    """Places by their keys, flows by the words of arrows.

    `stretch` in words, such as `last minute`. A place of which nobody told stands there without a
    number.
    """
    x, y, radius = _MADE
    made = flows.get("made")
    circle = GraphNode(
        key="made",
        state="event",
        name=gettext("New in the {stretch}: {made}").format(
            stretch=stretch, made=number(made or 0)
        ),
        shape=CIRCLE,
        x=x,
        y=y,
        width=2 * radius,
        height=2 * radius,
        lines=circle_lines(x, y, (gettext("New"),), (number(made or 0),)),
    )
    return Graph(
        key="queue",
        title=gettext("From the queue to the record"),
        description=gettext(
            "Evaluations wait in the queue, workers take them, plans wait to be judged one after "
            "another; numbers in places are now, numbers on arrows are of the {stretch}."
        ).format(stretch=stretch),
        view=_VIEW,
        nodes=(circle, *(_node(key, place, counts) for key, place in _PLACES.items())),
        edges=tuple(_edge(way, flows.get(way.key, 0)) for way in _WAYS),
    )


def _node(key: str, place: _Place, counts: Mapping[str, int]) -> GraphNode:
    word, told = gettext(place.word), number(counts[key]) if key in counts else ""
    return GraphNode(
        key=key,
        state=place.state,
        name=f"{word}: {told}" if told else word,
        x=place.x,
        y=place.y,
        width=place.width,
        height=_HEIGHT,
        icon=place.icon,
        is_quasi=place.is_quasi,
        is_current=key in ("hand", "plans") and bool(counts.get(key)),
        lines=stadium_lines(
            (place.x, place.y), (place.width, _HEIGHT), word, right=("count", told)
        ),
        href=place.href,
    )


def _edge(way: _Way, moved: int) -> GraphEdge:
    word, flow = gettext(way.word) if way.word else "", number(moved) if moved else ""
    label = ArrowLabel(x=way.x, y=way.y, text=word, anchor=way.anchor, flow=flow)
    return GraphEdge(
        key=way.key,
        source=way.source,
        target=way.target,
        path="hot" if moved >= HOT else "",
        line=way.line,
        labels=(label,) if word or flow else (),
        text=word,
    )
