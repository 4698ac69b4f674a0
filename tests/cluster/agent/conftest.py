"""The agents' door before a real store: an SQLite file of the test's own."""

import shutil
from contextlib import contextmanager

import pytest
from django.core.management import call_command
from django.db import connections

from cluster.store.access import close_the_store, the_store
from cluster.store.join_tokens import add_join_token
from tests.cluster.agent.callers import JOIN_TOKEN, AgentCaller


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


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory, django_db_blocker):
    """A database file with every migration applied, to be copied."""
    file = tmp_path_factory.mktemp("record") / "state.sqlite3"
    with django_db_blocker.unblock(), database_at(file):
        call_command("migrate", verbosity=0, skip_checks=True)
    return file


@pytest.fixture
def store(migrated_file, tmp_path, django_db_blocker, settings):
    """The process's own store, on a fresh file, with one join token."""
    settings.ROOT_URLCONF = "tests.cluster.agent.mount"
    settings.MIDDLEWARE = settings.API_MIDDLEWARE
    file = tmp_path / "state.sqlite3"
    shutil.copy(migrated_file, file)
    with django_db_blocker.unblock(), database_at(file):
        add_join_token(JOIN_TOKEN, name="tests", now=1)
        yield the_store()
        close_the_store()


@pytest.fixture
async def agent(store):
    """An agent whose node is known and ready."""
    caller = AgentCaller(1)
    await caller.join()
    return caller


@pytest.fixture
async def other(store):
    """Another agent of that kind."""
    caller = AgentCaller(2)
    await caller.join()
    return caller
