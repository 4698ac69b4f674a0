"""Django's backend for PostgreSQL, with the store's own line beside its cursors.

The two share one connection and one transaction. Whatever Django's cursors say comes after what
waits on the line; savepoints wait there for the first statement in them, and commits take along
what waits.
"""

from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db.backends.postgresql import base as django_base

from cluster.store.postgresql.cursor import PostgresCursor
from cluster.store.postgresql.line import PostgresLine, plainly

_lines: "WeakKeyDictionary[psycopg.Connection[Any], PostgresLine]" = WeakKeyDictionary()


class PatientCursor(django_base.Cursor, psycopg.ClientCursor[Any]):
    """Django's cursor, which lets go first what waits on the line of its connection."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """See `psycopg.Cursor.execute`."""
        _settle(self.connection)
        return super().execute(*args, **options)

    def executemany(self, *args: Any, **options: Any) -> Any:
        """See `psycopg.Cursor.executemany`."""
        _settle(self.connection)
        return super().executemany(*args, **options)

    def copy(self, *args: Any, **options: Any) -> Any:
        """See `psycopg.Cursor.copy`."""
        _settle(self.connection)
        return super().copy(*args, **options)


class DatabaseWrapper(django_base.DatabaseWrapper):
    """One connection of one thread."""

    def line(self) -> PostgresLine:
        """The store's own line; connects when there is no connection."""
        self.ensure_connection()
        return _lines[self.connection]

    def plain_cursor(self) -> PostgresCursor:
        """A cursor on the line."""
        return PostgresCursor(self, self.line())

    def get_connection_params(self) -> dict[str, Any]:
        """What psycopg is given."""
        return {"cursor_factory": PatientCursor} | super().get_connection_params()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A new connection, with a line beside it."""
        connection = super().get_new_connection(conn_params)
        _lines[connection] = PostgresLine(connection)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor of Django's; what waits goes first."""
        with self.wrap_database_errors:
            _settle(self.connection)
        return super().create_cursor(name)

    def _set_autocommit(self, autocommit: bool) -> None:  # noqa: FBT001 - Django's own signature
        with self.wrap_database_errors:
            _settle(self.connection)
        super()._set_autocommit(autocommit)  # type: ignore[misc]  # the stubs leave it out

    def _commit(self) -> None:
        if self.connection is not None:
            with self.wrap_database_errors:
                _lines[self.connection].commit()

    def _rollback(self) -> None:
        if self.connection is not None:
            with self.wrap_database_errors:
                _lines[self.connection].rollback()

    def _savepoint(self, sid: str) -> None:
        self.line().say(plainly(self.ops.savepoint_create_sql(sid)))

    def _savepoint_rollback(self, sid: str) -> None:
        line = self.line()
        if not line.forget_after(self.ops.savepoint_create_sql(sid)):
            line.say(plainly(self.ops.savepoint_rollback_sql(sid)))

    def _savepoint_commit(self, sid: str) -> None:
        """What was said since is done when this returns: its errors belong to this savepoint."""
        line = self.line()
        if line.take_back(self.ops.savepoint_create_sql(sid)):
            return
        line.say(plainly(self.ops.savepoint_commit_sql(sid)))
        with self.wrap_database_errors:
            line.settle()


def _settle(connection: "psycopg.Connection[Any]") -> None:
    line = _lines.get(connection)
    if line is not None:
        line.settle()
