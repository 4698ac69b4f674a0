"""What programs are told when the fault is ours: the reason as text, and when to ask again."""

import asyncio
import contextlib
import os
import sqlite3

import pytest
from django.db import OperationalError, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from redis.exceptions import ConnectionError as RedisGone

from cluster.runtime.embedded import free_port
from cluster.store.access import the_store
from cluster.store.faults import RecordAway, reason_of
from tests.cluster.api.clients import document, make_token

HELD = "another writer holds the record"


@pytest.fixture
def programs(site, store):
    secret = make_token(store, "root")
    return lambda: site(headers={"X-Nomad-Token": secret})


@contextlib.contextmanager
def record_held():
    """Another process writes and does not end."""
    file = connections["default"].settings_dict["NAME"]
    other = sqlite3.connect(file, isolation_level=None, timeout=5)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


async def on_the_writer(statement):
    """Run a statement on the connection that writes."""

    def run():
        with connections["default"].cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone()

    return await the_store().acall(run)


def told(answer):
    """What an answer of a fault of ours has to be, and its text."""
    assert answer.headers["content-type"].startswith("text/plain"), answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 1 <= int(answer.headers["retry-after"]) <= 5
    assert "<" not in answer.text
    return answer.status_code, answer.text


async def register(client, name="web"):
    return await client.put("/v1/jobs", json={"Job": document(ID=name)})


async def test_a_locked_record_is_a_503_with_the_reason_while_it_is_locked(programs):
    async with programs() as client:
        with record_held():
            answers = await asyncio.gather(*(register(client, f"job-{n}") for n in range(5)))
            listed = await client.get("/v1/jobs")
        after = await register(client)
    assert [told(answer)[0] for answer in answers] == [503] * 5
    assert any(HELD in answer.text for answer in answers)
    assert (listed.status_code, listed.json()) == (200, [])
    assert after.status_code == 200


async def test_an_agent_that_cannot_be_written_down_is_told_to_come_again(programs):
    async with programs() as client:
        with record_held():
            node = {"ID": "0" * 8 + "-0000-0000-0000-" + "0" * 12, "Name": "n", "Datacenter": "d"}
            answer = await client.post(
                "/v1/fleet/register",
                json={"Node": {**node, "Attributes": {"a": "b"}}},
                headers={
                    "X-Bivouac-Node": node["ID"],
                    "X-Bivouac-Join": "x",
                    "Authorization": "Bearer s",
                },
            )
    assert told(answer)[0] == 503


async def test_a_full_disk_is_a_503_that_says_so(programs):
    async with programs() as client:
        pages = (await on_the_writer("PRAGMA page_count"))[0]
        await on_the_writer(f"PRAGMA max_page_count = {pages}")
        answer = await client.put(
            "/v1/jobs", json={"Job": document(Meta={"text": os.urandom(200_000).hex()})}
        )
        listed = await client.get("/v1/jobs")
        await on_the_writer("PRAGMA max_page_count = 1000000")
        after = await register(client)
    assert told(answer) == (
        503, "Not done: no space is left on the disk of the record. Try again in 2 s."
    )  # fmt: skip
    assert (listed.json(), after.status_code) == ([], 200)


async def test_a_record_that_may_not_be_written_is_a_503(programs):
    async with programs() as client:
        # The first use of a token is noted, by the same connection.
        await client.get("/v1/jobs")
        await on_the_writer("PRAGMA query_only = 1")
        answer = await register(client)
        await on_the_writer("PRAGMA query_only = 0")
    assert told(answer)[1].startswith("Not done: the record's file may not be written.")


def test_a_postgresql_that_is_away_is_named(store):
    settings = {
        **connections["default"].settings_dict,
        "ENGINE": "django.db.backends.postgresql", "NAME": "x", "USER": "x", "PASSWORD": "x",
        "HOST": "127.0.0.1", "PORT": str(free_port()), "OPTIONS": {"connect_timeout": 3},
    }  # fmt: skip
    with pytest.raises(OperationalError) as gone:
        DatabaseWrapper(settings, "gone").ensure_connection()
    assert reason_of(gone.value) == "the record's database does not answer"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RecordAway("it is away"), "it is away"),
        (OperationalError("something new"), "the record's database refuses to work"),
        (OperationalError("disk I/O error"), "the disk of the record fails"),
        (ValueError("no connection"), ""),
        (OperationalError("no such column: x"), ""),
        (
            OperationalError("connection to server on socket failed: No such file or directory"),
            "the record's database does not answer",
        ),
        (RedisGone("no connection"), ""),
    ],
)
def test_only_what_surrounds_the_record_is_told_as_such(error, reason):
    assert reason_of(error) == reason
