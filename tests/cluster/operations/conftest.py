"""Operations on stores that hold a fresh record."""

from tests.store_fixtures import sqlite_store

__all__ = ["sqlite_store"]
