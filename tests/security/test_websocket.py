"""Who gets a websocket, what it may follow, and when it ends."""

import asyncio

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session
from msgspec.structs import replace

from cluster.store.access import the_store
from dashboard.live import entitlement
from dashboard.live.consumers import RIGHTS_CHANGED, SIGNED_OUT
from dashboard.live.hub import HUB
from dashboard.live.source import StoreFrames
from dashboard.models import GroupPolicy
from scheduler.state.nouns import ACL_POLICIES
from tests.builders import FixedClock
from tests.cluster.api.clients import NOW

OWN = settings.CSRF_TRUSTED_ORIGINS[0]
PAST = "2001-01-01T00:00Z"


@pytest.fixture(autouse=True)
def hub(store):
    HUB.wire(StoreFrames(store), FixedClock())
    yield
    assert HUB.groups == {}


def socket_of(user=None, *, topics="overview", origins=(OWN,)):
    from cluster.asgi import application

    cookies = user.cookies if user else {}
    headers = [(b"origin", origin.encode("latin-1")) for origin in origins]
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    if text:
        headers.append((b"cookie", text.encode()))
    return WebsocketCommunicator(application, f"/live?index=0&topics={topics}", headers)


async def followed(user):
    """A socket that follows its topic; one that is only accepted has not read rights yet."""
    socket = socket_of(user)
    assert (await socket.connect())[0]
    await socket.receive_json_from()
    return socket


async def closing_code(socket):
    while (message := await socket.receive_output())["type"] != "websocket.close":
        pass
    return message["code"]


@pytest.mark.parametrize(
    "origins",
    [
        pytest.param((), id="absent"),
        pytest.param(("null",), id="null"),
        pytest.param(("",), id="empty"),
        pytest.param(("https://evil.example",), id="foreign"),
        pytest.param((f"{OWN}.evil.example",), id="look-alike-after"),
        pytest.param(("http://evil-" + OWN.removeprefix("http://"),), id="look-alike-before"),
        pytest.param((OWN.replace("http://", "http://x@"),), id="user"),
        pytest.param((OWN.upper(),), id="upper-case"),
        pytest.param((OWN.replace("4646", "4647"),), id="other-port"),
        pytest.param((OWN.replace("http", "https"),), id="other-scheme"),
        pytest.param((f"{OWN}/",), id="with-path"),
        pytest.param(("http://127.0.0.1",), id="default-port"),
        pytest.param((OWN, "https://evil.example"), id="two"),
        pytest.param(("http://\xff",), id="not-ascii"),
    ],
)
async def test_a_page_of_somebody_else_gets_no_socket_even_with_a_valid_cookie(origins, staff):
    socket = socket_of(staff, origins=origins)
    connected, _ = await socket.connect()
    assert not connected


@pytest.mark.parametrize("origin", settings.CSRF_TRUSTED_ORIGINS)
async def test_our_own_pages_get_one(origin, staff):
    socket = socket_of(staff, origins=(origin,))
    assert (await socket.connect())[0]
    await socket.disconnect()


async def test_without_a_session_nothing_is_followed(store):
    socket = socket_of()
    await socket.connect()
    assert await closing_code(socket) == SIGNED_OUT


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user: Session.objects.all().delete(), id="signed-out"),
        pytest.param(lambda user: Session.objects.update(expire_date=PAST), id="expired"),
        pytest.param(lambda user: _saved(user, is_active=False), id="deactivated"),
        pytest.param(lambda user: (user.set_password("new"), user.save()), id="new-password"),
        pytest.param(lambda user: user.delete(), id="deleted"),
    ],
)  # fmt: skip
async def test_a_socket_ends_with_what_it_was_opened_on(change, staff, monkeypatch):
    monkeypatch.setattr(entitlement, "RECHECK_S", 0.02)
    socket = await followed(staff)
    await asyncio.to_thread(_then_closed, change, staff)
    assert await closing_code(socket) == SIGNED_OUT
    await socket.disconnect()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user: user.groups.clear(), id="left-every-group"),
        pytest.param(lambda user: user.groups.get(name="submitter").delete(), id="group-gone"),
        pytest.param(lambda user: GroupPolicy.objects.all().delete(), id="group-without-policy"),
        pytest.param(lambda user: _policy("submitter", ""), id="policy-changed"),
        pytest.param(lambda user: _saved(user, is_superuser=True), id="promoted"),
    ],
)
async def test_a_socket_ends_when_rights_change_so_that_the_page_loads_again(
    change, kim, monkeypatch
):
    monkeypatch.setattr(entitlement, "RECHECK_S", 0.02)
    socket = await followed(kim)
    await asyncio.to_thread(_then_closed, change, kim)
    assert await closing_code(socket) == RIGHTS_CHANGED
    await socket.disconnect()


def _policy(name, rules):
    def work(change):
        stored = change.get(ACL_POLICIES, name)
        change.put(ACL_POLICIES, replace(stored, rules=rules, modify_index=change.index))

    the_store().write(ACL_POLICIES.upserted, work, now=NOW)


def test_sockets_end_within_five_seconds():
    assert entitlement.RECHECK_S < 5


@pytest.mark.parametrize(
    "topic",
    ["job:team/web", "evaluations:namespace%3Dteam", "jobs:namespace%3Dteam", "evaluation:{eval}",
     "chain:{eval}", "allocation:{alloc}"],
)  # fmt: skip
async def test_a_person_without_the_namespace_cannot_follow_it_nor_tell_that_it_exists(
    topic, world, kim, member
):
    named = topic.format(eval=world.evaluations["team"].id, alloc=world.allocations["team"].id)
    socket = socket_of(kim, topics=named)
    assert (await socket.connect())[0]
    refused = await socket.receive_json_from()
    unknown = "unknown here"
    assert (refused["type"], refused["topic"]) == ("refused", named)
    assert refused["reason"].endswith(unknown)
    await socket.disconnect()
    allowed = socket_of(member, topics=named)
    assert (await allowed.connect())[0]
    assert (await allowed.receive_json_from())["type"] != "refused"
    await allowed.disconnect()


def _saved(user, **fields):
    for name, value in fields.items():
        setattr(user, name, value)
    user.save()


def _then_closed(change, user):
    from django.db import connections

    change(user)
    connections.close_all()
