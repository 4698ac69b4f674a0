"""Refusals as doors meet them: soon in the record, counted when alike, and never a full disk."""

import os
import threading
import time

import msgspec
import pytest
from django.db import OperationalError

from cluster.store import audit_desk
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.audit_desk import MINUTE, MOST_OF_ADDRESS, MOST_OF_ALL, AuditDesk
from cluster.store.audit_entries import REFUSED, Act, Actor, entry_of
from tests.patience import PATIENCE_S

START = 1_750_000_000 * 1_000_000_000 // MINUTE * MINUTE


@pytest.fixture
def desk(record):
    opened = AuditDesk(record.alias)
    yield opened
    opened.close()


def refusal(at=0, address="203.0.113.40", job="web", name=""):
    who = Actor("token" if name else "nobody", "", name, address)
    act = Act("stop job", "job", job, "default")
    return entry_of(who, act, REFUSED, at=START + at, reason="not allowed")


def rows(record):
    found = read_audit(record, AuditFilter(), limit=10_000).rows
    return [(row.address, row.act, row.target_id, row.count) for row in reversed(found)]


def wait_until(is_so):
    for _ in range(PATIENCE_S * 100):
        if is_so():
            return
        time.sleep(0.01)
    pytest.fail("waited in vain")


def test_a_refusal_is_in_the_record_without_anybody_waiting(record, desk):
    desk.note(refusal())
    wait_until(lambda: rows(record) == [("203.0.113.40", "stop job", "web", 1)])


def test_those_alike_within_a_minute_are_one_row_with_their_count_and_last_time(record, desk):
    for second in range(32):
        desk.note(refusal(second * 1_000_000_000))
        if second in (3, 20):
            desk.flush()
    desk.flush()
    assert rows(record) == [("203.0.113.40", "stop job", "web", 32)]
    [row] = read_audit(record, AuditFilter(), limit=5).rows
    assert (row.at, row.last_at) == (START, START + 31 * 1_000_000_000)


def test_the_next_minute_begins_another_row(record, desk):
    for at in (0, 1, MINUTE, MINUTE + 1, MINUTE + 2):
        desk.note(refusal(at))
    desk.flush()
    assert [count for *_, count in rows(record)] == [2, 3]


def test_who_what_and_result_make_the_difference(record, desk):
    desk.note(refusal())
    desk.note(refusal(name="ci"))
    desk.note(refusal(job="db"))
    desk.note(msgspec.structs.replace(refusal(), result="failed"))
    desk.flush()
    assert [count for *_, count in rows(record)] == [1, 1, 1, 1]


def test_a_flood_of_unlike_ones_from_one_address_is_told_in_one_more_row(record, desk):
    for number in range(2_000):
        desk.note(refusal(number, job=f"job-{number}"))
    desk.flush()
    told = rows(record)
    assert len(told) == MOST_OF_ADDRESS + 1
    assert told[-1] == ("203.0.113.40", "many acts", "", 2_000 - MOST_OF_ADDRESS)


def test_a_flood_from_many_addresses_ends_in_one_row_too(record, desk):
    for number in range(2_000):
        desk.note(refusal(number, address=f"10.0.{number // 250}.{number % 250}"))
    desk.flush()
    told = rows(record)
    assert len(told) == MOST_OF_ALL + 1
    assert told[-1] == ("", "many acts", "", 2_000 - MOST_OF_ALL)


def test_another_address_is_told_one_by_one_during_a_flood(record, desk):
    for number in range(100):
        desk.note(refusal(number, job=f"job-{number}"))
    desk.note(refusal(address="10.1.7.22"))
    desk.flush()
    assert ("10.1.7.22", "stop job", "web", 1) in rows(record)


def test_what_could_not_be_written_is_written_once_that_is_over(record, desk, monkeypatch):
    insert = audit_desk.audit.insert
    is_full = threading.Event()
    is_full.set()
    tried = threading.Event()

    def insert_unless_full(connection, entries):
        tried.set()
        if is_full.is_set():
            raise OperationalError("database or disk is full")
        return insert(connection, entries)

    monkeypatch.setattr(audit_desk, "_PAUSE_S", 0.01)
    monkeypatch.setattr(audit_desk.audit, "insert", insert_unless_full)
    desk.note(refusal())
    assert tried.wait(PATIENCE_S)
    desk.note(refusal(1))
    is_full.clear()
    wait_until(lambda: rows(record) == [("203.0.113.40", "stop job", "web", 2)])


def test_a_failed_write_counts_nothing_twice(record, desk, monkeypatch):
    desk.note(refusal())
    desk.flush()
    for at in (1, 2):
        desk.note(refusal(at))
    count_more = audit_desk.audit.count_more

    def fail_after(*given):
        count_more(*given)
        raise OperationalError("disk I/O error")

    monkeypatch.setattr(audit_desk.audit, "count_more", fail_after)
    with pytest.raises(OperationalError):
        desk.flush()
    monkeypatch.setattr(audit_desk.audit, "count_more", count_more)
    desk.flush()
    assert [count for *_, count in rows(record)] == [3]


def test_the_waiting_ones_have_a_bound(record, desk, monkeypatch, caplog):
    monkeypatch.setattr(audit_desk, "MOST_WAITING", 3)
    monkeypatch.setattr(AuditDesk, "_start", lambda self: setattr(self, "_process", os.getpid()))
    for number in range(5):
        desk.note(refusal(job=f"job-{number}"))
    desk.flush()
    assert len(rows(record)) == 3
    assert "was not kept" in caplog.text


def test_closing_writes_what_waits(record, monkeypatch):
    desk = AuditDesk(record.alias)
    desk.note(refusal())
    desk.close()
    assert len(rows(record)) == 1


def test_the_desk_holds_no_more_than_the_last_minute(record, desk):
    for minute in range(50):
        desk.note(refusal(minute * MINUTE, job=f"job-{minute}"))
        desk.flush()
    assert len(desk._told) <= 2
    assert len(rows(record)) == 50
