"""The events: what happened in the cluster, page by page down the event log, as an address asks.

In: a reader or what a feed remembers, and an EventsWish. Out: rows as *Now* tells them, and where
the page that follows begins. A page looks through a bounded piece of the log and says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from cluster.store.log_reader import index_at
from cluster.store.ports import RecordReader
from dashboard.queries.happenings import FrameTeller, Happening, folded, teller_for
from dashboard.subscription import topic_text
from dashboard.viewer import Viewer
from dashboard.wording import number
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeStatus

#: Rows of a page; it ends with the write whose row fills it.
MOST_ROWS = 50
#: Indexes that one page looks through, and in which steps its lower end moves.
LOOKED_THROUGH, _STEP = 2_000, 500
_LONGEST = 128
#: What may be asked for, by its word in the address.
WHAT = {
    "problems": gettext_noop("problems"),
    "evaluations": gettext_noop("evaluations"),
    "rollouts": gettext_noop("rollouts"),
    "allocations": gettext_noop("failed allocations"),
    "jobs": gettext_noop("jobs"),
    "nodes": gettext_noop("nodes"),
}
_KINDS = {
    "evaluations": "evaluation",
    "rollouts": "deployment",
    "allocations": "allocation",
    "jobs": "event",
    "nodes": "node",
}
_PROBLEMS = frozenset(
    {
        ("evaluation", EvalStatus.FAILED),
        ("evaluation", EvalStatus.BLOCKED),
        ("deployment", "failed"),
        ("allocation", "failed"),
        ("node", NodeStatus.DOWN),
        ("node", NodeStatus.DISCONNECTED),
    }
)


class EventsWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" and 0 mean any."""

    what: str = ""
    q: str = ""
    #: Only what was written below this index.
    before: int = 0
    #: Only what was written no later: as a browser's field of date and time says it, in UTC.
    until: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "EventsWish":
        """From the address; a word that is no choice is as good as none."""
        what, before = query.get("what", ""), query.get("before", "")
        return cls(
            what=what if what in WHAT else "",
            q=query.get("q", "").strip()[:_LONGEST],
            before=int(before)
            if before.isascii() and before.isdigit() and len(before) < 19
            else 0,
            until=query.get("until", "").strip()[:_LONGEST],
        )

    @classmethod
    def from_text(cls, text: str) -> "EventsWish":
        """From the key of a topic: what is followed has no end."""
        fields = dict(parse_qsl(text))
        return cls.from_query({name: fields.get(name, "") for name in ("what", "q")})

    @property
    def text(self) -> str:
        """What is followed, as the key of a topic says it; the inverse of `from_text`."""
        return urlencode({name: text for name, text in _narrowing(self).items() if text})

    def address(self, **changes: str) -> str:
        """The address of its newest page with these fields changed."""
        fields = {name: text for name, text in (_narrowing(self) | changes).items() if text}
        return f"/events/?{urlencode(fields)}" if fields else "/events/"

    @property
    def narrows(self) -> bool:
        """Whether rows are left out."""
        return bool(self.what or self.q)

    def wants(self, row: Happening) -> bool:
        """Whether a row is told."""
        if self.what == "problems" and (row.kind, row.status) not in _PROBLEMS:
            return False
        if self.what in _KINDS and row.kind != _KINDS[self.what]:
            return False
        words = f"{row.name} {row.text} {row.eval_id}".casefold()
        return all(word in words for word in self.q.casefold().split())


def _narrowing(wish: EventsWish) -> dict[str, str]:
    return {"what": wish.what, "q": wish.q}


def floor_of(index: int) -> int:
    """The lowest index that a page looks at which begins at this one."""
    return max((index - LOOKED_THROUGH) // _STEP * _STEP, 0) + 1


def events_page(reader: RecordReader, viewer: Viewer, *, wish: EventsWish) -> dict[str, Any]:
    """The context of the page."""
    sees_nodes = viewer.access.reads("node")
    teller = teller_for(viewer.looks_at, sees_nodes=sees_nodes)
    start = _start(reader, wish)
    space = viewer.chosen or "*"
    key = f"{space}/{wish.text}" if wish.text else space
    return {
        **events_parts(_read(reader, teller, start), wish, start, reader.oldest_event),
        "choices": {
            key: gettext(word) for key, word in WHAT.items() if sees_nodes or key != "nodes"
        },
        # What is past does not change.
        "live_topics": topic_text("events", key) if start == reader.index else "",
    }


def _start(reader: RecordReader, wish: EventsWish) -> int:
    """The newest index of the page."""
    if wish.before:
        return min(wish.before - 1, reader.index)
    moment = _moment(wish.until)
    return index_at(reader, moment) if moment else reader.index


def _moment(text: str) -> int:
    """The end of what a field of date and time names, ns; 0 for none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0
    seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    # A field without seconds names a whole minute.
    return (seconds + (60 if text.count(":") == 1 else 1)) * 1_000_000_000 - 1


def _read(reader: RecordReader, teller: FrameTeller, start: int) -> Iterator[Happening]:
    for frame in reader.frames_back(start, teller.is_wanted):
        if frame.index < floor_of(start):
            return
        yield from reversed(list(teller.found(frame)))


def events_parts(
    newest_first: Iterable[Happening], wish: EventsWish, start: int, oldest: int
) -> dict[str, Any]:
    """What page and frames show: rows from the index `start` down; `oldest` is the log's first."""
    rows: list[Happening] = []
    follows, is_cut = 0, False
    for row in folded(each for each in newest_first if wish.wants(each)):
        if len(rows) >= MOST_ROWS and row.index < rows[-1].since:
            follows = rows[-1].since
            break
        rows.append(row)
    else:
        is_cut = floor_of(start) > oldest
        follows = floor_of(start) if is_cut else 0
    return {
        "wish": wish,
        "rows": rows,
        "is_cut": is_cut,
        "looked_told": number(start - floor_of(start) + 1),
        "older_url": wish.address(before=str(follows)) if follows else "",
        "newest_url": wish.address() if wish.before or wish.until else "",
        "kept_told": kept_told(),
    }


def kept_told() -> str:
    """How long events are kept."""
    return gettext("kept {hours} hours").format(hours=f"{settings.BIVOUAC_EVENT_HOURS:g}")
