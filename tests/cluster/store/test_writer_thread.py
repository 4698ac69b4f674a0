"""Writes that wait share one transaction and one commit, each with its own index and frame."""

import asyncio
import threading

import pytest
from django.db import DatabaseError, connections

from cluster.store import writer_thread
from cluster.store.access import StoreAccess
from scheduler.state.events import WriteKind
from tests.builders import make_node

KIND = WriteKind.NODE_REGISTRATION


class Refusal(Exception):
    """What an operation does not do."""


def add(store, number, *, fails=False):
    def work(change):
        change.put_node(make_node(number))
        if fails:
            raise Refusal(number)
        return change.index

    return store.write(KIND, work, now=1)[1]


@pytest.fixture
def told():
    return []


@pytest.fixture
def access(sqlite_store, told, monkeypatch):
    # A group ends after some milliseconds, in which a busy machine may let nothing run.
    monkeypatch.setattr(writer_thread, "LONGEST_S", 60)
    opened = StoreAccess(sqlite_store.alias)
    opened._publish = told.append
    opened._writer._publish = told.append
    yield opened
    opened.close()


async def behind(access, work):
    """Run `work` while the writer thread is kept busy; then let it go on."""
    held, free = threading.Event(), threading.Event()

    def hold():
        held.set()
        assert free.wait(10)

    holding = asyncio.ensure_future(access.acall(hold))
    await asyncio.to_thread(held.wait, 10)
    waiting = asyncio.ensure_future(work())
    await asyncio.sleep(0.05)
    # A busy machine may take that time from the loop: orders are given in a few of its turns.
    for _ in range(20):
        await asyncio.sleep(0)
    free.set()
    await holding
    return await waiting


async def statements_of_the_writer(access, said):
    def listen():
        connection = connections[access.alias]
        connection.ensure_connection()
        connection.connection.set_trace_callback(said.append)

    await access.acall(listen)


def together(*awaitables):
    return lambda: asyncio.gather(*awaitables, return_exceptions=True)


async def test_those_who_wait_share_a_commit_and_keep_their_own_indexes(access, told):
    said = []
    await statements_of_the_writer(access, said)
    writes = [access.awrite_call(add, number) for number in range(5)]
    assert await behind(access, together(*writes)) == [2, 3, 4, 5, 6]
    assert [sql for sql in said if sql.startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE", "COMMIT"
    ]  # fmt: skip
    # Each can be undone alone, and nothing else is said for that.
    parts = [sql for sql in said if sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK"))]
    assert parts == ["SAVEPOINT part", "RELEASE part"] * 5
    frames = await access.aframes_since(1)
    assert [(frame.index, len(frame.events)) for frame in frames] == [(n, 1) for n in range(2, 7)]
    # One hint, of the newest.
    assert told == [6]


async def test_what_is_refused_is_undone_alone(access, told):
    writes = [access.awrite_call(add, number, fails=number == 2) for number in range(4)]
    found = await behind(access, together(*writes))
    assert [str(each) for each in found] == ["2", "3", "2", "4"]
    assert isinstance(found[2], Refusal)
    nodes = await access.aread(lambda reader: {node.id for node in reader.nodes()})
    assert nodes == {make_node(number).id for number in (0, 1, 3)}
    assert told == [4]


async def test_a_group_that_cannot_be_committed_is_answered_as_a_whole(access, told):
    def break_it(store):
        add(store, 7)
        # What SQLite may do by itself when a disk is full.
        connections[store.alias].connection.execute("ROLLBACK")
        raise DatabaseError("database or disk is full")

    writes = [access.awrite_call(add, 1), access.awrite_call(break_it), access.awrite_call(add, 2)]
    found = await behind(access, together(*writes[:2]))
    assert all(isinstance(each, DatabaseError) for each in found), found
    assert told == []
    assert await access.aread(lambda reader: (reader.index, list(reader.nodes()))) == (1, [])
    # The next one has a transaction of its own again.
    assert await writes[2] == 2


async def test_nothing_is_answered_before_it_is_in_the_record(access):
    seen = []

    def look(store):
        other = connections.create_connection(store.alias)
        with other.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM node")
            seen.append((cursor.fetchone()[0], *answered))
        other.close()

    async def first():
        answered.append(await access.awrite_call(add, 1))

    answered = []
    await behind(access, together(first(), access.awrite_call(look)))
    # The second was carried out while the first was written, not committed, and not answered.
    assert (seen, answered) == ([(0,)], [2])


async def test_what_minds_its_own_transactions_is_in_nobody_elses(access):
    def alone():
        return connections[access.alias].in_atomic_block

    writes = [access.awrite_call(add, 1), access.acall(alone), access.awrite_call(add, 2)]
    assert await behind(access, together(*writes)) == [2, False, 3]


async def test_who_hung_up_before_it_began_writes_nothing(access):
    async def give_up():
        write = asyncio.ensure_future(access.awrite_call(add, 1))
        await asyncio.sleep(0)
        write.cancel()
        return await asyncio.gather(write, access.awrite_call(add, 2), return_exceptions=True)

    gone, index = await behind(access, give_up)
    assert isinstance(gone, asyncio.CancelledError)
    assert index == 2
