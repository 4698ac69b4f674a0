"""Pages before a real store: an SQLite file of the test's own, and people who are signed in."""

import shutil
from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connections
from django.test import AsyncClient

from cluster.store.access import close_the_store, the_store
from dashboard.live import rooms
from dashboard.panels import register
from scheduler.state.events import WriteKind
from scheduler.state.writes.nodes import write_node
from tests.builders import SOME_MOMENT, CountingIDs, make_node


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory, django_db_blocker):
    """A database file with every migration applied, to be copied."""
    file = tmp_path_factory.mktemp("pages") / "state.sqlite3"
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


@pytest.fixture
def panels(monkeypatch):
    """The panels of all pages, registered for one test as a process that serves pages has them."""
    monkeypatch.setattr(rooms, "PANELS", {})
    monkeypatch.setattr(rooms, "ROWS", {})
    register()


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
    return SimpleNamespace(
        status=response.status_code,
        headers=response.headers,
        text=content.decode(),
        context=response.context,
    )


@pytest.fixture
def browser(store):
    """The operator's."""
    return Browser(User.objects.create_user("kim", is_staff=True))


@pytest.fixture
def stranger(store):
    """Nobody is signed in."""
    return Browser()


@pytest.fixture
def guest(store):
    """Sees the namespaces `default` and `team` only."""
    user = User.objects.create_user("guest")
    user.groups.add(Group.objects.create(name="namespace:team"))
    return Browser(user)
