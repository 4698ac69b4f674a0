"""Stores in databases, and an access with threads of its own."""

import pytest

from cluster.store.access import StoreAccess
from tests.store_fixtures import (
    postgres_database,
    postgres_store,
    sqlite_store,
)

__all__ = [
    "postgres_database",
    "postgres_store",
    "sqlite_store",
]


@pytest.fixture(params=["sqlite", "postgres"])
def record(request):
    """A store in a database."""
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
def access(sqlite_store):
    """The way of a web process to the record."""
    opened = StoreAccess(sqlite_store.alias)
    yield opened
    opened.close()
