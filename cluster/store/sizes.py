"""How large the record is, and what is large in it: counted in the database, no row is decoded.

In: a store. Out: plain numbers. Counting reads whole indexes, so it is asked by people alone.
"""

from pathlib import Path

import msgspec
from django.apps import apps
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import statements
from cluster.store.timestamps import timestamp
from cluster.store.transactions import read_transaction
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Nanoseconds

_EVENTS = "SELECT COUNT(*), COALESCE(SUM(size), 0), MIN(at) FROM event WHERE at > 0"
_EXPLAINED = (
    "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM"
    " (SELECT eval_id, SUM(size) AS size FROM explanation GROUP BY eval_id) AS runs"
)
_SESSIONS = "SELECT COUNT(*) FROM django_session"
_ENDED = _SESSIONS + " WHERE expire_date < %s"
_POSTGRES_SIZE = "SELECT pg_database_size(current_database())"


class RecordSizes(msgspec.Struct, frozen=True, kw_only=True):
    """The record in numbers; sizes are bytes."""

    #: `sqlite` or `postgresql`.
    database: str
    size: int
    #: Of SQLite's log beside the file; 0 elsewhere.
    log_size: int
    index: int
    event_count: int
    event_size: int
    #: When the oldest event was written; 0: there is none.
    oldest_event_at: Nanoseconds
    #: Evaluations whose nodes are kept with their reasons.
    explained_count: int
    explained_size: int
    session_count: int
    #: Those whose time is over.
    ended_session_count: int
    #: Rows by table.
    rows: dict[str, int]


def read_sizes(store: DjangoStateStore, *, now: Nanoseconds) -> RecordSizes:
    """Count everything, at one index."""
    connection = connections[store.alias]
    size, log_size = _bytes(connection)
    with read_transaction(connection), connection.cursor() as cursor:

        def row(statement: str, *parameters: object) -> tuple[int, ...]:
            cursor.execute(statement, parameters)  # type: ignore[arg-type]  # numbers and texts
            return tuple(int(value or 0) for value in cursor.fetchone())

        events = row(_EVENTS)
        explained = row(_EXPLAINED)
        return RecordSizes(
            database=connection.vendor,
            size=size,
            log_size=log_size,
            index=row(statements.READ_INDEX)[0],
            event_count=events[0],
            event_size=events[1],
            oldest_event_at=events[2],
            explained_count=explained[0],
            explained_size=explained[1],
            session_count=row(_SESSIONS)[0],
            ended_session_count=row(_ENDED, timestamp(now))[0],
            rows={
                table: row(f"SELECT COUNT(*) FROM {table}")[0]  # noqa: S608 - names of our own tables only
                for table in sorted(
                    model._meta.db_table for model in apps.get_app_config("cluster").get_models()
                )
            },
        )


def _bytes(connection: BaseDatabaseWrapper) -> tuple[int, int]:
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(_POSTGRES_SIZE)
            return int(cursor.fetchone()[0]), 0
    file = Path(connection.settings_dict["NAME"])
    return _size_of(file), _size_of(file.with_name(f"{file.name}-wal"))


def _size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
