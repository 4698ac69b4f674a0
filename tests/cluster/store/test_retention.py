"""Trimming the log: by age and by size, in batches, never the newest frame."""

import threading

import pytest
from django.db import connections

from cluster.store import retention
from cluster.store.retention import checkpoint, trim_events, trim_stubs
from scheduler.errors import StaleSnapshot
from scheduler.state.events import WriteKind
from tests.builders import make_evaluation, make_node

MUCH = 2**40


@pytest.fixture
def filled(record):
    """Nine frames, one a second; with the first of every record ten."""
    for number in range(1, 10):
        record.write(
            WriteKind.NODE_REGISTRATION,
            lambda change, number=number: change.put_node(make_node(number)),
            now=number,
        )
    return record


def test_frames_that_are_too_old_go(filled):
    assert trim_events(filled, now=10, keep_for=4, keep_bytes=MUCH) == 6
    assert [frame.index for frame in filled.frames_since(6)] == [7, 8, 9, 10]
    with pytest.raises(StaleSnapshot):
        filled.frames_since(5)


def test_the_newest_frame_stays_however_old(filled):
    trim_events(filled, now=10**9, keep_for=1, keep_bytes=MUCH)
    assert [frame.index for frame in filled.frames_since(9)] == [10]


def test_the_oldest_go_when_there_are_too_many(filled):
    assert trim_events(filled, now=10, keep_for=MUCH, keep_bytes=1) == 9
    assert [frame.index for frame in filled.frames_since(9)] == [10]


def test_nothing_goes_while_nothing_is_too_much(filled):
    assert trim_events(filled, now=10, keep_for=MUCH, keep_bytes=MUCH) == 0
    assert len(filled.frames_since(0)) == 10


def test_a_batch_at_a_time(filled, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 4)
    counts = [trim_events(filled, now=10**9, keep_for=1, keep_bytes=MUCH) for _ in range(4)]
    assert counts == [4, 4, 1, 0]


def test_a_reader_at_the_head_is_not_stale_when_all_before_it_is_gone(filled):
    trim_events(filled, now=10**9, keep_for=1, keep_bytes=MUCH)
    assert filled.frames_since(10) == []


def test_old_stubs_go(record):
    evaluation = make_evaluation(modify_index=5)
    record.write(
        WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(evaluation), now=1
    )
    record.write(
        WriteKind.COLLECTED, lambda change: change.delete_evaluation(evaluation.id), now=1
    )
    assert trim_stubs(record, below_index=5) == 0
    assert trim_stubs(record, below_index=6) == 1
    assert record.read(lambda reader: reader.evaluation_stub(evaluation.id)) is None


def test_a_long_log_is_begun_anew_although_readers_never_pause(sqlite_store, monkeypatch):
    monkeypatch.setattr(retention, "_LONG_LOG_PAGES", 8)
    stopping = threading.Event()

    def read_on():
        try:
            while not stopping.is_set():
                sqlite_store.read(lambda reader: reader.index)
        finally:
            connections.close_all()

    readers = [threading.Thread(target=read_on) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        left = []
        for number in range(1, 60):
            sqlite_store.write(
                WriteKind.NODE_REGISTRATION,
                lambda change, number=number: change.put_node(make_node(number)),
                now=number,
            )
            left.append(checkpoint(sqlite_store))
    finally:
        stopping.set()
        for reader in readers:
            reader.join()
    assert 0 in left[10:]


def test_postgresql_keeps_its_log_by_itself(postgres_store):
    assert checkpoint(postgres_store) == 0
