"""The API before a real store: an SQLite file of the test's own, and clients with tokens."""

import pytest

from scheduler.state.events import WriteKind
from scheduler.state.nouns import NAMESPACES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.job import Namespace
from tests.builders import make_job
from tests.cluster.api.clients import Client, make_token, put
from tests.process_store import store

__all__ = ["store"]


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
    put(store, lambda change: change.put(NAMESPACES, Namespace(name="team", create_index=1)))
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
