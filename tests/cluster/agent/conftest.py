"""The agents' door before a real store: an SQLite file of the test's own."""

import pytest

from cluster.store.join_tokens import add_join_token
from tests.cluster.agent.callers import JOIN_TOKEN, AgentCaller
from tests.cluster.agent.small_disk import mounted
from tests.process_store import store as bare_store

__all__ = ["bare_store"]


@pytest.fixture
def store(bare_store, settings):
    """The process's own store, on a fresh file, with one join token."""
    settings.ROOT_URLCONF = "tests.cluster.agent.mount"
    settings.MIDDLEWARE = settings.API_MIDDLEWARE
    add_join_token(JOIN_TOKEN, name="tests", now=1)
    return bare_store


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


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    with mounted(tmp_path / "disk") as place:
        yield place
