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
    return postgres_settings_at(server.directory, name)


def postgres_settings_at(socket: Path, name: str) -> dict[str, object]:
    """`socket`: the directory that its socket is in."""
    return database_from("postgresql://nobody@localhost/x", Path()) | {
        "NAME": name,
        "USER": USER,
        "HOST": str(socket),
        "PORT": "5432",
    }


class PostgresDatabase:
    """One migrated database of a server, which goes back to its first state for every test."""

    def __init__(self, server: PostgresServer) -> None:
        self.settings = postgres_settings(server, "record")
        with (
            database(postgres_settings(server, "postgres")) as alias,
            connections[alias].cursor() as cursor,
        ):
            cursor.execute("CREATE DATABASE record")
        migrate(self.settings)
        with database(self.settings) as alias, connections[alias].cursor() as cursor:
            self._tables = connections[alias].introspection.table_names(cursor)
            cursor.execute("CREATE SCHEMA seed")
            for table in self._tables:
                cursor.execute(f"CREATE TABLE seed.{table} AS SELECT * FROM {table}")  # noqa: S608 - names of our own tables only

    def reset(self) -> None:
        with database(self.settings) as alias, connections[alias].cursor() as cursor:
            # Foreign keys would ask for an order of the tables.
            cursor.execute("SET session_replication_role = replica")
            for table in self._tables:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own tables only
                cursor.execute(f"INSERT INTO {table} SELECT * FROM seed.{table}")  # noqa: S608 - names of our own tables only
