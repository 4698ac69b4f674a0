"""Who gets a terminal inside a task through a page, and when it ends."""

import asyncio
from urllib.parse import urlencode

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session

from cluster.operations import session_socket
from cluster.operations.agent_calls import LINKS
from cluster.operations.session_frames import output
from dashboard.live.hub import HUB
from dashboard.live.source import StoreFrames
from dashboard.live.terminals import SIGNED_OUT
from scheduler.state.writes.jobs import write_job
from scheduler.structs.task_group import Action
from tests.builders import (
    FixedClock,
    make_allocation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.cluster.api.clients import put
from tests.security.world import signed_in

OWN = settings.CSRF_TRUSTED_ORIGINS[0]
NODE = make_node(1).id
ALLOC = "bbbbbbbb-0000-0000-0000-000000000001"
GREET = Action(name="greet", command="/bin/echo", args=("hello",))


class Shell:
    """Says that it is there, and waits."""

    def __init__(self):
        self.asked = None
        self.ended = asyncio.Event()

    async def call(self, _node_id, _verb, body, given=None):
        self.asked = body
        try:
            yield output("stdout", b"$ ")
            async for _frame in given:
                pass
        finally:
            self.ended.set()


@pytest.fixture(autouse=True)
def hub(store):
    HUB.wire(StoreFrames(store), FixedClock())


@pytest.fixture
def shell(store):
    def fill(change):
        task = make_task(name="main", driver="exec", actions=(GREET,))
        job = write_job(change, make_job(task_groups=(make_task_group(tasks=(task,)),)))
        change.put_node(make_node(1))
        change.put_allocation(make_allocation(job, id=ALLOC, job_create_index=job.create_index))

    put(store, fill)
    shell = Shell()
    LINKS.add((NODE,), shell)
    yield shell
    LINKS.remove(shell)


@pytest.fixture
def looker(store):
    return signed_in("lee", "viewer")


def socket_of(user=None, *, origins=(OWN,), **query):
    from cluster.asgi import application

    headers = [(b"origin", origin.encode("latin-1")) for origin in origins]
    text = "; ".join(f"{name}={value}" for name, value in (user.cookies if user else {}).items())
    if text:
        headers.append((b"cookie", text.encode()))
    asked = urlencode({"task": "main", "command": "sh -c 'echo x'"} | query)
    address = f"/allocations/{ALLOC}/terminal/socket?{asked}"
    return WebsocketCommunicator(application, address, headers)


async def close_of(socket):
    while (message := await socket.receive_output(5))["type"] != "websocket.close":
        pass
    return message["code"], message.get("reason", "")


async def test_a_terminal_runs_the_typed_words(shell, staff):
    socket = socket_of(staff)
    assert (await socket.connect())[0]
    assert await socket.receive_json_from(5) == {"stdout": {"data": "JCA="}}
    told = {"AllocID": ALLOC, "Task": "main", "Command": ["sh", "-c", "echo x"], "Tty": True}
    told["TellsBegin"] = True
    assert shell.asked == told
    await socket.disconnect()
    await asyncio.wait_for(shell.ended.wait(), 5)


async def test_an_action_runs_its_own_command(shell, staff):
    socket = socket_of(staff, action="greet")
    assert (await socket.connect())[0]
    await socket.receive_json_from(5)
    assert shell.asked["Command"] == ["/bin/echo", "hello"]
    await socket.disconnect()


@pytest.mark.parametrize("origins", [(), ("https://evil.example",), (OWN, "https://evil.example")])
async def test_a_page_of_somebody_else_gets_none_even_with_a_valid_cookie(shell, staff, origins):
    assert not (await socket_of(staff, origins=origins).connect())[0]
    assert shell.asked is None


async def test_nobody_gets_one(shell):
    socket = socket_of()
    await socket.connect()
    assert (await close_of(socket))[0] == SIGNED_OUT
    assert shell.asked is None


async def test_who_may_only_look_gets_none(shell, looker):
    socket = socket_of(looker)
    await socket.connect()
    assert await close_of(socket) == (session_socket.FAULT, "Permission denied")
    assert shell.asked is None


async def test_words_that_are_none_are_refused(shell, staff):
    socket = socket_of(staff, command="sh -c 'x")
    await socket.connect()
    assert await close_of(socket) == (
        session_socket.FAULT, "not a command: No closing quotation"
    )  # fmt: skip


async def test_a_terminal_ends_with_the_sign_in(shell, staff, monkeypatch):
    monkeypatch.setattr(session_socket, "RECHECK_S", 0.02)
    socket = socket_of(staff)
    assert (await socket.connect())[0]
    await socket.receive_json_from(5)
    await asyncio.to_thread(_sign_out_all)
    code, reason = await close_of(socket)
    assert code == session_socket.FAULT
    assert "session is over" in reason
    await asyncio.wait_for(shell.ended.wait(), 5)


def _sign_out_all():
    from django.db import connections

    Session.objects.all().delete()
    connections.close_all()
