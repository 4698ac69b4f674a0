"""What a websocket promises beside uvicorn: an end in time, whatever the other end does."""

import asyncio
import contextlib

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cluster.runtime import socket_connection
from tests.cluster.runtime.web_caller import called, port_of, serving
from tests.patience import PATIENCE_S

HANDSHAKE = (
    b"GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(socket_connection, "FAREWELL_S", 0.2)


def app_of(talk):
    """An application that accepts, then talks."""

    async def application(_scope, receive, send):
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        await talk(receive, send)

    return application


async def answer_lengths(receive, send):
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": str(len(message["text"]))})


def line_to(server):
    return connect(f"ws://127.0.0.1:{port_of(server)}/live", compression=None, proxy=None)


async def test_messages_go_both_ways_up_to_a_size():
    async with serving(app_of(answer_lengths)) as server, line_to(server) as line:
        await line.send("x" * 1024 * 1024)
        assert await line.recv() == str(1024 * 1024)
        await line.send("x" * (1024 * 1024 + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd.code == 1009


async def test_a_long_reason_is_clipped():
    async def refuse(receive, send):
        await send({"type": "websocket.close", "code": 4400, "reason": "ü" * 500})
        assert (await receive())["type"] == "websocket.disconnect"

    async with serving(app_of(refuse)) as server, line_to(server) as line:
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4400, "ü" * 60)


async def test_one_that_does_not_read_holds_its_writer_up_and_is_ended_all_the_same():
    written, ended = [], asyncio.Event()

    async def write(send):
        while True:
            await send({"type": "websocket.send", "bytes": b"x" * 65536})
            written.append(1)
            await asyncio.sleep(0)

    async def talk(receive, send):
        writer = asyncio.create_task(write(send))
        before = -1
        while before != len(written):
            before = len(written)
            await asyncio.sleep(0.2)
        writer.cancel()
        await send({"type": "websocket.close", "code": 4408})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        ended.set()

    async with serving(app_of(talk)) as server:
        caller = await called(server)
        caller.writer.transport.pause_reading()
        await caller.say(HANDSHAKE + b"\r\n")
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
        assert 0 < len(written) < 1000
        await gone(server)


async def accepted(caller):
    await caller.say(HANDSHAKE + b"\r\n")
    await caller.reader.readuntil(b"\r\n\r\n")


async def test_answers_to_pings_do_not_pile_up_for_one_that_does_not_read():
    async with serving(app_of(answer_lengths)) as server:
        caller = await called(server)
        await accepted(caller)
        caller.writer.transport.pause_reading()
        (line,) = server.server_state.connections
        ping = b"\x89\xfd\0\0\0\0" + b"x" * 125
        # More than both ends of the network keep.
        for _ in range(400):
            caller.writer.write(ping * 400)
            await caller.writer.drain()
        assert not line.writable.is_set(), "it was told that nobody reads"
        assert line.transport.get_write_buffer_size() < 1024 * 1024
        caller.writer.transport.abort()


async def test_a_message_has_so_many_pieces():
    async with serving(app_of(answer_lengths)) as server:
        caller = await called(server)
        await accepted(caller)
        begin, further = b"\x01\x80\0\0\0\0", b"\x00\x80\0\0\0\0"
        await caller.say(begin + further * (socket_connection.MAX_PIECES + 10))
        told = await caller.hear_all()
        assert told.startswith(b"\x88\x11\x03\xf1too many pieces")
        await gone(server)


async def gone(server):
    async with asyncio.timeout(PATIENCE_S):
        while server.server_state.connections:
            await asyncio.sleep(0.02)


async def test_what_is_said_to_one_that_has_gone_is_dropped():
    said = asyncio.Event()

    async def talk(receive, send):
        while (await receive())["type"] != "websocket.disconnect":
            pass
        await send({"type": "websocket.send", "text": "too late"})
        said.set()

    async with serving(app_of(talk)) as server:
        async with line_to(server):
            pass
        await asyncio.wait_for(said.wait(), PATIENCE_S)


async def test_a_handshake_that_nobody_answers_comes_to_an_end(monkeypatch):
    monkeypatch.setattr(socket_connection, "HANDSHAKE_S", 0.2)

    async def silent(_scope, receive, _send):
        while (await receive())["type"] != "websocket.disconnect":
            pass

    async with serving(silent) as server:
        caller = await called(server)
        await caller.say(HANDSHAKE + b"\r\n")
        assert (await caller.hear_all()).startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(HANDSHAKE.replace(b"13", b"7"), id="version"),
        pytest.param(HANDSHAKE + b"Cookie: " + b"c" * 10_000 + b"\r\n", id="cookie"),
        pytest.param(HANDSHAKE + b"a: b\r\n" * 200, id="fields"),
    ],
)
async def test_a_handshake_that_is_none_is_refused(head):
    async with serving(app_of(answer_lengths)) as server:
        caller = await called(server)
        await caller.say(head + b"\r\n")
        told = await caller.hear_all()
        assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 426 "))
        await gone(server)


async def test_one_that_an_application_refuses_is_told_403():
    async def refuse(_scope, _receive, send):
        await send({"type": "websocket.close"})

    async with serving(refuse) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with line_to(server):
                pass
    assert refused.value.response.status_code == 403


async def test_open_ones_are_told_when_the_server_ends():
    async with serving(app_of(answer_lengths)) as server, line_to(server) as line:
        server.end()
        with contextlib.suppress(ConnectionClosed):
            await line.recv()
        assert line.close_code == 1012
