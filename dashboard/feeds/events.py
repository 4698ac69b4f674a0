"""The events, live: what comes is told at the top of the newest page, at most twice a second.

In: frames. Out: the whole panel, for alike neighbours become one row.
"""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Html, Piece
from dashboard.queries.events import EventsWish, events_parts, floor_of
from dashboard.queries.happenings import Happened, teller_for
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame

#: Between two tellings, ns.
_BETWEEN = 500_000_000


class EventsFeed(Feed):
    """One filter of the events."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._wish = EventsWish.from_text(subscription.key.partition("/")[2])
        sees_nodes = NODE_READ in subscription.may
        teller = teller_for(subscription.namespaces, sees_nodes=sees_nodes)
        self._happened = Happened(teller, floor_of)
        self._index = 0
        self._has_changed = self._is_asked = False
        self._next_look = 0

    def load(self, reader: RecordReader) -> None:
        """Read as far back as the page does."""
        self._happened.load(reader)
        self._index = reader.index

    def observe(self, frame: EventFrame) -> None:
        """Remember what is told of it."""
        self._happened.take(frame)
        self._index = max(self._index, frame.index)
        self._has_changed = True

    def is_due(self, now: int) -> bool:
        """Whether something came and the last telling is old enough."""
        if not self._has_changed or now < self._next_look:
            return False
        self._has_changed, self._is_asked, self._next_look = False, True, now + _BETWEEN
        return True

    @property
    def needs_reader(self) -> bool:
        """Rendering a page of rows is too long for the event loop."""
        return self._is_asked

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """The panel, if it differs from what was told last."""
        if reader is None or not self._is_asked:
            return ()
        self._is_asked = False
        return tuple(self._news([self._panel(reader)]))

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """The panel, for a viewer who comes back."""
        del now
        return (self._panel(reader),)

    def _panel(self, reader: RecordReader) -> Html:
        told = self._happened.newest_first()
        parts = events_parts(told, self._wish, self._index, reader.oldest_event)
        return Html(target="events", html=rendered("dashboard/partials/_events.html", parts))
