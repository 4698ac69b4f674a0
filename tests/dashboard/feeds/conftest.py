"""Feeds that read rows need a record in a database."""

from tests.store_fixtures import sqlite_store

__all__ = ["sqlite_store"]
