"""The API before a real store: an SQLite file of the test's own, and clients with tokens."""

import shutil

import pytest
from django.core.management import call_command
from django.db import connections

from cluster.store.access import close_the_store, the_store
from scheduler.state.events import WriteKind
from scheduler.state.writes.jobs import write_job
from scheduler.structs.job import Namespace
from tests.builders import make_job
from tests.cluster.api.clients import Client, make_token, put


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory, django_db_blocker):
    """A database file with every migration applied, to be copied."""
    file = tmp_path_factory.mktemp("record") / "state.sqlite3"
    with django_db_blocker.unblock(), _DatabaseAt(file):
        call_command("migrate", verbosity=0)
    return file


class _DatabaseAt:
    """Point Django's default database at a file for the length of a block."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        connections.close_all()
        self.settings = connections["default"].settings_dict
        self.before = self.settings["NAME"]
        self.settings["NAME"] = self.file

    def __exit__(self, *_error):
        connections.close_all()
        self.settings["NAME"] = self.before


@pytest.fixture
def store(migrated_file, tmp_path, django_db_blocker):
    """The process's own store, on a fresh file."""
    file = tmp_path / "state.sqlite3"
    shutil.copy(migrated_file, file)
    with django_db_blocker.unblock(), _DatabaseAt(file):
        yield the_store()
        close_the_store()


@pytest.fixture(autouse=True)
def only_the_api(settings):
    settings.ROOT_URLCONF = "tests.cluster.api.mount"
    settings.MIDDLEWARE = settings.API_MIDDLEWARE


@pytest.fixture
def secret(store):
    return make_token(store, "root")


@pytest.fixture
def api(secret):
    """The manager."""
    return Client(secret)


@pytest.fixture
def stranger(store):
    """Somebody without a token."""
    del store
    return Client("")


@pytest.fixture
def tenant(store):
    """A program that may read and change the namespace `team`, and nothing else."""
    put(store, lambda change: change.put_namespace(Namespace(name="team", create_index=1)))
    return Client(make_token(store, "team", team="write"))


@pytest.fixture
def reader(store):
    """A program that may only look, everywhere."""
    return Client(make_token(store, "reader", **{"*": "read"}))


@pytest.fixture
def expired(store):
    """A program whose token was good until yesterday."""
    return Client(make_token(store, "old", expires=1))


@pytest.fixture
def job(store):
    """A stored job."""
    put(store, lambda change: write_job(change, make_job()), WriteKind.JOB_REGISTERED)
    return store.read(lambda reader: reader.job(make_job().key))
