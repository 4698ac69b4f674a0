"""Databases that hold a fresh record, outside of Django's own test database.

They are real: a file with WAL and full sync, or a server. So threads, processes and locks behave
as they do for users.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from django.core.management import call_command
from django.db import connections

from cluster.environment import database_from
from tests.postgres_server import USER, PostgresServer

_numbers = count(1)


@contextmanager
def database(settings: dict[str, object]) -> Iterator[str]:
    """An alias for a database; its connections of this thread are closed at the end."""
    alias = f"record{next(_numbers)}"
    complete = connections.configure_settings({"default": {}, alias: settings})
    connections.settings[alias] = complete[alias]
    try:
        yield alias
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]


def migrate(settings: dict[str, object]) -> None:
    with database(settings) as alias:
        call_command("migrate", database=alias, verbosity=0)


def sqlite_settings(path: Path) -> dict[str, object]:
    return database_from("", path)


def copy_sqlite(template: Path, path: Path) -> dict[str, object]:
    shutil.copy(template, path)
    return sqlite_settings(path)


def postgres_settings(server: PostgresServer, name: str) -> dict[str, object]:
    return database_from("postgresql://nobody@localhost/x", Path()) | {
        "NAME": name,
        "USER": USER,
        "HOST": str(server.directory),
        "PORT": "5432",
    }


class PostgresDatabases:
    """Fresh databases of one server, each a copy of a migrated one."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._execute("CREATE DATABASE template_record")
        migrate(postgres_settings(server, "template_record"))

    @contextmanager
    def fresh(self) -> Iterator[dict[str, object]]:
        name = f"copy{next(_numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template_record STRATEGY file_copy")
        try:
            yield postgres_settings(self._server, name)
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with (
            database(postgres_settings(self._server, "postgres")) as alias,
            connections[alias].cursor() as cursor,
        ):
            cursor.execute(statement)
