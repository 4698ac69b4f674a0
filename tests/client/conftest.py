"""A real web process on a record with one of everything."""

import pytest

from tests.cluster.api.filled_record import filled_record
from tests.cluster.api.web_process import web_process


@pytest.fixture(scope="session")
def served(sqlite_template, tmp_path_factory, django_db_blocker):
    """Its address, and a manager's token."""
    place = tmp_path_factory.mktemp("served")
    with django_db_blocker.unblock():
        secret = filled_record(place, sqlite_template)
    with web_process(place) as address:
        yield address, secret
