"""A record into a file, while everything goes on: one read sees one index and keeps no writer.

In: a database. Out: a backup. Reading through a transaction needs no program of the database's own
and no second copy, and gives the same bytes for the same rows from every database.
"""

import struct
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from django.db import connections, models

from cluster.installation import typed_start
from cluster.store.backup.archive import FORMAT, Contents, write_archive
from cluster.store.backup.tables import applied_migrations, models_at
from cluster.store.statements import READ_EPOCH, READ_INDEX
from cluster.store.transactions import read_transaction
from cluster.versions import VERSION
from scheduler.structs.wire import Nanoseconds

ROWS_AT_ONCE = 200
_LENGTH = struct.Struct(">I")
_ENCODER = msgspec.msgpack.Encoder()


class NoRecord(Exception):
    """There is nothing to keep yet."""


class RowsOfTable(msgspec.Struct, frozen=True, array_like=True):
    """Some rows of one table: values in the order of the columns."""

    table: str
    columns: list[str]
    rows: list[list[object]]


def write_backup(file: BinaryIO, *, now: Nanoseconds, alias: str = "default") -> Contents:
    """Write the record to a file as it is at one index. Raises NoRecord."""
    connection = connections[alias]
    with tempfile.TemporaryFile() as state:
        with read_transaction(connection):
            migrations = applied_migrations(alias)
            if not migrations.get("cluster"):
                raise NoRecord(f"There is no record yet: `{typed_start('up')}` makes one.")
            with connection.cursor() as cursor:
                cursor.execute(READ_INDEX)
                index = int(cursor.fetchone()[0])
                cursor.execute(READ_EPOCH, ("leader",))
                epoch = cursor.fetchone()
            rows = {
                model._meta.db_table: _write_rows(state, alias, model)
                for model in models_at(migrations)
            }
        contents = Contents(
            format=FORMAT,
            version=VERSION,
            created=now,
            index=index,
            database=connection.vendor,
            migrations=migrations,
            rows=rows,
        )
        write_archive(file, contents, state, term=int(epoch[0]) if epoch else 0)
    return contents


def _write_rows(state: BinaryIO, alias: str, model: type[models.Model]) -> int:
    fields = model._meta.concrete_fields
    columns = [field.column or "" for field in fields]
    values = (
        model._base_manager.using(alias)
        .order_by("pk")
        .values_list(*(field.attname for field in fields))
    )
    count = 0
    rows: list[list[object]] = []
    for row in values.iterator(chunk_size=ROWS_AT_ONCE):
        rows.append(list(row))
        count += 1
        if len(rows) == ROWS_AT_ONCE:
            _write_rows_of(state, RowsOfTable(model._meta.db_table, columns, rows))
            rows = []
    _write_rows_of(state, RowsOfTable(model._meta.db_table, columns, rows))
    return count


def _write_rows_of(state: BinaryIO, piece: RowsOfTable) -> None:
    body = _ENCODER.encode(piece)
    state.write(_LENGTH.pack(len(body)) + body)


def read_pieces(state: BinaryIO) -> Iterator[RowsOfTable]:
    """What `write_backup` wrote, in its order. Raises ValueError where it breaks off."""
    decoder = msgspec.msgpack.Decoder(RowsOfTable)
    while head := state.read(_LENGTH.size):
        length = _LENGTH.unpack(head)[0]
        body = state.read(length)
        if len(body) != length:
            raise ValueError("the state breaks off")
        yield decoder.decode(body)
