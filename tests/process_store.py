"""`the_store()` of this process on a file of the test's own, as inside a web process."""

import shutil
from contextlib import contextmanager

import pytest
from asgiref.sync import SyncToAsync
from django.db import connections

from cluster.store.access import close_the_store, the_store


@contextmanager
def database_at(file):
    """Django's default database is that file for the length of the block."""
    close_connections()
    settings = connections["default"].settings_dict
    before, settings["NAME"] = settings["NAME"], file
    try:
        yield
    finally:
        close_connections()
        settings["NAME"] = before


def close_connections():
    """Those of this thread and of the one in which sockets ask, where they outlive a test.

    There a socket would look for its session in the file of the test before.
    """
    connections.close_all()
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


@pytest.fixture
def store(sqlite_template, tmp_path, django_db_blocker):
    """The process's own store, on a fresh file."""
    file = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    with django_db_blocker.unblock(), database_at(file):
        yield the_store()
        close_the_store()
