"""A backup in the place of a record: beside it until all of it is there, then at once.

In: a database that nobody uses, and a file. Out: the record, or everything as it was. SQLite's
file is made anew and takes the other's place; PostgreSQL does all of it in one transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import DatabaseError, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

from cluster.environment import database_from
from cluster.store.backup.archive import FORMAT, Contents, read_contents
from cluster.store.backup.load import RecordSeen, load_backup
from cluster.store.backup.tables import (
    LEFT_OUT,
    NewerRecord,
    applied_migrations,
    missing_migrations,
    models_at,
)
from cluster.store.statements import READ_INDEX
from scheduler.structs.wire import Nanoseconds

BESIDE = "beside"


class RecordInTheWay(Exception):
    """There is a record already; the message says what it takes to replace it."""


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    contents: Contents
    #: The record goes on from here.
    index: int
    #: The file of the record that was replaced, where it was kept.
    kept: Path | None


def readable_contents(file: Path) -> Contents:
    """What a backup holds that this release can read. Raises BadArchive, NewerRecord."""
    contents = read_contents(file)
    missing = missing_migrations(contents.migrations)
    if contents.format > FORMAT or missing:
        why = f"it builds on {missing[0]}" if missing else f"its form is {contents.format}"
        raise NewerRecord(
            f"{file} was written by Bivouac {contents.version}, which is newer than this one:"
            f" {why}. Restore it with that version."
        )
    return contents


def restore_backup(
    file: Path, *, replace: bool, now: Nanoseconds, alias: str = "default"
) -> Restored:
    """Put the backup in the record's place.

    Nobody else may use the record meanwhile. Raises BadArchive, NewerRecord, and RecordInTheWay
    where there is a record and `replace` was not said; nothing has changed then.
    """
    contents = readable_contents(file)
    seen = what_is_there(alias)
    if seen is not None and not replace:
        raise RecordInTheWay(
            "There is a record already. Back it up, then say --replace to put the backup in its"
            " place."
        )
    if connections[alias].vendor == "sqlite":
        return _by_another_file(file, contents, alias, seen, now)
    with transaction.atomic(using=alias):
        _drop_tables(alias)
        index = load_backup(file, contents, alias, seen or RecordSeen(), now)
    return Restored(contents, index, None)


def what_is_there(alias: str) -> RecordSeen | None:
    """How far the record had come; None where there is none.

    A file that cannot be read is a record, too: of one's own accord nothing takes its place.
    """
    connection = connections[alias]
    try:
        with connection.cursor() as cursor:
            if not applied_migrations(alias).get("cluster"):
                is_foreign = (
                    connection.vendor == "sqlite" and connection.introspection.table_names()
                )
                return RecordSeen() if is_foreign else None
            cursor.execute(READ_INDEX)
            index = int(cursor.fetchone()[0])
            cursor.execute("SELECT name, epoch FROM lease")
            return RecordSeen(index, dict(cursor.fetchall()))
    except DatabaseError:
        if connection.vendor != "sqlite":
            raise
        return RecordSeen()


def _by_another_file(
    file: Path, contents: Contents, alias: str, seen: RecordSeen | None, now: Nanoseconds
) -> Restored:
    place = Path(connections[alias].settings_dict["NAME"])
    draft = place.with_name(f"{place.name}.restoring")
    _forget(draft)
    try:
        with database_at(alias, draft):
            index = load_backup(file, contents, BESIDE, seen or RecordSeen(), now)
            fold_log(BESIDE)
        kept = _keep(alias, place, now) if seen is not None else None
        connections[alias].close()
        draft.replace(place)
    finally:
        _forget(draft)
    return Restored(contents, index, kept)


def _keep(alias: str, place: Path, now: Nanoseconds) -> Path:
    """A second name for the replaced file, and its log beside it where that cannot be folded."""
    kept = place.with_name(f"{place.name}.replaced-{now // 1_000_000_000}")
    try:
        fold_log(alias)
    except DatabaseError:
        for ending in ("-wal", "-shm"):
            log = place.with_name(place.name + ending)
            if log.exists():
                log.replace(kept.with_name(kept.name + ending))
    connections[alias].close()
    kept.hardlink_to(place)
    return kept


def fold_log(alias: str) -> None:
    """Bring what SQLite's log holds into its file."""
    with connections[alias].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _forget(draft: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + ending).unlink(missing_ok=True)


@contextmanager
def database_at(alias: str, file: Path) -> Iterator[None]:
    """A further SQLite file under the alias `BESIDE`, opened as records are; one at a time."""
    described = {**connections.settings[alias], **database_from("", file)}
    # Never changed in place: other threads may be walking through it.
    connections.settings = {**connections.settings, BESIDE: described}
    try:
        yield
    finally:
        connections[BESIDE].close()
        del connections[BESIDE]
        connections.settings = {
            name: given for name, given in connections.settings.items() if name != BESIDE
        }


def _drop_tables(alias: str) -> None:
    """All of ours, those whose rows a backup leaves out included."""
    connection = connections[alias]
    names = {model._meta.db_table for model in models_at(applied_migrations(alias))} | LEFT_OUT
    names.add(MigrationRecorder(connection).migration_qs.model._meta.db_table)
    with connection.cursor() as cursor:
        there = names & set(connection.introspection.table_names(cursor))
        for name in sorted(there):
            cursor.execute(f"DROP TABLE {connection.ops.quote_name(name)} CASCADE")
