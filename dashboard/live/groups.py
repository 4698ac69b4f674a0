"""The viewers of one subscription: one text for all of them per flush.

In: a feed, and moments to tell what it shows. Out: messages put into the viewers' outboxes. Knows
neither the record nor when to tell; the hub does.
"""

import logging
from collections.abc import Sequence
from typing import Protocol

from django.utils.translation import override

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import Feed
from dashboard.feeds.pieces import Piece
from dashboard.live.messages import Frame, Hint, Message, Reload, encoded
from scheduler.state.events import EventFrame

logger = logging.getLogger(__name__)

#: Indexes per group from which returning viewers share one text.
MAX_RETURNS = 8


class PageSocket(Protocol):
    """Somebody's open page."""

    def deliver(self, text: str) -> None:
        """Take a message. Must not block; a viewer that is too slow drops itself."""


class Group:
    """The viewers of one subscription and the feed they look at."""

    def __init__(self, feed: Feed, index: int) -> None:
        """`index` is the one the group's first message continues from."""
        self.feed = feed
        self.sent_index = index
        self.viewers: set[PageSocket] = set()
        #: It could not take note of a change: what it shows from then on may be wrong.
        self.is_lost = False
        self._pieces: tuple[Piece, ...] | None = ()
        #: Something of the present index was told ahead; the frame that says so follows.
        self._is_ahead = False
        self._whole: tuple[int, tuple[Piece, ...]] | None = None
        self._returns: dict[int, str] = {}

    def load(self, reader: RecordReader) -> None:
        """Read what the feed must know."""
        with self.in_its_language():
            self.feed.load(reader)

    def observe(self, frame: EventFrame) -> None:
        """Take note of one committed write. A fault here must not keep it from other groups."""
        try:
            with self.in_its_language():
                self.feed.observe(frame)
        except Exception:
            topic = self.feed.subscription.topic
            logger.exception("action=live-observe-failed topic=%s index=%d", topic, frame.index)
            self.is_lost = True

    def standing(self, now: int) -> tuple[Piece, ...]:
        """What every viewer gets on joining."""
        with self.in_its_language():
            return self.feed.standing(now)

    def replay(
        self, frames: Sequence[EventFrame], reader: RecordReader, now: int
    ) -> tuple[Piece, ...]:
        """The rows that these frames changed, for one viewer who missed them."""
        with self.in_its_language():
            return self.feed.replay(frames, reader, now)

    def begun_anew(self, feed: Feed, index: int) -> "Group":
        """The same viewers before another feed."""
        group = Group(feed, index)
        group.viewers = self.viewers
        return group

    def returning(self, since: int) -> str | None:
        """What brings a viewer from `since` to now, if another one has just come from there."""
        return self._returns.get(since)

    def remember_return(self, since: int, text: str) -> None:
        """Keep it for others who come from there, until the group is told something further."""
        if len(self._returns) >= MAX_RETURNS:
            self._returns.clear()
        self._returns[since] = text

    def whole(self, reader: RecordReader, index: int, now: int) -> tuple[Piece, ...]:
        """Everything the feed shows, made once per index however many viewers come back."""
        if self._whole is None or self._whole[0] != index:
            with self.in_its_language():
                self._whole = index, self.feed.everything(reader, now)
        return self._whole[1]

    def in_its_language(self) -> override:
        """What is told inside is told in the language of the viewers' pages."""
        return override(self.feed.subscription.language)

    def render(self, reader: RecordReader | None, now: int) -> None:
        """Make the pieces of one flush. A fault here costs this group a reload, no other."""
        try:
            with self.in_its_language():
                self._pieces = self.feed.flush(reader, now)
        except Exception:
            logger.exception("action=live-render-failed topic=%s", self.feed.subscription.topic)
            self.feed.forget_told()
            self._pieces = None

    def send_rendered(self, index: int, at: int, *, is_hint: bool) -> bool:
        """One text for all viewers, if there is anything to say; whether there was."""
        topic = self.feed.subscription.topic
        if self._pieces is None:
            self.send(Reload(reason="a change could not be shown", index=index))
        elif self._pieces and is_hint:
            self._is_ahead = True
            self.send(Hint(topic=topic, pieces=self._pieces))
        elif not is_hint and (self._pieces or self._is_ahead):
            self._is_ahead = False
            since, self.sent_index = self.sent_index, index
            self.send(Frame(topic=topic, since=since, index=index, at=at, pieces=self._pieces))
        else:
            return False
        return True

    def send(self, message: Message) -> None:
        """One text for all viewers."""
        self._returns.clear()
        # A hint changes what the feed shows, not the index.
        self._whole = None
        text = encoded(message)
        for viewer in tuple(self.viewers):
            viewer.deliver(text)
