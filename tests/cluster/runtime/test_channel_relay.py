"""Calls to an agent whose channel another web process holds, over a real Redis."""

import asyncio
from contextlib import aclosing

import msgspec
import pytest
import redis.asyncio

from cluster.agent import channel_relay
from cluster.agent.channel_relay import ANNOUNCED, ChannelRelay
from cluster.operations.agent_calls import AgentLinks, AgentRefused, NoPathToNode
from cluster.runtime.clock import RandomIDs
from tests.patience import PATIENCE_S

NODE = "there"


class Agent:
    """The channel of one node: answers by the verb."""

    def __init__(self):
        self.sent = 0
        self.calls = 0
        self.ended = asyncio.Event()

    async def call(self, node_id, verb, body, given=None):
        self.calls += 1
        try:
            if verb == "echo":
                yield msgspec.json.encode([node_id, body])
            if verb == "refuse":
                raise AgentRefused(404, "no such task")
            if verb == "hang up":
                yield b"one"
                raise NoPathToNode
            if verb == "parrot":
                async for piece in given:
                    yield piece.upper()
            if verb == "wait":
                await asyncio.Event().wait()
            while verb == "flood":
                self.sent += 1
                yield b"x"
        finally:
            self.ended.set()


@pytest.fixture
async def process(redis_url):
    """Makes web processes: their links, with a relay that listens."""
    relays, client = [], redis.asyncio.Redis.from_url(redis_url)

    async def make():
        links = AgentLinks()
        relays.append(ChannelRelay(redis_url, links, RandomIDs()))
        relays[-1].begin()
        async with asyncio.timeout(PATIENCE_S):
            while dict(await client.pubsub_numsub(ANNOUNCED))[ANNOUNCED.encode()] < len(relays):
                await asyncio.sleep(0.01)
        return links

    yield make
    for relay in relays:
        await relay.end()
    await client.aclose()


@pytest.fixture
async def here(process):
    return await process()


@pytest.fixture
async def there(process):
    return await process()


@pytest.fixture
def agent(there):
    agent = Agent()
    there.add((NODE,), agent)
    return agent


def call(links, verb, body=None, given=None):
    return aclosing(links.link_of(NODE).call(NODE, verb, body or {}, given))


async def whole(links, verb, body=None, given=None):
    async with call(links, verb, body, given) as frames:
        return [frame async for frame in frames]


async def test_a_call_is_carried_to_whoever_holds_the_channel(here, agent):
    [told] = await whole(here, "echo", {"Text": "hi"})
    assert msgspec.json.decode(told) == [NODE, {"Text": "hi"}]


async def test_a_channel_of_its_own_is_used_without_asking(here, there, agent):
    there.elsewhere = None
    assert len(await whole(there, "echo")) == 1


async def test_a_refusal_keeps_its_status_and_words(here, agent):
    with pytest.raises(AgentRefused, match="no such task") as refused:
        await whole(here, "refuse")
    assert refused.value.status == 404


async def test_nobody_has_the_channel(here, there):
    async with asyncio.timeout(channel_relay.ANSWER_S):
        with pytest.raises(NoPathToNode):
            await whole(here, "echo")


async def test_an_agent_that_hangs_up_is_told_of_as_such(here, agent):
    async with call(here, "hang up") as frames:
        assert await anext(frames) == b"one"
        with pytest.raises(NoPathToNode):
            await anext(frames)


async def test_what_is_said_goes_there_in_order_and_no_faster_than_it_is_taken(here, agent):
    said = 0

    async def words():
        nonlocal said
        for number in range(100):
            said += 1
            yield f"word {number}".encode()
        await asyncio.Event().wait()

    async with call(here, "parrot", given=words()) as frames:
        heard = [await anext(frames)]
        await asyncio.sleep(0.2)
        # What nobody has answered yet: a window of words, and one of answers.
        assert said <= 3 * channel_relay.WINDOW
        heard += [await anext(frames) for _ in range(99)]
    assert heard == [f"WORD {number}".encode() for number in range(100)]


async def test_a_slow_reader_slows_the_agent_and_hanging_up_stops_it(here, agent):
    async with call(here, "flood") as frames:
        for _ in range(5):
            await anext(frames)
        await asyncio.sleep(0.2)
        assert agent.sent <= 2 * channel_relay.WINDOW
        for _ in range(100):
            await anext(frames)
    await asyncio.wait_for(agent.ended.wait(), PATIENCE_S)


async def test_a_channel_that_two_hold_is_called_once(here, agent, process):
    (await process()).add((NODE,), agent)
    assert len(await whole(here, "echo")) == 1
    assert agent.calls == 1


async def test_a_process_that_falls_silent_is_gone_for_the_other(monkeypatch, here, agent):
    """As when it is killed: nothing of it is said any more, nobody cancels."""
    monkeypatch.setattr(channel_relay, "SILENCE_S", 0.5)
    monkeypatch.setattr(channel_relay, "BEAT_S", 60.0)
    async with call(here, "wait") as frames:
        waiting = asyncio.create_task(anext(frames))
        await asyncio.wait_for(agent.ended.wait(), PATIENCE_S)
        with pytest.raises(NoPathToNode):
            await waiting


async def test_a_call_on_which_nothing_is_said_goes_on(monkeypatch, here, agent):
    monkeypatch.setattr(channel_relay, "SILENCE_S", 0.5)
    monkeypatch.setattr(channel_relay, "BEAT_S", 0.1)
    async with call(here, "wait") as frames:
        waiting = asyncio.create_task(anext(frames))
        await asyncio.sleep(1.5)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(agent.ended.wait(), PATIENCE_S)


async def test_rubbish_between_them_harms_nobody(redis_url, here, agent):
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        for rubbish in (b"", b"\xc1", msgspec.msgpack.encode({"call_id": 3})):
            await client.publish(ANNOUNCED, rubbish)
    assert len(await whole(here, "echo")) == 1


async def test_nothing_of_a_call_is_kept_for_good(redis_url, here, agent):
    await whole(here, "echo")
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        left = [key async for key in client.scan_iter(f"{ANNOUNCED}:*")]
        assert left
        assert all([0 < await client.ttl(key) <= 60 for key in left])
