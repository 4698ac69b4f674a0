"""Any list of the pages, live: read again after changes, told by what differs.

In: frames. Out: the order of the rows with the markup of those that changed, and what stands
around them. Sorting and filtering are the record's, so that an open page ends as a fresh one is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Html, Piece, RowOrder
from dashboard.queries.job_lists import LISTS
from dashboard.queries.list_page import ListPage
from dashboard.queries.list_wish import key_fields
from dashboard.queries.lists import read_list
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent

#: Nanoseconds between two readings of a list that changes all the time, as often as the hub
#: flushes to few viewers: what changes waits half of it in the mean. A reading takes 3 ms. An
#: expression that was put to many rows waits longer, so that reading takes no more than a tenth
#: of the time.
BETWEEN_READINGS = 50_000_000
#: Readings of a cheap list that may follow each other after a quiet time: those of one evaluation,
#: from its registration to its end, which take it less than one pause.
READINGS_AT_ONCE = 3
_PER_ROW = 250_000
#: Likewise for the rows that are only counted, which is all of them.
_PER_COUNTED = 10_000
_CREDIT = (READINGS_AT_ONCE - 1) * BETWEEN_READINGS
#: What stands around the rows.
_AROUND = ("list-sentence", "list-told", "list-facets", "list-foot")


class ListFeed(Feed):
    """One view of a list; all who look at it with the same rights share it."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self.kind = LISTS[subscription.kind].as_seen(subscription.may)
        self.wish = self.kind.wish(key_fields(subscription.key))
        self._waits = self._is_due = False
        #: Each reading is paid with its pause; who is ahead of the clock by more than `_CREDIT`
        #: waits.
        self._paid_until = 0
        self._pause = BETWEEN_READINGS
        #: What each row was made of when it was told last, and what came of it.
        self._rows_told: dict[str, tuple[Mapping[str, Any], str]] = {}
        self._order_told: tuple[str, ...] | None = None

    def concerns(self, event: StateEvent) -> bool:
        """Changes that may move, change, bring or take a row that may be seen."""
        paths = self.subscription.paths
        is_row = isinstance(event.value, self.kind.noun.struct)
        if paths is not None and is_row and not self.kind.shows(event.value, paths):
            return False
        if self.kind.tab and is_row and not self._is_of_job(event):
            return False
        return event.topic in self.kind.topics and (
            not self.kind.has_namespaces or super().concerns(event)
        )

    def _is_of_job(self, event: StateEvent) -> bool:
        """Whether it is of the job that the list is of; stories may be of it in other ways."""
        key = self.kind.job_of(self.wish)
        job_id = getattr(event.value, "job_id", key.job_id)
        return self.kind.has_cluster_rows or (event.namespace, job_id) == key

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        self._waits = True

    def is_due(self, now: int) -> bool:
        """Whether something changed and the last reading is old enough."""
        # Further ahead than one pause is nobody but by a clock that was set back.
        if not self._waits or now < self._next_at <= now + self._pause:
            return False
        self._waits, self._is_due = False, True
        self._paid_until = min(max(self._paid_until, now), now + _CREDIT) + self._pause
        return True

    @property
    def asks_at(self) -> int | None:
        """The next reading, where something changed since the last."""
        return self._next_at if self._waits else None

    @property
    def _next_at(self) -> int:
        return self._paid_until - _CREDIT

    @property
    def needs_reader(self) -> bool:
        """The list is read again."""
        return self._is_due or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What differs from what was told last."""
        pieces = super().flush(reader, now)
        if reader is None or not self._is_due:
            return pieces
        self._is_due = False
        return pieces + self._read_anew(reader, now)

    def standing(self, now: int) -> tuple[Piece, ...]:
        """Nothing; but who comes between a change and its reading has seen other rows."""
        del now
        if self._waits or self._is_due:
            self.forget_told()
        return ()

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """All rows, for somebody who missed changes."""
        self.forget_told()
        return super().everything(reader, now) + self._read_anew(reader, now)

    def forget_told(self) -> None:
        super().forget_told()
        self._rows_told.clear()
        self._order_told = None

    def replay(
        self, frames: Sequence[EventFrame], reader: RecordReader, now: int
    ) -> tuple[Piece, ...]:
        """Nothing: `everything` follows."""
        return ()

    def _read_anew(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        seen = self.kind.seen_by(self.subscription.namespaces)
        found = read_list(reader, self.kind, self.wish, seen, now, self.subscription.paths)
        self._pause = max(BETWEEN_READINGS, _PER_ROW * found.cost, _PER_COUNTED * found.total)
        context = {"list": found, "now": now}
        around = [
            Html(target=name, html=rendered(f"dashboard/partials/_{part_of(name)}.html", context))
            for name in _AROUND
        ]
        return (*self._row_pieces(found, now), *self._news(around))

    def _row_pieces(self, found: ListPage, now: int) -> tuple[RowOrder, ...]:
        fresh = dict[str, tuple[Mapping[str, Any], str]]()
        changed = dict[str, str]()
        for key, context in found.rows.items():
            row_id = f"{self.kind.container}-{key}"
            before = self._rows_told.get(row_id)
            if before is not None and before[0] == context:
                fresh[row_id] = before
                continue
            html = rendered(self.kind.template, {**context, "now": now})
            fresh[row_id] = context, html
            if before is None or before[1] != html:
                changed[row_id] = html
        self._rows_told = fresh
        before_order, self._order_told = self._order_told, tuple(fresh)
        if not changed and before_order == self._order_told:
            return ()
        empty = ""
        if not fresh:
            empty = rendered("dashboard/partials/_list_empty.html", {"list": found})
        return (
            RowOrder(target=self.kind.container, order=tuple(fresh), html=changed, empty=empty),
        )


def part_of(target: str) -> str:
    """The template of a part, by the id of its element."""
    return target.replace("-", "_")
