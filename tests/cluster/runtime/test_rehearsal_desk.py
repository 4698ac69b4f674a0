"""The desk of rehearsals: each in a process of its own, and the end of those that died is told."""

import asyncio
import sys
from contextlib import suppress

import msgspec
import psutil
import pytest

from cluster.operations.rehearsals import ask_rehearsal, cancel_rehearsal
from cluster.rehearsal.wire import unpack
from cluster.runtime import rehearsal_desk
from cluster.runtime.rehearsal_desk import NICENESS, RehearsalDesk
from scheduler.state.found_rows import put_found
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.rehearsal import RehearsalStatus
from tests.builders import SOME_MOMENT, CountingIDs, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.process_store import store

__all__ = ["store"]

NODE, OTHER = make_node(1, name="one"), make_node(2, name="two")
DRAIN = msgspec.json.encode({"Drain": {"NodeIDs": [NODE.id]}}).decode()
DAY = 86_400_000_000_000


@pytest.fixture
def asked(store, tmp_path, monkeypatch):
    """The id of a rehearsal that waits; processes find the record where the tests keep it."""
    monkeypatch.setenv("BIVOUAC_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "cluster.settings")

    def work(change):
        for node in (NODE, OTHER):
            put_found(change, node)
        change.put_job(make_job())
        alloc = make_allocation(node_id=NODE.id, node_name="one")
        healthy = DeploymentHealth(healthy=True)
        runs = alloc.changed(client_status=ClientStatus.RUNNING, deployment_status=healthy)
        put_found(change, runs)

    store.write("JobRegistered", work, now=SOME_MOMENT)
    row = ask_rehearsal(
        store, DRAIN, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs(), keep=5, keep_for=DAY
    )
    return row.id


async def ended(store, rehearsal_id):
    """The rehearsal, once a desk has had it carried out."""
    desk = RehearsalDesk()
    desk.begin()
    try:
        for _ in range(600):
            row = await store.aread(lambda reader: reader.get(REHEARSALS, rehearsal_id))
            if row.has_ended:
                return row
            await asyncio.sleep(0.05)
        pytest.fail("it never ended")
    finally:
        await desk.end()


async def test_a_rehearsal_is_carried_out_in_a_process_of_its_own(store, asked):
    row = await ended(store, asked)
    assert (row.status, row.reason) == (RehearsalStatus.COMPLETE, "")
    result = unpack(row.packed)
    assert [each.to_node_name for each in result.allocations] == ["two"]
    assert row.snapshot_index == result.index > 0
    assert row.memory_mb > 0
    assert row.process.startswith("web@")


async def test_its_process_gives_way_to_those_that_serve_the_cluster(store, asked):
    """What it does cannot delay a submission by more than what waits for the same processor."""
    seen = set()

    async def look():
        while True:
            for child in psutil.Process().children():
                with suppress(psutil.Error):
                    if "rehearsal" in child.cmdline():
                        seen.add(child.nice())
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        row = await ended(store, asked)
    finally:
        looking.cancel()
    assert row.status is RehearsalStatus.COMPLETE
    # At its birth it is, for a moment, as nice as who starts it.
    assert NICENESS in seen
    assert seen <= {NICENESS, psutil.Process().nice()}


async def test_one_whose_process_dies_says_so(store, asked, monkeypatch):
    monkeypatch.setenv("BIVOUAC_REHEARSAL_SECONDS", "for ever")
    row = await ended(store, asked)
    assert row.status is RehearsalStatus.FAILED
    assert row.reason == "its process ended with exit code 1"


#: Goes on saying that it has decided seven evaluations.
TELLS = """
import sys, time, msgspec
from cluster.rehearsal.wire import LENGTH
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
row = StoredRehearsal(id=sys.argv[1], status=RehearsalStatus.RUNNING, evaluations=7)
told = msgspec.msgpack.encode(row)
while True:
    sys.stdout.buffer.write(LENGTH.pack(len(told)) + told)
    sys.stdout.buffer.flush()
    time.sleep(0.05)
"""


async def test_what_one_tells_is_written_down_and_it_ends_when_it_is_canceled(
    store, asked, monkeypatch
):
    monkeypatch.setattr(
        rehearsal_desk, "program", lambda _, row_id, __: (sys.executable, "-c", TELLS, row_id)
    )
    canceled = None

    async def cancel():
        nonlocal canceled
        while canceled is None:
            row = await store.aread(lambda reader: reader.get(REHEARSALS, asked))
            if row.evaluations == 7:
                assert row.status is RehearsalStatus.RUNNING
                canceled = await store.awrite_call(
                    cancel_rehearsal, asked, by=MANAGER, now=SOME_MOMENT
                )
            await asyncio.sleep(0.05)
        while any(asked in child.cmdline() for child in psutil.Process().children()):
            await asyncio.sleep(0.05)

    async with asyncio.timeout(30):
        waiting = asyncio.create_task(cancel())
        row = await ended(store, asked)
        await waiting
    assert (row.status, row.evaluations) == (RehearsalStatus.CANCELED, 7)


async def test_a_canceled_one_is_not_begun(store, asked):
    await store.awrite_call(cancel_rehearsal, asked, by=MANAGER, now=SOME_MOMENT)
    row = await ended(store, asked)
    assert (row.status, row.begun_at) == (RehearsalStatus.CANCELED, 0)
