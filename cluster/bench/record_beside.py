"""The record of an own stack, read beside its servers: counting costs them nothing.

In: statements with `%s` for each parameter. Out: rows. SQLite by its file, PostgreSQL by the
`DATABASE_URL` that the stack was started with.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg

Rows = list[tuple[Any, ...]]


class RecordBeside(Protocol):
    """Whatever answers statements."""

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """All that a question finds."""

    def close(self) -> None:
        """Ask no more."""

    def size_mb(self) -> float:
        """What it takes of the disk, its log included."""


class SqliteBeside:
    """A record in a file, opened for reading alone."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `RecordBeside.rows`."""
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as record:
            return record.execute(statement.replace("%s", "?"), [*parameters]).fetchall()

    def close(self) -> None:
        """See `RecordBeside.close`."""

    def size_mb(self) -> float:
        """See `RecordBeside.size_mb`."""
        parts = self._file.parent.glob(f"{self._file.name}*")
        return sum(part.stat().st_size for part in parts) / 1_000_000


class PostgresBeside:
    """A record at a PostgreSQL server; one connection for all questions."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: psycopg.Connection[Any] | None = None

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `RecordBeside.rows`."""
        # A connection is a process of the server: one for each look would cost it more than ours.
        if self._open is None or self._open.closed:
            self._open = psycopg.connect(self._url, autocommit=True)
        return self._open.execute(statement.encode(), [*parameters]).fetchall()

    def close(self) -> None:
        """See `RecordBeside.close`."""
        if self._open is not None:
            self._open.close()

    def size_mb(self) -> float:
        """See `RecordBeside.size_mb`."""
        return float(self.rows("SELECT pg_database_size(current_database())")[0][0]) / 1_000_000


def record_beside(data_dir: Path, environment: Mapping[str, str]) -> RecordBeside | None:
    """The record of a stack; None when it is out of reach."""
    url = environment.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        return PostgresBeside(url)
    file = data_dir / "state.sqlite3"
    return SqliteBeside(file) if file.exists() else None
