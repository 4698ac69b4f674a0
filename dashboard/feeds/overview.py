"""The page Now, live: counts, moves and the waiting room follow every change from memory."""

from typing import Any

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Drawing, Facts, Html, Moved, Piece, Redrawing
from dashboard.graphs.drawing import DrawnGraph
from dashboard.overview import WINDOW, Overview
from dashboard.queries.overview import happened_to, overview_parts
from dashboard.queries.usual import usual_figures
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.evaluation import LifecycleStep

#: Moves leave the window by themselves: the map is drawn again this often, ns.
_AGEING = WINDOW // 12
#: The last hour is compared with what is usual this often, while evaluations end, ns.
_BETWEEN_COMPARISONS = 10_000_000_000


class OverviewFeed(Feed):
    """Loaded once, then counted on; a flush asks the database only when a drain has begun."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        sees_nodes = NODE_READ in subscription.may
        self._overview = Overview(subscription.namespaces, sees_nodes=sees_nodes)
        self._happened = happened_to(subscription.namespaces, sees_nodes=sees_nodes)
        self._counted_index = 0
        self._has_changed = False
        self._drawn_at = 0
        #: When the last hour was compared last, and whether it is to be compared anew.
        self._compared_at = 0
        self._has_ended = self._compares = False
        self._flows: dict[str, int] = {}
        #: The map as all viewers have it; None before anybody came.
        self._drawn: DrawnGraph | None = None

    def load(self, reader: RecordReader) -> None:
        """Read what is counted."""
        self._overview.load(reader)
        self._counted_index = reader.index
        self._happened.load(reader)

    def observe(self, frame: EventFrame) -> None:
        """Take note of one committed write; what it brings is told at the next flush."""
        super().observe(frame)
        before = self._happened.rows()
        self._happened.take(frame)
        self._has_changed |= self._happened.rows() != before

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        # What was committed while the feed was loaded comes as a frame too.
        if index > self._counted_index:
            self._has_changed |= self._overview.take(event, index)
            self._has_ended |= event.topic is Topic.EVALUATION

    def observe_step(self, step: LifecycleStep) -> bool:
        """A hint moves its evaluation on the map; the record will not move it again."""
        moved = self._overview.take_step(step)
        self._has_changed |= moved
        return moved

    def is_due(self, now: int) -> bool:
        """Whether moves have grown old since the last drawing, or a rollout has become stuck."""
        if self._has_ended and now >= self._compared_at + _BETWEEN_COMPARISONS:
            self._has_ended, self._compares, self._compared_at = False, True, now
        if self._drawn_at and self._overview.becomes_stuck(self._drawn_at, now):
            return True
        return bool(self._flows) and now >= self._drawn_at + _AGEING

    @property
    def needs_reader(self) -> bool:
        """What was on a node when its drain began is read."""
        return self._compares or self._overview.misses_something or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """Everything but the rows, when anything changed or grew old."""
        pieces = super().flush(reader, now)
        if reader is not None and self._compares:
            self._compares = False
            figures = usual_figures(reader, self.subscription.namespaces, now)
            html = rendered("dashboard/partials/_usual.html", {"usual": figures})
            pieces = (*pieces, Html(target="usual", html=html))
        if reader is not None and self._overview.misses_something:
            self._overview.read_missing(reader)
            self._has_changed = True
        if not (self._has_changed or self.is_due(now)):
            return pieces
        self._has_changed = False
        self._drawn_at = now
        before, self._flows = self._flows, self._overview.flows(now)
        moved = {
            arrow: count for arrow, count in self._flows.items() if count > before.get(arrow, 0)
        }
        parts = self._parts(now)
        changes = self._map(parts).redraw(parts["map"])
        moves = Redrawing(patch=changes), Moved(key="map", edges=moved)
        return (*pieces, *moves, *_panels(parts))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The map as all viewers have it, the figures, the waiting room, the needs."""
        parts = self._parts(now)
        drawing = Drawing(graph=self._map(parts).whole())
        # Who comes now has younger moves on the page: the next flush brings all to them.
        self._flows, self._drawn_at = self._flows or self._overview.flows(now), 0
        return (drawing, *_panels(parts))

    def _parts(self, now: int) -> dict[str, Any]:
        happened = self._happened.rows()
        return {**overview_parts(self._overview, now), "happened": happened, "now": now}

    def _map(self, parts: dict[str, Any]) -> DrawnGraph:
        """As it was told last, as it is now when nobody was told."""
        if self._drawn is None:
            self._drawn = DrawnGraph(parts["map"])
        return self._drawn


def _panels(parts: dict[str, Any]) -> tuple[Piece, ...]:
    lines = {f"{name}-line": line for name, line in parts["lines"].items()}
    panels = {
        "now-sentence": "dashboard/partials/_now_sentence.html",
        "waiting-room": "dashboard/partials/_waiting_room.html",
        "needs": "dashboard/partials/_needs.html",
        "happened": "dashboard/partials/_happened.html",
        "map-list": "dashboard/partials/_map_list.html",
    }
    return (
        Facts(values=parts["figures"], say=f"{parts['strong']} {parts['rest']}"),
        *(
            Html(target=target, html=rendered(template, {**parts, "id": target}))
            for target, template in panels.items()
        ),
        *(
            Html(
                target=target,
                html=rendered("dashboard/partials/_spark.html", {"id": target, "points": line}),
            )
            for target, line in lines.items()
        ),
    )
