"""A backup into an empty database, and what must be another than it was afterwards.

In: a backup and what is known of the record it replaces. Out: the record, at an index above all
that anybody can have seen, so that whoever remembers an index asks anew and misses nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import DataError, IntegrityError, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import statements
from cluster.store.backup.archive import BadArchive, Contents, open_state
from cluster.store.backup.state import ROWS_AT_ONCE, read_pieces
from cluster.store.backup.tables import migrate_to, migrate_to_newest, models_at
from cluster.store.timestamps import timestamp
from scheduler.state.nouns import ALLOCATIONS, NOUNS
from scheduler.structs.wire import Nanoseconds

#: No cluster writes faster for long, so this many for each second since bring an index above.
_INDEXES_PER_SECOND = 1_000
_SECOND = 1_000_000_000
#: Allocations that a node still has something to say of.
_LIVE = "client_status IN ('pending', 'running', 'unknown')"
#: What rows say that nobody wrote as a backup.
_NO_RECORD = (
    *(IntegrityError, DataError, ValidationError, msgspec.MsgspecError),
    *(ValueError, TypeError, OverflowError),
)


@dataclass(frozen=True)
class RecordSeen:
    """How far a record had come that is replaced, so that nothing of it is taken for the new."""

    index: int = 0
    #: By name of the lease.
    epochs: Mapping[str, int] = field(default_factory=dict)


def load_backup(
    file: Path, contents: Contents, alias: str, seen: RecordSeen, now: Nanoseconds
) -> int:
    """Fill an empty database, bring it to this release; returns the index it goes on from.

    Raises BadArchive. Runs in the caller's transaction, where there is one.
    """
    connection = connections[alias]
    migrate_to(alias, contents.migrations)
    tables = {model._meta.db_table: model for model in models_at(contents.migrations)}
    # Rows refer to rows of tables that come later.
    try:
        with open_state(file) as state, transaction.atomic(using=alias):
            counts = _fill(connection, tables, state)
        if counts != contents.rows:
            raise BadArchive(f"{file} holds other rows than it says")
        # Checks of foreign keys that wait for the end would be in the way of migrations.
        connection.check_constraints()
    except _NO_RECORD as error:
        raise BadArchive(f"the rows in {file} make no record: {error}") from None
    _reset_sequences(connection, tables.values())
    migrate_to_newest(alias)
    since = max(0, now - contents.created) // _SECOND + 1
    index = max(contents.index + since * _INDEXES_PER_SECOND, seen.index + _INDEXES_PER_SECOND)
    go_on_from(connection, index)
    raise_epochs(connection, seen.epochs)
    _show_tables_anew(connection, index)
    try:
        _show_live_allocations_anew(connection, index)
    except msgspec.MsgspecError as error:
        raise BadArchive(f"the rows in {file} make no record: {error}") from None
    return index


def _fill(
    connection: BaseDatabaseWrapper, tables: Mapping[str, type[models.Model]], state: IO[bytes]
) -> dict[str, int]:
    """Put the rows of the backup in the place of those that migrations made."""
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names of our own tables only
    counts = dict.fromkeys(tables, 0)
    for piece in read_pieces(cast("Any", state)):
        model = tables.get(piece.table)
        if model is None:
            raise BadArchive(f"nobody knows the table {piece.table!r}")
        names = {field.column: field.attname for field in model._meta.concrete_fields}
        if set(names) != set(piece.columns):
            raise BadArchive(f"the table {piece.table!r} has other columns")
        attributes = [names[column] for column in piece.columns]
        rows = [model(**dict(zip(attributes, row, strict=True))) for row in piece.rows]
        everything: models.QuerySet[Any] = models.QuerySet(model, using=connection.alias)
        everything.bulk_create(rows, batch_size=ROWS_AT_ONCE)
        counts[piece.table] += len(rows)
    return counts


def _reset_sequences(
    connection: BaseDatabaseWrapper, tables: Iterable[type[models.Model]]
) -> None:
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(tables)):
            cursor.execute(statement)


def go_on_from(connection: BaseDatabaseWrapper, index: int) -> None:
    """The log is empty: whoever followed it is told to load everything again."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM event")
        cursor.execute(
            "UPDATE state_index SET value = %s, oldest_event = %s WHERE id = 1", (index, index + 1)
        )


def raise_epochs(connection: BaseDatabaseWrapper, epochs: Mapping[str, int]) -> None:
    """Whoever held a lease of either record writes nothing under it any more."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE lease SET epoch = epoch + 1, renewals = renewals + 1, holder = ''")
        for name, epoch in epochs.items():
            cursor.execute(
                "UPDATE lease SET epoch = %s WHERE name = %s AND epoch <= %s",
                (epoch + 1, name, epoch),
            )


def _show_tables_anew(connection: BaseDatabaseWrapper, index: int) -> None:
    """Whoever keeps something as long as an index stands still, as rights, reads it again."""
    names = sorted({noun.table_index for noun in NOUNS if noun.table_index})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE table_index SET value = %s", (index,))
        cursor.executemany(statements.put_table_indexes(1), [(name, index) for name in names])


def _show_live_allocations_anew(connection: BaseDatabaseWrapper, index: int) -> None:
    """Have agents fetch them again and say what became of them since.

    An agent tells what changed; what it told after the backup was made it would never tell again.
    """
    after = ""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                statements.select(ALLOCATIONS, f"{_LIVE} AND id > %s", "id LIMIT %s"),
                (after, ROWS_AT_ONCE),
            )
            found = [ALLOCATIONS.decode(body) for (body,) in cursor.fetchall()]
            if not found:
                break
            after = found[-1].id
            shown = [
                alloc.changed(alloc_modify_index=index, modify_index=index) for alloc in found
            ]
            rows: list[Any] = [ALLOCATIONS.row(alloc, timestamp) for alloc in shown]
            cursor.executemany(statements.upsert(ALLOCATIONS), rows)
        if after:
            cursor.execute(statements.put_table_indexes(1), (ALLOCATIONS.table_index, index))
