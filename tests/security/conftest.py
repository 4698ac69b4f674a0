"""The whole site as `cluster.asgi` serves it, before a real store with something in each table."""

import shutil
from contextlib import contextmanager

import httpx
import pytest
from django.core.management import call_command
from django.db import connections

from cluster.store.access import close_the_store, the_store
from tests.security.world import fill, signed_in


@contextmanager
def database_at(file):
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
    file = tmp_path_factory.mktemp("record") / "state.sqlite3"
    with django_db_blocker.unblock(), database_at(file):
        call_command("migrate", verbosity=0, skip_checks=True)
    return file


@pytest.fixture
def store(migrated_file, tmp_path, django_db_blocker):
    """The process's own store, on a fresh file."""
    file = tmp_path / "state.sqlite3"
    shutil.copy(migrated_file, file)
    with django_db_blocker.unblock(), database_at(file):
        yield the_store()
        close_the_store()


@pytest.fixture
def world(store):
    """One thing of each kind in `default`, and in the namespace `team`."""
    return fill(store)


@pytest.fixture
def staff(store):
    return signed_in("root", is_staff=True, is_superuser=True)


@pytest.fixture
def kim(store):
    """A person who may look at `default` and at nothing else."""
    return signed_in("kim")


@pytest.fixture
def member(store):
    """A person of the namespace `team`."""
    return signed_in("mary", "namespace:team")


@pytest.fixture
def site():
    """Opens clients of the site: `site(cookies=..., headers=...)`."""
    from cluster.asgi import application

    def open_client(**options):
        transport = httpx.ASGITransport(app=application)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", **options)

    return open_client
