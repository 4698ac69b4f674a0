"""`the_store()` of this process on a file of the test's own, as inside a web process."""

import shutil
from contextlib import contextmanager

import pytest
from django.db import connections

from cluster.store.access import close_the_store, the_store


@contextmanager
def database_at(file):
    """Django's default database is that file for the length of the block."""
    connections.close_all()
    settings = connections["default"].settings_dict
    before, settings["NAME"] = settings["NAME"], file
    try:
        yield
    finally:
        connections.close_all()
        settings["NAME"] = before


@pytest.fixture
def store(sqlite_template, tmp_path, django_db_blocker):
    """The process's own store, on a fresh file."""
    file = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    with django_db_blocker.unblock(), database_at(file):
        yield the_store()
        close_the_store()
