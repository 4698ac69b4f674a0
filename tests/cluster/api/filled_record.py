"""A record with one of everything, for a web process to serve."""

import shutil

from cluster.store.access import close_the_store, the_store
from tests.cluster.api.clients import make_token, put
from tests.cluster.api.test_shapes import fill, fill_versions
from tests.process_store import database_at


def filled_record(place, template):
    """A manager's token; the record is a file of its own in `place`, begun from the template."""
    file = place / "state.sqlite3"
    shutil.copy(template, file)
    with database_at(file):
        store = the_store()
        put(store, fill_versions)
        put(store, fill)
        secret = make_token(store, "root")
        close_the_store()
    return secret
