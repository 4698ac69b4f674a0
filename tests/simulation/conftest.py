"""Simulations of which some run on a record in SQLite."""

from tests.store_fixtures import sqlite_store

__all__ = ["sqlite_store"]
