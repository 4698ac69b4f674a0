"""The event log: frames since an index, and keeping the log within its bounds.

In: a connection; a list of frames is one statement, which sees one state by itself. Out: frames.
"""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import frame_codec, statements
from cluster.store.plain_cursor import plain_cursor
from scheduler.errors import StaleSnapshot
from scheduler.state.events import EventFrame, StateEvent
from scheduler.state.nouns import NOUN_OF_TOPIC


def frames_since(
    connection: BaseDatabaseWrapper,
    index: int,
    limit: int,
    topics: Collection[str] = NOUN_OF_TOPIC,
) -> list[EventFrame]:
    """Frames with a larger index, in order. Raises StaleSnapshot when some were trimmed.

    Of each the events of these topics; a frame without any is there as well.
    """
    return [
        frame_codec.decode_frame(*row, topics) for row in _rows_since(connection, index, limit)
    ]


def events_since(
    connection: BaseDatabaseWrapper, index: int, limit: int, topics: Collection[str]
) -> list[StateEvent]:
    """The events of those frames that are of these topics, in order; raises the same."""
    return [
        event
        for *_, body in _rows_since(connection, index, limit)
        for event in frame_codec.decode_events(body, topics)
    ]


def small_frames_since(
    connection: BaseDatabaseWrapper, index: int, limit: int, most_bytes: int
) -> list[EventFrame] | None:
    """As `frames_since`; None when they are more bytes than that."""
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.READ_SMALL_EVENTS, (most_bytes, index, limit))
        rows = cursor.fetchall()
        _require_whole(cursor, rows, index)
    if sum(size for *_, size in rows) > most_bytes:
        return None
    return [frame_codec.decode_frame(*row) for *row, _ in rows]


def _rows_since(
    connection: BaseDatabaseWrapper, index: int, limit: int
) -> list[tuple[int, int, str, bytes]]:
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.READ_EVENTS, (index, limit))
        rows: list[tuple[int, int, str, bytes]] = cursor.fetchall()
        _require_whole(cursor, rows, index)
    return rows


def _require_whole(cursor: Any, rows: Sequence[tuple[Any, ...]], index: int) -> None:
    """That what follows `index` was not trimmed. Raises StaleSnapshot."""
    if not rows or rows[0][0] != index + 1:
        cursor.execute(statements.READ_OLDEST_EVENT)
        oldest = int(cursor.fetchone()[0])
        if index + 1 < oldest:
            raise StaleSnapshot(f"events before {oldest} were trimmed")
