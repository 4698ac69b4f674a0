"""Pages before a real store: an SQLite file of the test's own, and people who are signed in."""

import re
from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.test import AsyncClient

from scheduler.state.events import WriteKind
from scheduler.state.writes.nodes import write_node
from tests.builders import SOME_MOMENT, CountingIDs, make_node
from tests.people import account
from tests.process_store import store

__all__ = ["store"]


@pytest.fixture
def ids():
    return CountingIDs(prefix="a")


@pytest.fixture
def node(store):
    """One ready node that can run the tests' jobs."""
    store.write(
        WriteKind.NODE_REGISTRATION,
        lambda change: write_node(change, make_node()),
        now=SOME_MOMENT,
    )
    return store.read(lambda reader: next(iter(reader.nodes())))


def one_line(html):
    """The page as a browser reads it: where a template breaks its lines says nothing."""
    return re.sub(r"[ \n]+", " ", html).strip()


def listed(answer):
    """The keys of the rows of the page's list, in their order."""
    return [*answer.context["list"].rows]


class Browser:
    """A signed-in browser. Answers have `status`, `text`, `headers`."""

    def __init__(self, user=None):
        self._client = AsyncClient()
        if user is not None:
            self._client.force_login(user)

    def get(self, path, /, **query):
        return async_to_sync(self._sent)(self._client.get, path, query)

    def post(self, path, /, **fields):
        return async_to_sync(self._sent)(self._client.post, path, fields)

    async def _sent(self, send, path, fields):
        return await _answer(await send(path, fields))


async def _answer(response):
    if response.streaming:
        content = b"".join([piece async for piece in response.streaming_content])
    else:
        content = response.content
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    return SimpleNamespace(
        status=response.status_code,
        headers=response.headers,
        text=one_line(content.decode()) if is_page else content.decode(),
        context=response.context,
    )


@pytest.fixture
def browser(store):
    """The operator's."""
    return Browser(User.objects.create_superuser("kim"))


@pytest.fixture
def stranger(store):
    """Nobody is signed in."""
    return Browser()


@pytest.fixture
def guest(store):
    """Sees the namespaces `default` and `team` only."""
    user = account(store, "submitter", "guest")
    user.groups.add(Group.objects.create(name="namespace:team"))
    return Browser(user)
