"""The whole site as `cluster.asgi` serves it, before a real store with something in each table."""

import httpx
import pytest

from tests.process_store import store
from tests.security.world import fill, signed_in

__all__ = ["store"]


@pytest.fixture
def world(store):
    """One thing of each kind in `default`, and in the namespace `team`."""
    return fill(store)


@pytest.fixture
def staff(store):
    return signed_in("root", is_staff=True, is_superuser=True)


@pytest.fixture
def kim(store):
    """A person who may run jobs in `default` and look at nothing else."""
    return signed_in("kim", "submitter")


@pytest.fixture
def member(store):
    """A person of the namespace `team`."""
    return signed_in("mary", "submitter", "namespace:team")


@pytest.fixture
def site():
    """Opens clients of the site: `site(cookies=..., headers=...)`."""
    from cluster.asgi import application

    def open_client(**options):
        transport = httpx.ASGITransport(app=application)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", **options)

    return open_client
