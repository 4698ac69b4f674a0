"""Whoever follows the event stream follows it as long as they may (access.md 10)."""

import asyncio

import msgspec
import pytest

from cluster.api import events
from cluster.operations.acl_policies import delete_policy, put_policy
from scheduler.structs.acl_policy import AclPolicy
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, document

#: Seconds; far more than anything here takes on a busy machine.
from tests.patience import PATIENCE_S


@pytest.fixture
async def followers(store):
    """Let whoever shows no token follow jobs of `default`."""
    rules = 'namespace "default" { capabilities = ["read-job"] }'
    policy = AclPolicy(name="anonymous", rules=rules)
    await store.awrite_call(put_policy, policy, by=MANAGER, now=NOW)


async def next_line(lines):
    async with asyncio.timeout(PATIENCE_S):
        return msgspec.json.decode(await anext(lines))


async def test_a_stream_tells_nothing_more_once_the_right_is_taken_back(
    followers, store, api, stranger
):
    answer = await stranger.get("/v1/event/stream", topic="Job")
    lines = aiter(answer.streaming_content)
    assert await next_line(lines) == {}
    await api.put("/v1/jobs", {"Job": document(ID="before")})
    assert (await next_line(lines))["Events"][0]["Key"] == "before"

    await store.awrite_call(delete_policy, "anonymous", by=MANAGER, now=NOW)
    await api.put("/v1/jobs", {"Job": document(ID="after")})

    with pytest.raises(StopAsyncIteration):
        await next_line(lines)


async def test_a_silent_stream_ends_too_when_the_right_is_taken_back(
    followers, store, stranger, monkeypatch
):
    monkeypatch.setattr(events, "RECHECK_S", 0.05)
    answer = await stranger.get("/v1/event/stream", topic="Job")
    lines = aiter(answer.streaming_content)
    assert await next_line(lines) == {}

    await store.awrite_call(delete_policy, "anonymous", by=MANAGER, now=NOW)

    with pytest.raises(StopAsyncIteration):
        await next_line(lines)


async def test_a_silent_stream_goes_on_while_its_reader_may_follow(
    followers, api, stranger, monkeypatch
):
    monkeypatch.setattr(events, "RECHECK_S", 0.01)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.03)
    answer = await stranger.get("/v1/event/stream", topic="Job")
    lines = aiter(answer.streaming_content)
    assert [await next_line(lines) for _ in range(3)] == [{}, {}, {}]

    await api.put("/v1/jobs", {"Job": document()})

    told = await next_line(lines)
    while not told:
        told = await next_line(lines)
    assert told["Events"][0]["Key"] == "web"
