"""The audit in the database: rows are added, read newest first, and collected when they are old.

In: entries, filters. Out: rows, pages, sums. It is outside the index: a row follows from an act,
and no one waits for it. Nothing here changes a row, but for the count of those told as one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store.audit_entries import COLUMNS, DONE, INSERT, AuditEntry, row_of
from cluster.store.transactions import read_transaction, write_transaction, writes_patiently
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Nanoseconds

#: Rows that one look goes through for those that fit a filter; no page waits for more.
LOOKED_AT = 100_000
#: Rows that sums are made of.
SUMMED = 20_000
#: Rows in one transaction of the collection.
BATCH = 2_000
#: So late, ns, may a row come after one that happened later: doors gather what they refuse.
_LATE = 120 * 1_000_000_000

_SELECTED = ", ".join((*COLUMNS, "id"))
_ROWS = f"SELECT {_SELECTED} FROM audit"  # noqa: S608 - names of our own columns only
_COUNT_MORE = "UPDATE audit SET count = count + %s, last_at = %s WHERE id = %s"
_NEWEST = "SELECT MAX(id) FROM audit"
_OLDEST = "SELECT at FROM audit ORDER BY id LIMIT 1"
_FIRST_SINCE = "SELECT id FROM audit WHERE at >= %s ORDER BY at LIMIT 1"
_SUMS = (
    "SELECT result, SUM(count) FROM (SELECT result, count FROM audit WHERE at >= %s"
    " ORDER BY at DESC LIMIT %s) AS newest GROUP BY result"
)
#: As the index of these rows knows them.
_NOT_DONE = "result IN ('refused', 'failed')"
_LOUDEST = (
    "SELECT address, SUM(count) FROM (SELECT address, count FROM audit"  # noqa: S608 - our own text
    f" WHERE {_NOT_DONE} AND id >= %s ORDER BY id DESC LIMIT %s) AS newest"
    " WHERE address <> '' GROUP BY address ORDER BY 2 DESC, 1 LIMIT 1"
)
_DROP = (
    "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE last_at < %s AND at < %s"
    " ORDER BY at LIMIT %s)"
)
#: Where a text is looked for.
_SEARCHED = ("who_name", "who_id", "address", "act", "namespace", "target_id", "reason")
_TEXT = "LOWER(" + " || ' ' || ".join(_SEARCHED) + ") LIKE %s ESCAPE '!'"


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows; an empty field asks for any. Texts are compared as they are."""

    #: A kind, or the name or id of one who acts.
    who: str = ""
    #: The id of an account, whatever it is called.
    person: str = ""
    #: The beginning of an act.
    act: str = ""
    result: str = ""
    door: str = ""
    #: Somewhere in a name, an address, a target or a reason; small and large letters alike.
    text: str = ""
    #: From here on, and before here, ns; 0: without end.
    since: Nanoseconds = 0
    until: Nanoseconds = 0
    #: Only rows below this place, or above it; 0: all.
    below: int = 0
    above: int = 0


class AuditPage(NamedTuple):
    """Rows, newest first. `next_below` is where the next page begins; 0: nothing older fits."""

    rows: list[AuditEntry]
    next_below: int
    #: Whether the look ended before it had a page: there may be more, further back.
    ended_early: bool


class AuditSums(NamedTuple):
    """What was done and refused since an instant, and who was refused most."""

    by_result: dict[str, int]
    #: An address and how often it was refused; "" and 0 for none.
    loudest: tuple[str, int]
    #: Of the oldest row that is kept, ns; 0 when there is none.
    oldest: Nanoseconds


def insert(connection: BaseDatabaseWrapper, entries: Sequence[AuditEntry]) -> list[int]:
    """Add rows inside the caller's transaction; returns their places."""
    places = []
    with connection.cursor() as cursor:
        for entry in entries:
            cursor.execute(f"{INSERT} RETURNING id", row_of(entry))
            places.append(int(cursor.fetchone()[0]))
    return places


def count_more(connection: BaseDatabaseWrapper, place: int, more: int, last_at: int) -> None:
    """Tell further ones alike by a row that is there, inside the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_MORE, (more, last_at, place))


def read_audit(store: DjangoStateStore, wanted: AuditFilter, *, limit: int) -> AuditPage:
    """A page of the rows that fit, newest first."""
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        conditions, values = _conditions(wanted)
        places, bounds = _bounds(cursor, wanted)
        floor = _floor(cursor, wanted, places, bounds) if conditions else 0
        if floor:
            places, bounds = [*places, "id >= %s"], [*bounds, floor]
        where = " AND ".join([*places, *conditions])
        statement = f"{_ROWS}{' WHERE ' if where else ''}{where} ORDER BY id DESC LIMIT %s"
        cursor.execute(statement, [*bounds, *values, limit + 1])
        rows = [_entry(row) for row in cursor.fetchall()]
    if len(rows) > limit:
        return AuditPage(rows[:limit], rows[limit - 1].id, ended_early=False)
    return AuditPage(rows, floor, ended_early=bool(floor))


def newest_place(store: DjangoStateStore) -> int:
    """Of the newest row; 0 when there is none."""
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        return _newest_of(cursor)


def sum_up(store: DjangoStateStore, *, since: Nanoseconds) -> AuditSums:
    """Sums of the newest `SUMMED` rows since an instant."""
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        cursor.execute(_SUMS, (since, SUMMED))
        by_result = {str(result): int(count) for result, count in cursor.fetchall()}
        first = _first_since(cursor, since)
        loudest = None
        if first and by_result.keys() - {DONE}:
            cursor.execute(_LOUDEST, (first, SUMMED))
            loudest = cursor.fetchone()
        cursor.execute(_OLDEST)
        oldest = cursor.fetchone()
    return AuditSums(
        by_result,
        (str(loudest[0]), int(loudest[1])) if loudest else ("", 0),
        int(oldest[0]) if oldest else 0,
    )


def trim_audit(store: DjangoStateStore, *, before: Nanoseconds) -> int:
    """Collect at most a batch of rows of acts before an instant; returns how many went.

    Call it again while it returns `BATCH`.
    """

    def trim() -> int:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.execute(_DROP, (before, before, BATCH))
            return int(cursor.rowcount)

    return writes_patiently(trim)


def _conditions(wanted: AuditFilter) -> tuple[list[str], list[Any]]:
    """What no order of the rows answers."""
    found: list[tuple[str, list[Any]]] = []
    if wanted.who:
        who = "(who_kind = %s OR who_name = %s OR who_id = %s)"
        found.append((who, [wanted.who, wanted.who, wanted.who]))
    if wanted.person:
        found.append(("who_kind = 'person' AND who_id = %s", [wanted.person]))
    if wanted.act:
        found.append(("act LIKE %s ESCAPE '!'", [_escaped(wanted.act) + "%"]))
    if wanted.result:
        found.append(("result = %s", [wanted.result]))
        if wanted.result != DONE:
            found.append((_NOT_DONE, []))
    if wanted.door:
        found.append(("door = %s", [wanted.door]))
    if wanted.text:
        found.append((_TEXT, [f"%{_escaped(wanted.text.lower())}%"]))
    if wanted.since:
        found.append(("at >= %s", [wanted.since]))
    if wanted.until:
        found.append(("at < %s", [wanted.until]))
    return [text for text, _ in found], [value for _, values in found for value in values]


def _bounds(cursor: Any, wanted: AuditFilter) -> tuple[list[str], list[Any]]:
    """Between which places the rows are."""
    below, above = wanted.below, wanted.above
    if wanted.since:
        first = _first_since(cursor, wanted.since - _LATE)
        # Without any there is nothing to find.
        above = max(above, first - 1 if first else _newest_of(cursor))
    if wanted.until and (after := _first_since(cursor, wanted.until + _LATE)):
        below = min(below, after) if below else after
    bounds = [("id < %s", below), ("id > %s", above)]
    return [text for text, place in bounds if place], [place for _, place in bounds if place]


def _newest_of(cursor: Any) -> int:
    """Of the newest row, by an open cursor; 0 when there is none."""
    cursor.execute(_NEWEST)
    return int(cursor.fetchone()[0] or 0)


def _floor(cursor: Any, wanted: AuditFilter, places: list[str], bounds: list[Any]) -> int:
    """The place at which one look ends; 0 when it goes through all there are."""
    looked = [*places, _NOT_DONE] if _is_rare(wanted) else places
    where = f" WHERE {' AND '.join(looked)}" if looked else ""
    statement = f"SELECT id FROM audit{where} ORDER BY id DESC LIMIT 1 OFFSET %s"  # noqa: S608 - our own text
    cursor.execute(statement, [*bounds, LOOKED_AT - 1])
    row = cursor.fetchone()
    return int(row[0]) if row else 0


def _is_rare(wanted: AuditFilter) -> bool:
    return bool(wanted.result) and wanted.result != DONE


def _first_since(cursor: Any, instant: int) -> int:
    """The place of the first act since an instant; 0 when there was none."""
    cursor.execute(_FIRST_SINCE, (instant,))
    row = cursor.fetchone()
    return int(row[0]) if row else 0


def _entry(row: Sequence[Any]) -> AuditEntry:
    return AuditEntry(**dict(zip((*COLUMNS, "id"), row, strict=True)))


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
