"""A database for one run at a PostgreSQL server, made before and dropped after.

In: the address of a database that is there, of a role that may make others. Out: the address of a
fresh one beside it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

_numbers = count(1)


class DatabaseRefused(Exception):
    """The server does not answer or does not let us; the message carries its words."""


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """Around a run; raises DatabaseRefused. Nothing else may be left connected to it after."""
    name = f"bivouac_bench_{os.getpid()}_{next(_numbers)}"
    _say(url, "CREATE DATABASE {}", name)
    try:
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
    finally:
        # What the run was about says more than that its database stays.
        with suppress(DatabaseRefused):
            _say(url, "DROP DATABASE {} WITH (FORCE)", name)


def _say(url: str, statement: LiteralString, name: str) -> None:
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
    except psycopg.Error as error:
        raise DatabaseRefused(f"--database: {str(error).strip()}") from None
