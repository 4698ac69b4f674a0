"""The page Now, live: counts, moves and the waiting room follow every change from memory."""

from typing import Any

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Drawing, Facts, Html, Moved, Piece, Redrawing
from dashboard.graphs.drawing import DrawnGraph
from dashboard.moves import WINDOWS
from dashboard.overview import WINDOW, Overview
from dashboard.queries.happenings import Happened, teller_for
from dashboard.queries.overview import happened_parts, overview_parts, usual_of
from dashboard.queries.stories import running_strip
from dashboard.queries.usual import BesideFigures
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.evaluation import LifecycleStep

#: Moves leave the window by themselves: the map is drawn again so often in one.
_PARTS = 12
#: What stands beside figures is read this often while things change, else by the minute, ns.
_BETWEEN_COMPARISONS = 10_000_000_000
_BETWEEN_QUIET_ONES = WINDOW
#: Running stories are read this often while they change, ns.
_BETWEEN_STORIES = 1_000_000_000
_TOLD_BESIDE = frozenset({Topic.EVALUATION, Topic.NODE, Topic.JOB_SUMMARY})
_OF_STORIES = frozenset({Topic.STORY, Topic.EVALUATION, Topic.DEPLOYMENT, Topic.NODE})


class OverviewFeed(Feed):
    """Loaded once, then counted on; a flush asks the database only when a drain has begun."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        sees_nodes = NODE_READ in subscription.may
        _, _, window = subscription.key.partition("/")
        self._overview = Overview(subscription.namespaces, sees_nodes=sees_nodes, window=window)
        self._ageing = WINDOWS[window] // _PARTS
        self._happened = Happened(teller_for(subscription.namespaces, sees_nodes=sees_nodes))
        self._counted_index = 0
        self._has_changed = False
        self._drawn_at = 0
        #: When that was read last which stands beside the figures; whether it is to be read anew.
        self._compared_at = 0
        self._differs = self._compares = False
        self._beside: BesideFigures | None = None
        #: The same of the stories that run.
        self._strip_at = 0
        self._strip_differs = self._reads_strip = False
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
            self._differs |= event.topic in _TOLD_BESIDE
            self._strip_differs |= event.topic in _OF_STORIES

    def observe_step(self, step: LifecycleStep) -> bool:
        """A hint moves its evaluation on the map; the record will not move it again."""
        moved = self._overview.take_hint(step)
        self._has_changed |= moved
        return moved

    def is_due(self, now: int) -> bool:
        """Whether something is to be read again, or has grown old."""
        self._compares |= self._wants_comparison(now)
        self._overview.hints.doubt(now)
        if self._strip_differs and now >= self._strip_at + _BETWEEN_STORIES:
            self._strip_differs, self._reads_strip, self._strip_at = False, True, now
        misses = self._overview.misses_something
        return self._compares or self._reads_strip or misses or self._is_old(now)

    @property
    def asks_at(self) -> int | None:
        """The next reading of the stories that run, where one changed since the last."""
        return self._strip_at + _BETWEEN_STORIES if self._strip_differs else None

    def _is_old(self, now: int) -> bool:
        """Whether time alone has changed the map, or what may need a person."""
        if self._drawn_at and self._overview.becomes_stuck(self._drawn_at, now):
            return True
        return bool(self._flows) and now >= self._drawn_at + self._ageing

    def _wants_comparison(self, now: int) -> bool:
        pause = _BETWEEN_COMPARISONS if self._differs else _BETWEEN_QUIET_ONES
        if not (self._differs or self._compared_at) or now < self._compared_at + pause:
            return False
        self._differs, self._compared_at = False, now
        return True

    @property
    def needs_reader(self) -> bool:
        """What the overview misses is read, such as what was on a node when its drain began."""
        misses = self._overview.misses_something
        return self._compares or self._reads_strip or misses or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """Everything but the rows, when anything changed or grew old."""
        pieces = super().flush(reader, now)
        if reader is not None:
            pieces += self._read_anew(reader, now)
        if reader is not None and self._overview.misses_something:
            self._overview.read_missing(reader)
            self._has_changed = True
        if not (self._has_changed or self._is_old(now)):
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
        return (*pieces, *moves, _said(parts), *self._news(_panels(parts)))

    def _read_anew(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """What is not counted on: what stands beside the figures, and which stories run."""
        if self._compares:
            self._compares, self._has_changed = False, True
            self._beside = usual_of(reader, self._overview, self.subscription.namespaces, now)
        if not self._reads_strip:
            return ()
        self._reads_strip = False
        return tuple(self._news([self._strip(reader, now)]))

    def _strip(self, reader: RecordReader, now: int) -> Html:
        told = running_strip(reader, self.subscription.namespaces, self.subscription.may)
        html = rendered("dashboard/partials/_running_stories.html", {**told, "now": now})
        return Html(target="running-stories", html=html)

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """All of it as it is now, for somebody who missed changes."""
        self._beside = usual_of(reader, self._overview, self.subscription.namespaces, now)
        return (self._strip(reader, now), *super().everything(reader, now))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The map as all viewers have it, the figures, the waiting room, the needs."""
        parts = self._parts(now)
        drawing = Drawing(graph=self._map(parts).whole())
        # What they are given may be newer than what the others were told.
        self.forget_told()
        # Who comes now has younger moves on the page: the next flush brings all to them.
        self._flows, self._drawn_at = self._flows or self._overview.flows(now), 0
        return (drawing, _said(parts), *_panels(parts))

    def _parts(self, now: int) -> dict[str, Any]:
        happened = self._happened.rows()
        return {
            **overview_parts(self._overview, self._beside, now),
            **happened_parts(happened),
            "now": now,
        }

    def _map(self, parts: dict[str, Any]) -> DrawnGraph:
        """As it was told last, as it is now when nobody was told."""
        if self._drawn is None:
            self._drawn = DrawnGraph(parts["map"])
        return self._drawn


def _said(parts: dict[str, Any]) -> Facts:
    return Facts(values={}, say=f"{parts['strong']} {parts['rest']}")


def _panels(parts: dict[str, Any]) -> list[Html]:
    panels = {
        "now-sentence": "dashboard/partials/_now_sentence.html",
        "waiting-room": "dashboard/partials/_waiting_room.html",
        "needs": "dashboard/partials/_needs.html",
        "happened": "dashboard/partials/_happened.html",
        "map-list": "dashboard/partials/_map_list.html",
        "map-told": "dashboard/partials/_map_told.html",
    }
    return [
        *(
            Html(target=target, html=rendered(template, {**parts, "id": target}))
            for target, template in panels.items()
        ),
        *(
            Html(
                target=f"figure-{figure.key}",
                html=rendered("dashboard/partials/_figure.html", {"figure": figure}),
            )
            for figure in parts.get("figures", ())
        ),
    ]
