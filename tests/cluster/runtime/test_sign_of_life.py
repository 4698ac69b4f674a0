"""The sign of life of a web process: a row that counts up while its loop and its writer go on."""

import asyncio

import pytest
from django.db import connections

from cluster.agent.heartbeats import BEATS
from cluster.runtime.serving import expect_server, tell_serving
from cluster.runtime.sign_of_life import SignOfLife
from cluster.store.beats import read_signs
from scheduler.state.events import WriteKind
from tests.builders import make_node
from tests.cluster.agent.conftest import bare_store, store
from tests.cluster.agent.deadline import until
from tests.patience import PATIENCE_S

__all__ = ["bare_store", "store"]


@pytest.fixture
async def sign(store):
    """Not given yet."""
    sign = SignOfLife()
    yield sign
    await sign.end()


async def signs_when(store, count):
    """The counts of all web processes, once one of them has given so many."""
    async with asyncio.timeout(PATIENCE_S):
        while count not in (signs := await store.aread_call(read_signs)).values():
            await asyncio.sleep(0.02)
    return list(signs.values())


async def test_it_counts_up_from_the_first_moment_on(store, sign):
    await store.awrite_call(join, make_node())
    BEATS.node_count = 0
    sign.begin()
    assert await signs_when(store, 2) == [2]
    assert BEATS.node_count == 1


async def test_one_that_cannot_be_written_does_not_end_it(store, sign, caplog):
    await store.acall(lambda: rename_table("listener", "listener_away"))
    sign.begin()
    await until(lambda: "action=sign_of_life not written" in caplog.text, "a failure")
    await store.acall(lambda: rename_table("listener_away", "listener"))
    assert await signs_when(store, 2) == [2]


@pytest.mark.parametrize("is_loading", [True, False])
async def test_it_begins_once_the_server_that_is_loading_it_serves(monkeypatch, sign, is_loading):
    begun = []
    monkeypatch.setattr(sign, "begin", lambda: begun.append(True))
    if is_loading:
        expect_server()
    sign.begin_with_server()
    await asyncio.sleep(0)
    assert begun == []
    tell_serving()
    await asyncio.sleep(0)
    assert begun == [True] * is_loading


def join(store, node):
    store.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(node), now=1)


def rename_table(before, after):
    with connections["default"].cursor() as cursor:
        cursor.execute(f"ALTER TABLE {before} RENAME TO {after}")
