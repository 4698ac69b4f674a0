"""The channel from call to answer: the server's end and a node's end over a real socket."""

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from cluster.agent.channel import AgentChannel
from cluster.agent.channel_client import AnswerRefused, ChannelClient
from cluster.operations.agent_calls import (
    LINKS,
    AgentRefused,
    NoPathToNode,
    send_call,
    whole_answer,
)
from tests.cluster.agent.callers import NOW
from tests.cluster.agent.deadline import until
from tests.patience import PATIENCE_S


class Answers:
    """Says what it is told to."""

    def __init__(self):
        self.sent = 0
        self.ended = asyncio.Event()

    async def answer(self, verb, body, given):
        if verb == "parrot":
            async for piece in given:
                yield piece.upper()
        if verb == "refuse":
            raise AnswerRefused("Task not running", 400)
        if verb == "echo":
            yield b'{"said": "%s"}' % str(body["Text"]).encode()
        try:
            while verb == "flood":
                self.sent += 1
                yield b"x" * 1024
        finally:
            self.ended.set()


@asynccontextmanager
async def server(port=0, sockets=None):
    """The ASGI channel behind a websocket server of its own; yields the address.

    The connections are kept in `sockets`.
    """

    async def handle(socket):
        if sockets is not None:
            sockets.append(socket)
        events = iter(["connect"])

        async def receive():
            if next(events, None):
                return {"type": "websocket.connect"}
            try:
                return {"type": "websocket.receive", "bytes": await socket.recv()}
            except ConnectionClosed:
                return {"type": "websocket.disconnect"}

        async def send(message):
            if message["type"] == "websocket.send":
                await socket.send(message["bytes"])
            elif message["type"] == "websocket.close":
                await socket.close(message["code"])

        await AgentChannel.as_asgi(lambda: NOW)({"type": "websocket"}, receive, send)

    async with serve(handle, "127.0.0.1", port) as running:
        yield f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def held(secrets, answers, sockets=None, channel_count=1):
    """A node end that holds its channel."""
    async with server(sockets=sockets) as address:
        client = ChannelClient(
            address, lambda: secrets, dict.fromkeys(secrets, answers), lambda: 0.0
        )
        client.channel_count = channel_count
        running = asyncio.create_task(client.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def has_link(node_id):
    try:
        return LINKS.link_of(node_id)
    except NoPathToNode:
        return None


@pytest.fixture
async def answers(agent):
    answers = Answers()
    async with held({agent.node.id: agent.secret}, answers):
        await until(lambda: has_link(agent.node.id), "the channel")
        yield answers


async def test_a_call_is_answered(agent, answers):
    assert await whole_answer(send_call(agent.node.id, "echo", {"Text": "hi"})) == {"said": "hi"}


async def test_calls_do_not_wait_for_each_other(agent, answers):
    async with aclosing(send_call(agent.node.id, "flood", {})) as flood:
        await anext(flood)
        assert await whole_answer(send_call(agent.node.id, "echo", {"Text": "1"})) == {"said": "1"}


async def test_a_refusal_carries_the_agents_words(agent, answers):
    with pytest.raises(AgentRefused, match="Task not running") as refused:
        await whole_answer(send_call(agent.node.id, "refuse", {}))
    assert refused.value.status == 400


async def test_a_slow_reader_slows_the_agent_and_hanging_up_stops_it(agent, answers):
    async with aclosing(send_call(agent.node.id, "flood", {})) as flood:
        for _ in range(5):
            await anext(flood)
        # Another answer goes through, so everything the agent might send has been sent.
        await whole_answer(send_call(agent.node.id, "echo", {"Text": "1"}))
        assert answers.sent <= 32
        for _ in range(100):
            await anext(flood)
    await asyncio.wait_for(answers.ended.wait(), PATIENCE_S)


async def test_what_is_said_during_a_call_reaches_the_agent_in_order(agent, answers):
    async def said():
        for number in range(100):
            yield f"word {number}".encode()
        await asyncio.Event().wait()

    async with aclosing(send_call(agent.node.id, "parrot", {}, said())) as parrot:
        heard = [await anext(parrot) for _ in range(100)]
    assert heard == [f"WORD {number}".encode() for number in range(100)]


async def test_without_a_channel_there_is_no_path(agent):
    with pytest.raises(NoPathToNode, match="No path to node"):
        await whole_answer(send_call(agent.node.id, "echo", {"Text": "1"}))


async def test_a_wrong_secret_opens_no_channel(agent, other):
    secrets = {agent.node.id: agent.secret, other.node.id: "guess"}
    async with held(secrets, Answers()):
        await until(lambda: has_link(agent.node.id), "the channel")
        assert has_link(other.node.id) is None


async def test_a_channel_comes_back_as_soon_after_each_cut(agent):
    loop, sockets = asyncio.get_running_loop(), []
    # So many that a pause which only grew would soon be felt.
    many = 50 * 600
    async with held({agent.node.id: agent.secret}, Answers(), sockets, many):
        began = loop.time()
        for cuts in range(1, 7):
            await until(lambda: has_link(agent.node.id), "the channel")
            # As when the server's process is killed: nobody says goodbye.
            sockets[-1].transport.abort()
            await until(lambda cuts=cuts: len(sockets) > cuts, "another connection")
    assert loop.time() - began < 6


async def test_a_heartbeat_that_was_answered_ends_a_long_pause(agent, unused_tcp_port):
    pauses = []

    def chance():
        """So that the first pause is of minutes."""
        pauses.append(5000.0)
        return pauses[-1]

    address = f"http://127.0.0.1:{unused_tcp_port}"
    secrets = {agent.node.id: agent.secret}
    client = ChannelClient(address, lambda: secrets, {agent.node.id: Answers()}, chance)
    running = asyncio.create_task(client.run())

    def has_come():
        client.try_now()
        return has_link(agent.node.id)

    try:
        await until(lambda: pauses, "the first failure")
        async with server(unused_tcp_port):
            await until(has_come, "the channel")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
