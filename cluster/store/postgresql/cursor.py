"""A cursor on the store's own line to PostgreSQL: the face that SQLite's plain cursor has as well.

In: a connection of `cluster.store.postgresql.base`. Out: rows as Django's cursor would give them,
Django's errors. Statements must hold no other `%` than those of `%s`.
"""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Error, pq
from psycopg.adapt import Transformer

from cluster.store.postgresql.line import PostgresLine, Result, plainly, said


class PostgresCursor:
    """Reads whole results: the store's are lists of bounded length."""

    __slots__ = ("_connection", "_errors", "_line", "_place", "_result", "_rows")

    def __init__(self, connection: BaseDatabaseWrapper, line: PostgresLine) -> None:
        self._connection = connection.connection
        self._errors = connection.wrap_database_errors
        self._line = line
        self._result: Result | None = None
        self._rows: list[Any] | None = None
        self._place = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def description(self) -> Sequence[tuple[str]] | None:
        """The names of the columns; None where a statement has none."""
        result = self._result
        if result is None or not result.nfields:
            return None
        return [((result.fname(n) or b"").decode(),) for n in range(result.nfields)]

    @property
    def rowcount(self) -> int:
        """Rows that a statement changed."""
        found = self._result.command_tuples if self._result is not None else None
        return -1 if found is None else found

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement."""
        self._rows = None
        try:
            self._result = self._line.ask(said(statement, parameters))
        except Error as error:
            self._tell_as_django(error)

    def rows_of_each(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Any]]:
        """Run several statements in one message; the rows of each, in its turn after the others.

        Each sees what was committed when it is run, a lock that one before it waited for included.
        """
        try:
            results = self._line.ask_all([said(*each) for each in asked])
        except Error as error:
            self._tell_as_django(error)
        return [self._loaded(result) for result in results]

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row, in few messages."""
        self._result = self._rows = None
        try:
            for row in rows:
                self._line.say(said(statement, row))
            self._line.settle()
        except Error as error:
            self._tell_as_django(error)

    def later(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement whose result nobody reads, with the next one or with the commit."""
        try:
            self._line.say(said(statement, parameters))
        except Error as error:
            self._tell_as_django(error)

    def later_each(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """As `later`, for each row."""
        for row in rows:
            self.later(statement, row)

    def copy_new(
        self, table: str, columns: Sequence[str], put: str, rows: Iterable[tuple[object, ...]]
    ) -> None:
        """Copy rows into a table that has none under their keys.

        `put` is the statement that would insert one of them: it tells the types of the columns.
        """
        into = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
        try:
            types = self._line.types_of(put)
            with self._connection.cursor() as cursor, cursor.copy(into.encode()) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
        except Error as error:
            self._tell_as_django(error)

    def begin(self, statement: str) -> None:
        """Begin a transaction, with the first statement in it."""
        self._line.say(plainly(statement))

    def leave(self) -> None:
        """End a transaction that has only read; nobody waits for that."""
        try:
            self._line.leave()
        except Error as error:
            self._tell_as_django(error)

    def fetchone(self) -> Any:
        """The next row; None where there is none."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        rows = self._all_rows()[self._place :] if self._place else self._all_rows()
        self._place += len(rows)
        return rows

    def fetchmany(self, size: int) -> list[Any]:
        """The next rows, so many at most."""
        rows = self._all_rows()[self._place : self._place + size]
        self._place += len(rows)
        return rows

    def close(self) -> None:
        """Let go of what was not read."""
        self._result = self._rows = None

    def _all_rows(self) -> list[Any]:
        if self._rows is None:
            assert self._result is not None, "rows are read after a statement"
            self._rows = self._loaded(self._result)
            self._place = 0
        return self._rows

    def _loaded(self, result: Result) -> list[Any]:
        loading = Transformer(self._connection)
        loading.set_pgresult(result, format=pq.Format.BINARY)
        return list(loading.load_rows(0, result.ntuples, tuple))

    def _tell_as_django(self, error: Error) -> NoReturn:
        """Raise Django's error for one of psycopg."""
        with self._errors:
            raise error
        raise AssertionError("the block above raises")
