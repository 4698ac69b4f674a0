"""The process's own store, which is Django's default database; and stores in both databases."""

import pytest

from tests.process_store import store
from tests.store_fixtures import postgres_database, postgres_store, sqlite_store

__all__ = ["postgres_database", "postgres_store", "sqlite_store", "store"]


@pytest.fixture(params=["sqlite", "postgres"])
def record(request):
    """A store in a database."""
    return request.getfixturevalue(f"{request.param}_store")
