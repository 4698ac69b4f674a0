"""The event log: frames since an index, and keeping the log within its bounds.

In: a connection inside a read transaction, or for trimming an ordinary one. Out: frames.
"""

from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import frame_codec, statements
from cluster.store.plain_cursor import plain_cursor
from scheduler.errors import StaleSnapshot
from scheduler.state.events import EventFrame, StateEvent


def frames_since(connection: BaseDatabaseWrapper, index: int, limit: int) -> list[EventFrame]:
    """Frames with a larger index, in order. Raises StaleSnapshot when some were trimmed."""
    return [frame_codec.decode_frame(*row) for row in _rows_since(connection, index, limit)]


def events_since(
    connection: BaseDatabaseWrapper, index: int, limit: int, topics: Collection[str]
) -> list[StateEvent]:
    """The events of those frames that are of these topics, in order; raises the same."""
    return [
        event
        for *_, body in _rows_since(connection, index, limit)
        for event in frame_codec.decode_events(body, topics)
    ]


def bytes_since(connection: BaseDatabaseWrapper, index: int) -> int:
    """The size of all frames with a larger index."""
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.SUM_EVENTS, (index,))
        return int(cursor.fetchone()[0])


def _rows_since(
    connection: BaseDatabaseWrapper, index: int, limit: int
) -> list[tuple[int, int, str, bytes]]:
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.READ_EVENTS, (index, limit))
        rows: list[tuple[int, int, str, bytes]] = cursor.fetchall()
        if not rows or rows[0][0] != index + 1:
            cursor.execute(statements.READ_OLDEST_EVENT)
            oldest = int(cursor.fetchone()[0])
            if index + 1 < oldest:
                raise StaleSnapshot(f"events before {oldest} were trimmed")
    return rows
