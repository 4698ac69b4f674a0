"""A cursor without the layers that Django lays over SQLite's, for statements said for every job.

In: a connection. Out: its cursor, with `%s` for every value and Django's errors. The layers
(wrappers, checks, a search for placeholders) cost more than most of the statements do.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from django.db.backends.base.base import BaseDatabaseWrapper

#: Statements whose other form is remembered.
_KEPT = 1024


class PlainCursor:
    """SQLite's own cursor; statements must hold no other `%` than those of `%s`."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._errors = connection.wrap_database_errors
        self._cursor = connection.connection.cursor()
        self.fetchone = self._errors(self._cursor.fetchone)
        self.fetchall = self._errors(self._cursor.fetchall)
        self.fetchmany = self._errors(self._cursor.fetchmany)

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

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement."""
        with self._errors:
            self._cursor.execute(_with_marks(statement), parameters)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        with self._errors:
            self._cursor.executemany(_with_marks(statement), rows)

    def close(self) -> None:
        """Let go of what was not read."""
        self._cursor.close()


def plain_cursor(connection: BaseDatabaseWrapper) -> Any:
    """A cursor for statements of the store; Django's own where somebody listens, or elsewhere."""
    if connection.vendor != "sqlite" or connection.execute_wrappers or connection.queries_logged:
        return connection.cursor()
    connection.ensure_connection()
    return PlainCursor(connection)


@lru_cache(maxsize=_KEPT)
def _with_marks(statement: str) -> str:
    return statement.replace("%s", "?")
