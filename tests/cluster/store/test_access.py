"""The way of a web process: writes on one thread, reads on a few, a mirror for dry runs."""

import asyncio
import threading

import pytest
from django.db import OperationalError, connections

from cluster.store import frame_codec
from cluster.store.hints import IndexHints
from cluster.store.short_reads import MOST_ROWS, on_the_loop
from scheduler.errors import StaleSnapshot
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


def where(reader):
    """The thread that reads, and all nodes."""
    return threading.current_thread().name, len(reader.nodes())


async def test_short_reads_are_done_on_the_loop_and_long_ones_on_a_thread(access):
    here = threading.current_thread().name
    for number in range(MOST_ROWS):
        await access.awrite_call(add_node, number, now=1)
    assert await access.aread(where, short=True) == (here, MOST_ROWS)
    assert (await access.aread(where))[0] != here
    await access.awrite_call(add_node, MOST_ROWS, now=1)
    name, count = await access.aread(where, short=True)
    assert (name != here, count) == (True, MOST_ROWS + 1)


async def test_a_short_question_is_asked_on_the_loop(access):
    def question(store, extra):
        return threading.current_thread().name, store.index + extra

    assert await access.ashort_call(question, 3) == (threading.current_thread().name, 4)


async def test_a_short_read_that_fails_is_tried_on_a_thread(access):
    asked = []

    def work(reader):
        asked.append(threading.current_thread().name)
        if len(asked) == 1:
            raise OperationalError("database is locked")
        return reader.index

    assert await access.aread(work, short=True) == 1
    assert asked[0] == threading.current_thread().name != asked[1]
    # The loop is there again for whoever comes next.
    await asyncio.sleep(0)


async def test_few_small_frames_are_read_on_the_loop(access, monkeypatch):
    seen = []
    decode = frame_codec.decode_frame

    def decoded(*row):
        seen.append(threading.current_thread().name)
        return decode(*row)

    monkeypatch.setattr(frame_codec, "decode_frame", decoded)
    here = threading.current_thread().name
    assert list(await access.aframes_since(1)) == []
    await access.awrite_call(add_node, 1, now=1)
    assert [frame.index for frame in await access.aframes_since(1)] == [2]
    assert set(seen) == {here}
    for number in range(2, MOST_ROWS + 3):
        await access.awrite_call(add_node, number, now=1)
    seen.clear()
    frames = await access.aframes_since(1)
    assert [frame.index for frame in frames] == list(range(2, MOST_ROWS + 4))
    assert here not in seen


async def test_frames_with_many_bytes_are_read_on_a_thread(access, monkeypatch):
    await access.awrite_call(add_node, 1, now=1)
    found = await access.aframes_since(1)
    monkeypatch.setattr("cluster.store.access.MOST_BYTES", 10)
    assert await access.aframes_since(1) == list(found), "read by a thread, the same"


async def test_frames_are_read_by_two_statements_and_no_transaction(access):
    await access.awrite_call(add_node, 1, now=1)
    said = []
    # On the loop as it reads: Django keeps another connection for what runs within one.
    connection = on_the_loop(lambda: connections[access.alias])
    on_the_loop(connection.ensure_connection)
    connection.connection.set_trace_callback(said.append)
    assert [frame.index for frame in await access.aframes_since(1)] == [2]
    connection.connection.set_trace_callback(None)
    assert [each.split()[0] for each in said] == ["SELECT", "SELECT"]


async def test_frames_that_were_trimmed_are_said_to_be_missing(access):
    await access.awrite_call(add_node, 1, now=1)
    trim = "UPDATE state_index SET oldest_event = 3"
    await access.acall(lambda: connections[access.alias].cursor().execute(trim))
    await access.acall(lambda: connections[access.alias].cursor().execute("DELETE FROM event"))
    with pytest.raises(StaleSnapshot):
        await access.aframes_since(1)


def test_hints_never_keep_a_writer_waiting():
    hints = IndexHints("redis://127.0.0.1:1/0")
    for index in range(1000):
        hints(index)
    hints.close()
