"""A backup in the place of the record while everything runs: all of it in one transaction.

In: a file, and what the audit shall keep of it. Out: the record of then, at an index above all
that anybody has seen. The backup is made into a database of its own first, of this release and
with all that a restore changes; then its rows take the place of the others. Whoever looks sees
either.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import audit
from cluster.store.audit_entries import COLUMNS as AUDIT_COLUMNS
from cluster.store.audit_entries import AuditEntry
from cluster.store.backup.archive import Contents
from cluster.store.backup.load import (
    RecordSeen,
    go_on_from,
    load_backup,
    raise_epochs,
)
from cluster.store.backup.restore import (
    BESIDE,
    Restored,
    database_at,
    fold_log,
    readable_contents,
    what_is_there,
)
from cluster.store.backup.state import ROWS_AT_ONCE
from cluster.store.backup.tables import known_migrations, models_at
from cluster.store.faults import RecordAway
from cluster.store.transactions import write_transaction, writes_patiently
from cluster.store.writer import lock_index
from scheduler.structs.wire import Nanoseconds

#: What the running processes say of themselves now, who is signed in, and what was done: a backup
#: knows nothing better of these. Leases and the index only ever go up.
_STAYS = frozenset(
    {
        "lease",
        "state_index",
        "listener",
        "node_beat",
        "node_channel",
        "django_session",
        "audit",
        "acl_token_use",
    }
)
#: Links and tokens for one use were handed out for rows that may be gone.
_GOES = ("one_time_login", "one_time_token")
#: So many writes may come while the backup is read.
_ROOM = 1_000_000
_ATTACHED = "restored"
_AUDIT = ", ".join(AUDIT_COLUMNS)

Noted = Callable[[Contents, int], AuditEntry]
Model = type[models.Model]


def swap_record(file: Path, *, now: Nanoseconds, noted: Noted, alias: str = "default") -> Restored:
    """Put the backup in the record's place under everybody who works with it.

    One at a time, on a thread that has time. `noted` makes the audit's entry, given the index.
    Raises BadArchive and NewerRecord, and what the database raises; nothing has changed then.
    """
    contents = readable_contents(file)
    seen = what_is_there(alias)
    if seen is None:
        raise RecordAway("there is no record")
    with (
        tempfile.TemporaryDirectory(prefix="bivouac-restore-") as place,
        database_at(alias, draft := Path(place) / "record.sqlite3"),
    ):
        above = RecordSeen(seen.index + _ROOM, seen.epochs)
        index = load_backup(file, contents, BESIDE, above, now)
        fold_log(BESIDE)
        entry = noted(contents, index)
        tables = models_at(known_migrations())
        replaced = [model for model in tables if model._meta.db_table not in _STAYS]
        with _reachable_from(connections[alias], draft):
            writes_patiently(lambda: _swap(connections[alias], replaced, index, entry))
    return Restored(contents, index, None)


def _swap(
    connection: BaseDatabaseWrapper, replaced: Sequence[Model], index: int, entry: AuditEntry
) -> None:
    with write_transaction(connection):
        if lock_index(connection) >= index:
            raise RecordAway("more was written meanwhile than there was room for")
        _keep_others_out(connection, replaced)
        with connection.cursor() as cursor:
            for name in (*(model._meta.db_table for model in replaced), *_GOES):
                cursor.execute(f"DELETE FROM {_quoted(connection, name)}")  # noqa: S608 - names of our own tables only
        for model in replaced:
            _copy(connection, model)
        # Whoever was added while the others were told apart belongs to neither record.
        connection.check_constraints()
        _raise_sequences(connection, replaced)
        raise_epochs(connection, _epochs_of_backup())
        go_on_from(connection, index)
        _put_earlier_audit_before(connection)
        audit.insert(connection, [entry])


@contextmanager
def _reachable_from(connection: BaseDatabaseWrapper, draft: Path) -> Iterator[None]:
    """SQLite copies from one file to another by itself, many times faster than through us."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"ATTACH DATABASE %s AS {_ATTACHED}", (str(draft),))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DETACH DATABASE {_ATTACHED}")


def _keep_others_out(connection: BaseDatabaseWrapper, replaced: Sequence[Model]) -> None:
    """Accounts are written without the lock of the index. SQLite has one writer in any case."""
    if connection.vendor == "postgresql":
        names = ", ".join(_quoted(connection, model._meta.db_table) for model in replaced)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


def _copy(connection: BaseDatabaseWrapper, model: Model) -> None:
    """All rows of a table of the draft."""
    if connection.vendor == "sqlite":
        name = _quoted(connection, model._meta.db_table)
        columns = ", ".join(
            _quoted(connection, str(field.column)) for field in model._meta.concrete_fields
        )
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO main.{name} ({columns}) SELECT {columns} FROM {_ATTACHED}.{name}"  # noqa: S608 - names of our own tables only
            )
        return
    everything: models.QuerySet[Any] = models.QuerySet(model, using=connection.alias)
    for rows in _pieces(model):
        everything.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def _pieces(model: Model) -> Iterator[list[Any]]:
    rows: list[Any] = []
    everything: models.QuerySet[Any] = models.QuerySet(model, using=BESIDE)
    for row in everything.order_by("pk").iterator(ROWS_AT_ONCE):
        rows.append(row)
        if len(rows) == ROWS_AT_ONCE:
            yield rows
            rows = []
    yield rows


def _raise_sequences(connection: BaseDatabaseWrapper, replaced: Sequence[Model]) -> None:
    """New rows get numbers that nobody had in either record; SQLite sees to that itself.

    Sequences know no transactions: never lower, they do no harm where this one is undone.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for model in replaced:
            key = model._meta.pk
            if isinstance(key, models.AutoField | models.BigAutoField):
                name = _quoted(connection, model._meta.db_table)
                cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", (name, key.column))
                (sequence,) = cursor.fetchone()
                cursor.execute(
                    "SELECT setval(%s::regclass, GREATEST(nextval(%s::regclass),"  # noqa: S608 - names of our own tables only
                    f" (SELECT COALESCE(MAX({key.column}), 1) FROM {name})))",
                    (sequence, sequence),
                )


def _epochs_of_backup() -> dict[str, int]:
    with connections[BESIDE].cursor() as cursor:
        cursor.execute("SELECT name, epoch FROM lease")
        return {str(name): int(epoch) for name, epoch in cursor.fetchall()}


def _put_earlier_audit_before(connection: BaseDatabaseWrapper) -> None:
    """What was done before the backup, where this record knows nothing of it: below all it has.

    The audit that is here stays as it is: a restore undoes no act, and hides none.
    """
    with connections[BESIDE].cursor() as cursor:
        cursor.execute(f"SELECT {_AUDIT} FROM audit ORDER BY id DESC LIMIT 1")  # noqa: S608 - names of our own columns only
        newest = cursor.fetchone()
    if newest is None or _is_known(connection, newest):
        return
    with connections[BESIDE].cursor() as earlier, connection.cursor() as cursor:
        cursor.execute("SELECT MIN(id) FROM audit")
        # A place is never 0, which stands for none.
        end = min(int(cursor.fetchone()[0] or 1), 0)
        earlier.execute(f"SELECT {_AUDIT} FROM audit ORDER BY id")  # noqa: S608 - names of our own columns only
        rows = earlier.fetchall()
        cursor.executemany(
            f"INSERT INTO audit (id, {_AUDIT}) VALUES (%s{', %s' * len(AUDIT_COLUMNS)})",  # noqa: S608 - names of our own columns only
            [(end - len(rows) + number, *row) for number, row in enumerate(rows)],
        )


def _is_known(connection: BaseDatabaseWrapper, entry: Sequence[Any]) -> bool:
    # What is counted together may have grown since.
    fixed = [
        (name, value)
        for name, value in zip(AUDIT_COLUMNS, entry, strict=True)
        if name not in {"count", "last_at"}
    ]
    where = " AND ".join(f"{name} = %s" for name, _ in fixed)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM audit WHERE {where} LIMIT 1",  # noqa: S608 - names of our own columns only
            [value for _, value in fixed],
        )
        return cursor.fetchone() is not None


def _quoted(connection: BaseDatabaseWrapper, name: str) -> str:
    return str(connection.ops.quote_name(name))
