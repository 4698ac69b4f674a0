"""Keeping log, stubs and sessions within bounds: small batches, so that no writer waits long.

In: `now` and the bounds. Out: how much went. The oldest kept index is stored with the batch that
removes what is below it, so a reader never finds a gap without being told.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store.statements import placeholders
from cluster.store.timestamps import timestamp
from cluster.store.transactions import (
    give_back,
    read_transaction,
    waiting_for,
    write_transaction,
    writes_patiently,
)
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Duration, Nanoseconds

#: Frames in one transaction.
BATCH = 500
#: 32 MB of SQLite's log: reading through a long one slows every process down.
_LONG_LOG_PAGES = 8_192
#: Readers take some milliseconds.
_EMPTY_MS = 50

_OLDEST = "SELECT oldest_event FROM state_index WHERE id = 1"
_SET_OLDEST = "UPDATE state_index SET oldest_event = %s WHERE id = 1 AND oldest_event = %s"
_FIRST_YOUNG = 'SELECT MIN("index") FROM event WHERE at >= %s AND "index" < %s'
_SIZES = 'SELECT "index", size FROM event WHERE "index" < %s ORDER BY "index"'
_ADDED = 'SELECT COALESCE(SUM(size), 0), MAX("index") FROM event WHERE "index" > %s'
_REMOVED = 'SELECT COALESCE(SUM(size), 0) FROM event WHERE "index" < %s'
_DROP = 'DELETE FROM event WHERE "index" < %s'
_STUB_COUNT = "SELECT COUNT(*) FROM evaluation_stub"
_DROP_OLDEST_STUBS = (
    "DELETE FROM evaluation_stub WHERE id IN"
    " (SELECT id FROM evaluation_stub ORDER BY modify_index LIMIT %s)"
)
#: The oldest by their index are the oldest by their time: only the first are looked at.
_DROP_OLD_STUBS = _DROP_OLDEST_STUBS + " AND (modified_at IS NULL OR modified_at < %s)"
#: Before every story.
FIRST_STORY = (0, "")
_NAMING = " RETURNING story_id"
_IS_BARE = (
    "NOT EXISTS (SELECT 1 FROM evaluation WHERE evaluation.story_id = story.id)"
    " AND NOT EXISTS (SELECT 1 FROM evaluation_stub WHERE evaluation_stub.story_id = story.id)"
)
_OLD_STORIES = (
    "SELECT create_index, id FROM story WHERE (create_index, id) > (%s, %s)"
    " AND (modified_at IS NULL OR modified_at < %s) ORDER BY create_index, id LIMIT %s"
)
_JOB_STUB_COUNT = "SELECT COUNT(*) FROM job_stub"
_DROP_JOB_STUBS = (
    "DELETE FROM job_stub WHERE id IN (SELECT id FROM job_stub WHERE purged_at < %s LIMIT %s)"
)
_DROP_MANY_JOB_STUBS = (
    "DELETE FROM job_stub WHERE id IN (SELECT id FROM job_stub ORDER BY purge_index LIMIT %s)"
)
_DROP_SESSIONS = (
    "DELETE FROM django_session WHERE session_key IN"
    " (SELECT session_key FROM django_session WHERE expire_date < %s LIMIT %s)"
)


class LogSize:
    """How many bytes the event log holds, kept up from one look to the next.

    Adding all of it up reads all of it: through the whole cache, each minute, as it grows.
    """

    def __init__(self) -> None:
        self._oldest = self._counted_to = self._total = 0

    def read(self, connection: BaseDatabaseWrapper, oldest: int) -> int:
        """Its size now, `oldest` being the first index that it holds."""
        if oldest != self._oldest:
            # Somebody else removed some, or an older record was restored.
            self._oldest, self._counted_to, self._total = oldest, 0, 0
        with connection.cursor() as cursor:
            cursor.execute(_ADDED, (self._counted_to,))
            added, newest = cursor.fetchone()
        self._total += int(added)
        self._counted_to = int(newest or self._counted_to)
        return self._total

    def note_removed(self, cut: int, size: int) -> None:
        """What is below `cut` is gone."""
        self._oldest, self._total = cut, self._total - size


def trim_events(
    store: DjangoStateStore,
    *,
    now: Nanoseconds,
    keep_for: Duration,
    keep_bytes: int,
    log_size: LogSize | None = None,
) -> int:
    """Remove at most a batch of the oldest frames that are too old or too many; returns how many.

    The newest frame always stays. Call it again while it returns `BATCH`; with the same `log_size`
    only what is new is added up.
    """
    size = log_size or LogSize()
    connection = connections[store.alias]

    def trim(oldest: int, cut: int) -> int | None:
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.execute(_SET_OLDEST, (cut, oldest))
            if not cursor.rowcount:
                return None
            gone = _number(connection, _REMOVED, cut)
            cursor.execute(_DROP, (cut,))
            return gone

    # Most times there is nothing to do, and no writer has to wait for finding that out.
    with read_transaction(connection):
        oldest = _number(connection, _OLDEST)
        limit = _number(connection, "SELECT value FROM state_index WHERE id = 1")
        excess = size.read(connection, oldest) - keep_bytes
        cut = min(_cut(connection, now - keep_for, excess, limit), oldest + BATCH)
    if cut <= oldest:
        return 0
    gone = writes_patiently(lambda: trim(oldest, cut))
    if gone is None:
        return 0
    size.note_removed(cut, gone)
    return cut - oldest


def trim_stubs(
    store: DjangoStateStore, *, now: Nanoseconds, keep_for: Duration, keep_count: int
) -> int:
    """Remove at most a batch of stubs of evaluations that are too old or too many.

    A story goes with the last stub of it. Returns how many stubs went. Call it again while it
    returns `BATCH`.
    """
    before = timestamp(now - keep_for)

    def trim() -> int:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            excess = _number(connection, _STUB_COUNT) - keep_count
            if excess > 0:
                cursor.execute(_DROP_OLDEST_STUBS + _NAMING, (min(excess, BATCH),))
            else:
                cursor.execute(_DROP_OLD_STUBS + _NAMING, (BATCH, before))
            gone = cursor.fetchall()
            _drop_bare_stories(cursor, {story_id for (story_id,) in gone})
            return len(gone)

    return writes_patiently(trim)


def trim_stories(
    store: DjangoStateStore, *, now: Nanoseconds, keep_for: Duration, after: tuple[int, str]
) -> tuple[int, str]:
    """Look at a batch of stories behind `after`, and remove old ones without evaluations.

    Those whose evaluations were collected go with their last stub (`trim_stubs`); these never had
    any. Returns where to go on; from the beginning again after the last.
    """
    before = timestamp(now - keep_for)

    def trim() -> tuple[int, str]:
        connection = connections[store.alias]
        with connection.cursor() as cursor:
            cursor.execute(_OLD_STORIES, (*after, before, BATCH))
            looked_at = [(int(index), str(story_id)) for index, story_id in cursor.fetchall()]
        if looked_at:
            with write_transaction(connection), connection.cursor() as cursor:
                _drop_bare_stories(cursor, {story_id for _, story_id in looked_at})
        return looked_at[-1] if len(looked_at) == BATCH else FIRST_STORY

    return writes_patiently(trim)


def trim_job_stubs(
    store: DjangoStateStore, *, now: Nanoseconds, keep_for: Duration, keep_count: int
) -> int:
    """As `trim_stubs`, of what is left of purged jobs."""

    def trim() -> int:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            excess = _number(connection, _JOB_STUB_COUNT) - keep_count
            if excess > 0:
                cursor.execute(_DROP_MANY_JOB_STUBS, (min(excess, BATCH),))
            else:
                cursor.execute(_DROP_JOB_STUBS, (now - keep_for, BATCH))
            return int(cursor.rowcount)

    return writes_patiently(trim)


def trim_sessions(store: DjangoStateStore, *, now: Nanoseconds) -> int:
    """Remove at most a batch of the sessions that have ended by their time; returns how many."""
    instant = timestamp(now)

    def trim() -> int:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.execute(_DROP_SESSIONS, (instant, BATCH))
            return int(cursor.rowcount)

    return writes_patiently(trim)


def checkpoint(store: DjangoStateStore) -> int:
    """Move SQLite's log into its file while nobody waits for it; nothing to do elsewhere.

    Readers that never pause keep the log from being begun anew, and it would grow as long as they
    do. Once it is long, writers are held up until the last reader of old pages has ended, for
    `_EMPTY_MS` at most; then the next one begins at its start. The file keeps its size: writing
    over what is there is durable in half the time that it takes to let a file grow, for which the
    file system writes a journal of its own. Returns the pages that are in the log.
    """
    connection = connections[store.alias]
    if connection.vendor != "sqlite":
        return 0
    pages = _checkpoint(connection, "PASSIVE")
    if pages < _LONG_LOG_PAGES:
        return pages
    with waiting_for(connection, _EMPTY_MS):
        return _checkpoint(connection, "RESTART")


def forget_pages(store: DjangoStateStore) -> None:
    """After looks at whole tables: on a thread with few transactions their pages would stay."""
    give_back(connections[store.alias])


def _drop_bare_stories(cursor: Any, story_ids: AbstractSet[str]) -> None:
    """Delete those of these stories that no evaluation and no stub names."""
    ids = sorted(story_ids - {""})
    if not ids:
        return
    among = placeholders(len(ids))
    cursor.execute(f"SELECT id FROM story WHERE id IN ({among}) AND {_IS_BARE}", ids)  # noqa: S608 - our own text
    bare = [story_id for (story_id,) in cursor.fetchall()]
    if bare:
        among = placeholders(len(bare))
        cursor.execute(f"DELETE FROM story_node WHERE story_id IN ({among})", bare)  # noqa: S608 - our own text
        cursor.execute(f"DELETE FROM story WHERE id IN ({among})", bare)  # noqa: S608 - our own text


def _checkpoint(connection: BaseDatabaseWrapper, how: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA wal_checkpoint({how})")
        _is_busy, pages, _moved = cursor.fetchone()
    return int(pages)


def _cut(connection: BaseDatabaseWrapper, since: int, excess: int, newest: int) -> int:
    """The oldest index to keep."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRST_YOUNG, (since, newest))
        by_age = cursor.fetchone()[0]
        cut = newest if by_age is None else int(by_age)
        if excess > 0:
            cursor.execute(_SIZES, (newest,))
            for index, size in cursor:
                if excess <= 0:
                    break
                excess -= size
                cut = max(cut, int(index) + 1)
    return cut


def _number(connection: BaseDatabaseWrapper, statement: str, *parameters: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])
