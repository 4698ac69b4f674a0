"""The stores the conformance suite runs on."""

from tests.store_fixtures import (
    memory_store,
    postgres_database,
    postgres_store,
    sqlite_store,
    store,
)

__all__ = [
    "memory_store",
    "postgres_database",
    "postgres_store",
    "sqlite_store",
    "store",
]
