"""What pages ask that only a database can tell."""

from tests.store_fixtures import sqlite_store

__all__ = ["sqlite_store"]
