"""A cursor without the layers that Django lays over its own, for statements said for every job.

In: a connection. Out: its cursor, with `%s` for every value and Django's errors. The layers
(wrappers, checks, a search for placeholders) cost more than most of the statements do.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from sqlite3 import Error
from types import TracebackType
from typing import Any, NoReturn, Self

from django.db.backends.base.base import BaseDatabaseWrapper

#: Statements whose other form is remembered.
_KEPT = 1024


class PlainCursor:
    """SQLite's own cursor; statements must hold no other `%` than those of `%s`."""

    __slots__ = ("_cursor", "_errors")

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._errors = connection.wrap_database_errors
        self._cursor = connection.connection.cursor()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cursor.close()

    @property
    def description(self) -> Any:
        """What the columns are; None where a statement has none."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Rows that a statement changed."""
        return int(self._cursor.rowcount)

    # A block around each call, entered for its errors alone, would cost as much as the call.

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement."""
        try:
            self._cursor.execute(_with_marks(statement), parameters)
        except Error as error:
            self._tell_as_django(error)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        try:
            self._cursor.executemany(_with_marks(statement), rows)
        except Error as error:
            self._tell_as_django(error)

    def fetchone(self) -> Any:
        """The next row; None where there is none."""
        try:
            return self._cursor.fetchone()
        except Error as error:
            self._tell_as_django(error)

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        try:
            rows: list[Any] = self._cursor.fetchall()
        except Error as error:
            self._tell_as_django(error)
        return rows

    def fetchmany(self, size: int) -> list[Any]:
        """The next rows, so many at most."""
        try:
            rows: list[Any] = self._cursor.fetchmany(size)
        except Error as error:
            self._tell_as_django(error)
        return rows

    def close(self) -> None:
        """Let go of what was not read."""
        self._cursor.close()

    def _tell_as_django(self, error: Error) -> NoReturn:
        """Raise Django's error for one of SQLite."""
        with self._errors:
            raise error
        raise AssertionError("the block above raises")


def plain_cursor(connection: BaseDatabaseWrapper) -> Any:
    """A cursor for statements of the store; Django's own where somebody listens, or elsewhere."""
    if connection.execute_wrappers or connection.queries_logged:
        return connection.cursor()
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        return PlainCursor(connection)
    of_its_own = getattr(connection, "plain_cursor", None)
    return connection.cursor() if of_its_own is None else of_its_own()


def later(cursor: Any) -> Callable[..., None]:
    """How a cursor runs a statement whose result nobody reads.

    On PostgreSQL it goes out with the next one that is read, at the latest with the commit or the
    end of the savepoint, and its errors come then.
    """
    say: Callable[..., None] = getattr(cursor, "later", cursor.execute)
    return say


def begin_reading(connection: BaseDatabaseWrapper) -> None:
    """Begin a transaction whose reads all see the same index, with its first read."""
    with plain_cursor(connection) as cursor:
        if connection.vendor == "sqlite":
            # Django's own blocks would take the write lock.
            cursor.execute("BEGIN DEFERRED")
        else:
            begin = getattr(cursor, "begin", cursor.execute)
            begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")


def end_reading(connection: BaseDatabaseWrapper) -> None:
    """End it; nobody waits for PostgreSQL's word that it has."""
    with plain_cursor(connection) as cursor:
        if (leave := getattr(cursor, "leave", None)) is not None:
            leave()
        else:
            cursor.execute("COMMIT")


@lru_cache(maxsize=_KEPT)
def _with_marks(statement: str) -> str:
    return statement.replace("%s", "?")
