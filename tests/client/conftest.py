"""A real web process on a record with one of everything."""

import shutil

import pytest

from cluster.store.access import close_the_store, the_store
from tests.cluster.api.clients import make_token, put
from tests.cluster.api.test_shapes import fill, fill_versions
from tests.cluster.api.web_process import web_process
from tests.process_store import database_at


@pytest.fixture(scope="session")
def served(sqlite_template, tmp_path_factory, django_db_blocker):
    """Its address, and a manager's token."""
    place = tmp_path_factory.mktemp("served")
    file = place / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    with django_db_blocker.unblock(), database_at(file):
        store = the_store()
        put(store, fill_versions)
        put(store, fill)
        secret = make_token(store, "root")
        close_the_store()
    with web_process(place) as address:
        yield address, secret
