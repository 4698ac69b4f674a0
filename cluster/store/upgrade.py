"""Brings the record to this release before anything works on it, or says why that cannot be.

In: a database, perhaps empty, perhaps of another release. Out: a record of this release. Who comes
while another does the same waits for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.installation import typed
from cluster.store.backup.tables import applied_migrations, missing_migrations

#: Of the lock that first starts of several machines share; any number that nobody else uses.
_UPGRADE_LOCK = 0x6269766F

#: Refusals of PostgreSQL that pass.
_PASSING = ("starting up", "shutting down", "recovery mode", "too many")


class RecordUnusable(Exception):
    """The record is there and cannot be worked on; the message says why and what to do."""


class RecordServerSilent(Exception):
    """The server of the record does not answer; the message says where it was looked for."""


def upgrade_record(alias: str = "default") -> None:
    """Bring the record to this release. Raises RecordUnusable or RecordServerSilent."""
    connection = connections[alias]
    try:
        with _alone(connection):
            missing = missing_migrations(applied_migrations(alias))
            if missing:
                raise RecordUnusable(
                    f"The record in {_place(connection)} was brought up to date by a newer"
                    f" Bivouac: it has {missing[0]}. Start that version, or restore a backup of"
                    " this one."
                )
            call_command("migrate", database=alias, verbosity=0, interactive=False)
    except DatabaseError as error:
        raise _told(connection, error) from error


def _told(connection: BaseDatabaseWrapper, error: DatabaseError) -> Exception:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    place = _place(connection)
    if connection.vendor != "sqlite":
        # A server that is there and refuses (password, name) will refuse again.
        is_refusal = "FATAL" in reason and not any(word in reason for word in _PASSING)
        if isinstance(error, OperationalError) and not is_refusal:
            return RecordServerSilent(f"PostgreSQL at {place} does not answer: {reason}.")
        return RecordUnusable(f"The record in {place} cannot be used: {reason}.")
    if "readonly" in reason or "unable to open" in reason:
        return RecordUnusable(
            f"The record in {place} cannot be written: {reason}. Let this user write there, or set"
            " BIVOUAC_DATA_DIR to another directory."
        )
    if "locked" in reason or "full" in reason or "disk I/O" in reason:
        return RecordUnusable(f"The record in {place} cannot be used now: {reason}.")
    return RecordUnusable(
        f"The record in {place} is damaged: {reason}. Put a backup in its place with"
        f" `{typed('restore FILE --replace')}`; what is there stays beside it."
    )


def _place(connection: BaseDatabaseWrapper) -> str:
    described = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(described["NAME"])
    port = f":{described['PORT']}" if described["PORT"] else ""
    return f"{described['HOST'] or 'localhost'}{port}, database {described['NAME']}"


@contextmanager
def _alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Of several that start on one server, one after the other (a file has its directory's)."""
    if connection.vendor == "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_UPGRADE_LOCK,))
    try:
        yield
    finally:
        if connection.connection is not None and not connection.closed_in_transaction:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", (_UPGRADE_LOCK,))
