"""Trimming the log: by age and by size, in batches, never the newest frame."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.db import connections

from cluster.store import retention
from cluster.store.retention import (
    FIRST_STORY,
    LogSize,
    checkpoint,
    trim_events,
    trim_job_stubs,
    trim_sessions,
    trim_stories,
    trim_stubs,
)
from scheduler.errors import StaleSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.story import Story, StoryNode
from tests.builders import SECOND, make_evaluation, make_job, make_node

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


def stored_size(store):
    with connections[store.alias].cursor() as cursor:
        cursor.execute("SELECT SUM(size) FROM event")
        return cursor.fetchone()[0]


def test_the_size_of_the_log_is_kept_up_without_adding_all_of_it_up_again(filled):
    """As the log grew, reading all of it each minute filled the leader's cache."""
    connection, size = connections[filled.alias], LogSize()
    added_from = []

    def hear(execute, statement, parameters, many, context):
        if "SUM(size)" in statement and ">" in statement:
            added_from.append(parameters[0])
        return execute(statement, parameters, many, context)

    def trimmed(keep_for, keep_bytes=MUCH):
        with connection.execute_wrapper(hear):
            return trim_events(
                filled, now=10, keep_for=keep_for, keep_bytes=keep_bytes, log_size=size
            )

    assert trimmed(MUCH) == 0
    filled.write(
        WriteKind.NODE_REGISTRATION, lambda change: change.put_node(make_node(11)), now=10
    )
    assert trimmed(MUCH) == 0
    assert trimmed(MUCH, stored_size(filled) - 1) == 1
    assert trimmed(keep_for=4) == 5
    assert trimmed(MUCH) == 0
    assert added_from == [0, 10, 11, 11, 11]
    assert size.read(connection, 7) == stored_size(filled)
    # Somebody else trims as well: all is added up once more.
    trim_events(filled, now=10, keep_for=2, keep_bytes=MUCH)
    assert trimmed(keep_for=2) == 0
    assert added_from[-1] == 0
    assert size.read(connection, 9) == stored_size(filled)


def test_a_reader_at_the_head_is_not_stale_when_all_before_it_is_gone(filled):
    trim_events(filled, now=10**9, keep_for=1, keep_bytes=MUCH)
    assert filled.frames_since(10) == []


def collect(store, count):
    """So many evaluations, last changed second by second, collected."""
    for number in range(1, count + 1):
        evaluation = make_evaluation(number, modify_time=number * SECOND)
        store.write(
            WriteKind.EVALUATION_UPDATED,
            lambda change, row=evaluation: change.put_evaluation(row),
            now=1,
        )
        store.write(
            WriteKind.COLLECTED,
            lambda change, row=evaluation: change.delete_evaluation(row.id),
            now=1,
        )


def purge(store, count):
    """So many jobs, purged second by second."""
    for number in range(1, count + 1):
        job = make_job(id=f"job-{number}")
        store.write(
            WriteKind.JOB_REGISTERED, lambda change, job=job: write_job(change, job), now=SECOND
        )
        store.write(
            WriteKind.JOB_DEREGISTERED,
            lambda change, job=job: change.delete_job(job.key),
            now=number * SECOND,
        )


def numbers_left(store, column, table):
    with connections[store.alias].cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")  # noqa: S608 - names of our own
        return sorted(int(str(value).rpartition("-")[2]) for (value,) in cursor.fetchall())


@pytest.mark.parametrize(
    ("fill", "trim", "column", "table"),
    [
        pytest.param(collect, trim_stubs, "id", "evaluation_stub", id="evaluations"),
        pytest.param(purge, trim_job_stubs, "job_id", "job_stub", id="jobs"),
    ],
)
def test_stubs_go_that_are_too_old_or_too_many(record, monkeypatch, fill, trim, column, table):
    fill(record, 9)
    left = lambda: numbers_left(record, column, table)  # noqa: E731 - asked four times
    assert trim(record, now=9 * SECOND, keep_for=9 * SECOND, keep_count=9) == 0
    assert left() == [*range(1, 10)]
    assert trim(record, now=9 * SECOND, keep_for=6 * SECOND, keep_count=9) == 2
    assert left() == [*range(3, 10)]
    assert trim(record, now=9 * SECOND, keep_for=9 * SECOND, keep_count=5) == 2
    assert left() == [*range(5, 10)]
    monkeypatch.setattr(retention, "BATCH", 3)
    counts = [trim(record, now=9 * SECOND, keep_for=SECOND, keep_count=9) for _ in range(3)]
    assert counts == [3, 0, 0]
    assert left() == [8, 9]


def tell(store, story_id, *evaluations, at=1):
    """A story that began at a second, its evaluations collected, and a node of it."""

    def work(change):
        moment = at * SECOND
        change.put(STORIES, Story(id=story_id, create_index=at, modify_time=moment))
        change.put(STORY_NODES, StoryNode(story_id=story_id, node_id="n"))
        for number in evaluations:
            row = make_evaluation(number, modify_time=number * SECOND, story_id=story_id)
            change.put_evaluation(row)

    def drop(change):
        for number in evaluations:
            change.delete_evaluation(make_evaluation(number).id)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=1)
    store.write(WriteKind.COLLECTED, drop, now=1)


def stories_left(store):
    links = store.read(lambda reader: reader.list_all(STORY_NODES))
    found = store.read(lambda reader: reader.list_all(STORIES))
    assert {link.story_id for link in links} == {story.id for story in found}
    return [story.id for story in found]


def test_a_story_goes_with_the_last_stub_of_its_evaluations(record):
    tell(record, "first", 1, 2)
    tell(record, "second", 3, 9)
    assert trim_stubs(record, now=9 * SECOND, keep_for=7 * SECOND, keep_count=9) == 1
    assert stories_left(record) == ["first", "second"]
    assert trim_stubs(record, now=9 * SECOND, keep_for=5 * SECOND, keep_count=9) == 2
    assert stories_left(record) == ["second"]
    # Too many are as good as too old.
    assert trim_stubs(record, now=9 * SECOND, keep_for=9 * SECOND, keep_count=0) == 1
    assert stories_left(record) == []


def test_a_story_that_never_had_evaluations_goes_by_its_age(record, monkeypatch):
    tell(record, "old", at=1)
    tell(record, "older-and-told", 2, at=2)
    tell(record, "also-old", at=3)
    tell(record, "young", at=8)
    monkeypatch.setattr(retention, "BATCH", 2)
    place = trim_stories(record, now=9 * SECOND, keep_for=5 * SECOND, after=FIRST_STORY)
    assert (place, stories_left(record)) == (
        (2, "older-and-told"), ["older-and-told", "also-old", "young"],
    )  # fmt: skip
    place = trim_stories(record, now=9 * SECOND, keep_for=5 * SECOND, after=place)
    assert (place, stories_left(record)) == (FIRST_STORY, ["older-and-told", "young"])


def test_sessions_go_when_their_time_is_over(record):
    for number in range(1, 4):
        ends = datetime.fromtimestamp(number, UTC)
        Session.objects.using(record.alias).create(
            session_key=str(number), session_data="", expire_date=ends
        )
    assert trim_sessions(record, now=3 * SECOND) == 2
    assert trim_sessions(record, now=3 * SECOND) == 0
    assert [row.session_key for row in Session.objects.using(record.alias).all()] == ["3"]


def test_a_long_log_is_begun_anew_although_readers_never_pause(sqlite_store, monkeypatch):
    monkeypatch.setattr(retention, "_LONG_LOG_PAGES", 60)
    log_file = Path(f"{connections[sqlite_store.alias].settings_dict['NAME']}-wal")
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
        left, sizes = [], []
        for number in range(1, 60):
            sqlite_store.write(
                WriteKind.NODE_REGISTRATION,
                lambda change, number=number: change.put_node(make_node(number)),
                now=number,
            )
            left.append(checkpoint(sqlite_store))
            sizes.append(log_file.stat().st_size)
    finally:
        stopping.set()
        for reader in readers:
            reader.join()
    assert min(left[20:]) < 60, left
    assert max(left) < 180, left
    # It is written over, and never shorter than it was.
    assert sizes == sorted(sizes)


def test_postgresql_keeps_its_log_by_itself(postgres_store):
    assert checkpoint(postgres_store) == 0
