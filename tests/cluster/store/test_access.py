"""The way of a web process: writes on one thread, reads on a few, a mirror for dry runs."""

import asyncio
import threading

import pytest

from cluster.store.hints import IndexHints
from scheduler.state.events import WriteKind
from tests.builders import make_node


def add_node(store, number, *, now):
    def work(change):
        change.put_node(make_node(number))
        return threading.current_thread().name

    return store.write(WriteKind.NODE_REGISTRATION, work, now=now)


async def test_writes_run_one_after_another_on_one_thread(access):
    answers = await asyncio.gather(
        *(access.awrite_call(add_node, number, now=1) for number in range(10))
    )
    assert [index for index, _ in answers] == list(range(2, 12))
    assert len({name for _, name in answers}) == 1


async def test_reads_see_what_was_written_and_raise_what_their_work_raises(access):
    await access.awrite_call(add_node, 1, now=1)
    assert await access.aread(lambda reader: len(list(reader.nodes()))) == 1
    assert [frame.index for frame in await access.aframes_since(1)] == [2]
    with pytest.raises(ZeroDivisionError):
        await access.aread(lambda reader: 1 / 0)
    assert await access.aread_call(lambda store, extra: store.index + extra, 5) == 7


async def test_a_dry_run_gets_the_newest_snapshot(access):
    for number in (1, 2):
        await access.awrite_call(add_node, number, now=1)
        count = await access.asnapshot_call(lambda snapshot: snapshot.node_table.node_count)
        assert count == number


def test_hints_never_keep_a_writer_waiting():
    hints = IndexHints("redis://127.0.0.1:1/0")
    for index in range(1000):
        hints(index)
    hints.close()
