"""One connection to Redis, and those who speak through it when it is cut."""

import asyncio
import os
import resource
import threading
import time

import pytest
import redis

from cluster.redis_line import RedisLine
from cluster.runtime import inbox as inbox_module
from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_channel import LeaderChannel
from cluster.runtime.leader_protocol import ALIVE, INDEX_HINTS, REPLY_EXPIRY_S, AliveBody, Done
from cluster.store.following import Follower
from cluster.store.hints import IndexHints
from tests.patience import PATIENCE_S


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url) as opened:
        yield opened


@pytest.fixture
def line(redis_url):
    opened = RedisLine(redis_url)
    yield opened
    opened.close()


def cut_all(client):
    """End every connection but this one, as a restart would."""
    client.client_kill_filter(_type="normal", skipme=True)
    client.client_kill_filter(_type="pubsub", skipme=True)


def test_answers_come_in_order_and_those_nobody_wants_are_passed_over(line):
    line.tell(("RPUSH", "list", "a", "b"), ("RPUSH", "list", b"\xff\x00"))
    line.send(("LPOP", "list", 9), ("BLPOP", "list", 0.01), ("LPOP", "list", 9))
    assert [line.read() for _ in range(3)] == [[b"a", b"b", b"\xff\x00"], None, None]


def test_what_redis_refuses_is_raised_with_its_words(line):
    line.send(("LPOP",))
    with pytest.raises(redis.ResponseError, match="wrong number of arguments"):
        line.read()
    line.send(("PING",))
    assert line.read() == b"PONG"


def ping(line):
    line.send(("PING",))
    return line.read()


def test_a_line_that_was_cut_says_so_once_and_is_opened_by_the_next_use(line, client):
    line.send(("PING",))
    assert line.read() == b"PONG"
    cut_all(client)
    with pytest.raises(redis.ConnectionError):
        ping(line)
    assert not line.is_open
    line.send(("PING",))
    assert line.read() == b"PONG"


def test_a_muted_line_hears_nothing_and_is_heard(line, client):
    line.mute()
    for number in range(3):
        line.tell(("SET", "key", number))
    other = RedisLine("redis://127.0.0.1:1/0")
    with pytest.raises(redis.RedisError):
        other.open()
    for _ in range(1000):
        if client.get("key") == b"2":
            break
    assert client.get("key") == b"2"
    assert line.arrived() == []


def test_a_line_whose_number_is_high_is_listened_to(redis_url):
    """A web process has thousands of files open, which some ways of waiting cannot name."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    line = RedisLine(redis_url)
    try:
        line.send(("PING",))
        assert line.fileno() > 1023
        found = []
        for _ in range(1000):
            found += line.arrived()
            if found:
                break
            time.sleep(0.001)
        assert found == [b"PONG"]
        line.send(("PING",))
        assert line.read() == b"PONG"
    finally:
        line.close()
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ask(channel):
    channel.send(ALIVE, AliveBody("worker"))
    channel.flush()


@pytest.fixture
def inbox(redis_url):
    opened = Inbox(redis_url, epoch=7)
    opened.start()
    yield opened
    opened.stop()


def drained(inbox):
    for _ in range(200):
        found = inbox.drain(0.05)
        if found:
            return found
    pytest.fail("no request came")


def test_the_leader_hears_on_after_a_cut(redis_url, client, inbox, monkeypatch):
    monkeypatch.setattr(inbox_module, "_PAUSE_S", 0.01)
    channel = LeaderChannel(redis_url, "worker@here")
    ask(channel)
    assert len(drained(inbox)) == 1
    cut_all(client)
    inbox.drain(0.05)
    # What was lost with the connection is sent again under its id.
    answers = []
    for _ in range(100):
        ask(channel)
        for request in inbox.drain(0.02):
            inbox.answer(request, Done(3))
        answers += channel.collect(0.02)
        if answers:
            break
    assert ALIVE.read_answer(answers[0]) == Done(3)
    channel.close()


def test_lists_of_answers_that_nobody_reads_go(redis_url, client, monkeypatch):
    client.rpush("reply:of the dead", b"x")
    inbox = Inbox(redis_url, epoch=7)
    inbox.start()
    assert 0 < client.ttl("reply:of the dead") <= REPLY_EXPIRY_S
    channel = LeaderChannel(redis_url, "worker@here")
    monkeypatch.setattr(inbox_module, "_EXPIRE_EVERY_S", 0.0)
    ask(channel)
    for request in drained(inbox):
        inbox.answer(request, Done(3))
    for _ in range(1000):
        if client.ttl(channel.reply) > 0:
            break
    assert 0 < client.ttl(channel.reply) <= REPLY_EXPIRY_S
    channel.close()
    inbox.stop()


def test_hints_are_sent_by_who_wrote_and_again_after_a_cut(redis_url, client):
    hints, said = IndexHints(redis_url), client.pubsub(ignore_subscribe_messages=True)
    said.subscribe(INDEX_HINTS)
    said.get_message(timeout=PATIENCE_S)

    def heard(index):
        for _ in range(200):
            hints(index)
            message = said.get_message(timeout=0.05)
            if message and message["data"] == str(index).encode():
                return True
        return False

    assert heard(5)
    client.client_kill_filter(_type="normal", skipme=True)
    assert heard(6)
    hints.close()
    assert "index-hints" not in {thread.name for thread in threading.enumerate()}


class Silent:
    """A record in which nothing happens."""

    asked = 0

    async def aread(self, work):
        return 1

    async def aframes_since(self, index, limit=1000):
        self.asked += 1
        return ()


async def test_a_follower_is_woken_by_hints_and_again_after_a_cut(redis_url, client, monkeypatch):
    monkeypatch.setattr("cluster.store.following.POLL_S", 3600.0)
    monkeypatch.setattr("cluster.store.following._PAUSE_AFTER_FAILURE_S", 0.01)
    store = Silent()
    follower = Follower(store, redis_url)

    async def is_woken():
        before = store.asked
        for _ in range(200):
            client.publish(INDEX_HINTS, "9")
            await asyncio.sleep(0.02)
            if store.asked > before:
                return True
        return False

    async with follower.listening(lambda _frame: None):
        assert await is_woken()
        client.client_kill_filter(_type="pubsub", skipme=True)
        await asyncio.sleep(0.1)
        assert await is_woken()
    follower._stop()
