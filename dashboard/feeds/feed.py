"""The base of all feeds: what one subscription shows, one Feed per group of viewers.

A feed is loaded once when its first viewer comes, then fed every frame; it remembers what changed
and says it in pieces when flushed. All viewers of a group get the same pieces. A feed never
touches the database after `load`, except for panels, which ask the reader again (once per flush).
Which feed, panels and rows belong to which topic is said in `dashboard/panels.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.template.loader import render_to_string

from cluster.store.ports import RecordReader
from dashboard.feeds.pieces import Html, Piece
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.evaluation import LifecycleStep

#: The context of a panel from a reader, what is followed, and `now`.
PanelQuery = Callable[[RecordReader, Subscription, int], Mapping[str, Any]]
#: The context of one changed row: from the value and `now`, and for an evaluation from the newest
#: step that came with it, if any did.
RowContext = Callable[..., Mapping[str, Any]]

#: More changed rows than this are rendered off the event loop.
ROWS_ON_THE_LOOP = 60
#: As many rows as a live list keeps (swap.js).
NEW_ROWS = 200


class Panel(NamedTuple):
    """A part of a page that is rendered again, once for all viewers, when its topics change."""

    #: The id of the element that `template` renders.
    target: str
    template: str
    query: PanelQuery
    topics: frozenset[Topic]


class RowList(NamedTuple):
    """A table whose rows are rendered from the changed value alone, without a query.

    Rows render an element with the id `<container>-<key>`.
    """

    topic: Topic
    container: str
    template: str
    context: RowContext


class Parts(NamedTuple):
    """What of its pages a feed renders again."""

    panels: tuple[Panel, ...] = ()
    lists: tuple[RowList, ...] = ()


NO_PARTS = Parts()


class _Row(NamedTuple):
    rows: RowList
    event: StateEvent
    is_new: bool


class Feed:
    """The panels and rows of one subscription."""

    #: Whether a viewer who comes back must be told of the frames it missed; else `standing` does.
    needs_frames = True

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        """Nothing is read before `load`."""
        self.subscription = subscription
        self.panels = parts.panels
        self.lists = parts.lists
        self._stale: set[str] = set()
        self._rows: dict[tuple[str, str], _Row] = {}
        #: The newest step of each evaluation since the last flush.
        self._newest: dict[str, LifecycleStep] = {}
        #: What each panel was when its viewers were told last.
        self._told_panels: dict[str, Html] = {}

    def load(self, reader: RecordReader) -> None:
        """Read what the feed must know before its first frame."""

    def observe(self, frame: EventFrame) -> None:
        """Take note of one committed write."""
        for event in frame.events:
            if self.concerns(event):
                self._note(event, frame.index)

    def observe_step(self, step: LifecycleStep) -> bool:
        """Take note of a step ahead of the record; whether anything changed."""
        return False

    def is_due(self, now: int) -> bool:
        """Whether time alone has changed what is shown."""
        return False

    @property
    def asks_at(self) -> int | None:
        """When `is_due` is to be asked although nothing else happens: for news that are held back.

        None where the next beat is soon enough.
        """
        return None

    def concerns(self, event: StateEvent) -> bool:
        """Whether this change belongs to what is shown."""
        return self.subscription.shows(event.namespace)

    def _note(self, event: StateEvent, index: int) -> None:
        self._stale |= {panel.target for panel in self.panels if event.topic in panel.topics}
        if isinstance(event.value, LifecycleStep):
            self._newest[event.value.eval_id] = event.value
        for rows in self.lists:
            if rows.topic is event.topic:
                key = rows.container, event.key
                is_new = getattr(event.value, "create_index", 0) == index
                is_new = is_new or (key in self._rows and self._rows[key].is_new)
                self._rows[key] = _Row(rows, event, is_new)

    @property
    def needs_reader(self) -> bool:
        """Whether the next flush asks the database, or is too long for the event loop."""
        return bool(self._stale) or not self.is_light

    @property
    def is_light(self) -> bool:
        """Whether a flush without a reader is short enough for the event loop."""
        return len(self._rows) <= ROWS_ON_THE_LOOP

    def standing(self, now: int) -> tuple[Piece, ...]:
        """What every viewer gets on joining, so that later pieces meet the same picture."""
        return ()

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """The whole feed for a viewer who comes back: panels and drawings as they are now."""
        return (*self._rendered(self.panels, reader, now), *self.standing(now))

    def forget_told(self) -> None:
        """Tell every panel at its next change, even if it has come back to what it was."""
        self._told_panels.clear()

    def replay(
        self, frames: Sequence[EventFrame], reader: RecordReader, now: int
    ) -> tuple[Piece, ...]:
        """The rows that these frames changed, for one viewer who missed them."""
        del reader
        missed = Feed(self.subscription, Parts(lists=self.lists))
        for frame in frames:
            for event in frame.events:
                if self.concerns(event):
                    missed._note(event, frame.index)
        return missed.flush(None, now)

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What changed since the last flush.

        Without a `reader` all that needs none; the rest waits for a flush with one.
        """
        # Each goes on top of the one before: those of one write as a page orders them.
        rows = sorted(self._rows.values(), key=_place)
        self._rows.clear()
        # Of more new rows than a page shows, the older ones would be pushed out again at once.
        surplus = {row.event.key for row in [row for row in rows if row.is_new][:-NEW_ROWS]}
        pieces: list[Piece] = [
            self._row_piece(row, now) for row in rows if row.event.key not in surplus
        ]
        self._newest.clear()
        if reader is not None:
            stale = [panel for panel in self.panels if panel.target in self._stale]
            pieces += self._news(self._rendered(stale, reader, now))
            self._stale.clear()
        return tuple(pieces)

    def _rendered(self, panels: Sequence[Panel], reader: RecordReader, now: int) -> list[Html]:
        """The panels as they are; those with the same query share its answer."""
        answers: dict[PanelQuery, Mapping[str, Any]] = {}
        pieces = []
        for panel in panels:
            if panel.query not in answers:
                answers[panel.query] = panel.query(reader, self.subscription, now)
            context = {**answers[panel.query], "now": now}
            pieces.append(Html(target=panel.target, html=rendered(panel.template, context)))
        return pieces

    def _news(self, panels: Sequence[Html]) -> list[Html]:
        """Those that are not what the viewers were told last."""
        news = [piece for piece in panels if self._told_panels.get(piece.target) != piece]
        self._told_panels |= {piece.target: piece for piece in news}
        return news

    def _row_piece(self, row: _Row, now: int) -> Html:
        """A new row goes on top; a changed one only where it is shown."""
        rows, event, is_new = row
        target = f"{rows.container}-{event.key}"
        if event.deleted:
            return Html(target=target, mode="remove")
        known = (self._newest.get(event.key),) if rows.topic is Topic.EVALUATION else ()
        html = rendered(rows.template, {**rows.context(event.value, now, *known), "now": now})
        if not is_new:
            return Html(target=target, html=html)
        return Html(target=target, mode="upsert", html=html, container=rows.container)


def _place(row: _Row) -> tuple[int, str]:
    return getattr(row.event.value, "create_index", 0), row.event.key


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """A partial as plain text: the marked kind that Django returns cannot be encoded."""
    return "".join((render_to_string(template, dict(context)),))
