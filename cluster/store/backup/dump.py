"""A record into a file, while everything goes on: one read sees one index and keeps no writer.

In: a database. Out: a backup. Reading through a transaction needs no program of the database's own
and no second copy, and gives the same bytes for the same rows from every database.
"""

import tempfile
from typing import BinaryIO

from django.db import connections, models

from cluster.installation import typed_start
from cluster.store.backup.archive import FORMAT, Contents, write_archive
from cluster.store.backup.state import ROWS_AT_ONCE, StateWriter
from cluster.store.backup.tables import applied_migrations, models_at
from cluster.store.statements import READ_EPOCH, READ_INDEX
from cluster.store.transactions import read_transaction
from cluster.versions import VERSION
from scheduler.structs.wire import Nanoseconds


class NoRecord(Exception):
    """There is nothing to keep yet."""


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
            models_kept = models_at(migrations)
            writer = StateWriter(
                state, {model._meta.db_table: _columns(model) for model in models_kept}
            )
            rows = {
                model._meta.db_table: _write_rows(writer, alias, model) for model in models_kept
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


def _columns(model: type[models.Model]) -> list[str]:
    return [field.column or "" for field in model._meta.concrete_fields]


def _write_rows(writer: StateWriter, alias: str, model: type[models.Model]) -> int:
    values = (
        model._base_manager.using(alias)
        .order_by("pk")
        .values_list(*(field.attname for field in model._meta.concrete_fields))
    )
    count = 0
    for row in values.iterator(chunk_size=ROWS_AT_ONCE):
        writer.write_row(model._meta.db_table, row)
        count += 1
    return count
