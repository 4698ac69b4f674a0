"""The audit in the database: added, found by what people look for, counted, collected."""

import msgspec
import pytest
from django.db import connections

from cluster.store import audit
from cluster.store.audit import AuditFilter, read_audit, sum_up, trim_audit
from cluster.store.audit_entries import (
    DONE,
    FAILED,
    REFUSED,
    Act,
    Actor,
    AuditEntry,
    entry_of,
)
from cluster.store.transactions import write_transaction
from tests.cluster.store.test_query_plans import statements_of

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
KIM = Actor("person", "7", "kim", "10.1.7.22", "page")
BOT = Actor("token", "91d0e2aa", "deploy-bot", "10.4.0.9", "api")
STRANGER = Actor(address="203.0.113.40")
STOP = Act("stop job", "job", "web", "default")


def add(record, *entries):
    connection = connections[record.alias]
    with write_transaction(connection):
        return audit.insert(connection, entries)


def found(record, limit=50, **wanted):
    return read_audit(record, AuditFilter(**wanted), limit=limit).rows


@pytest.fixture
def filled(record):
    """A minute apart: kim stopped web, the bot registered a_b, a stranger was refused, a fault."""
    add(
        record,
        entry_of(KIM, STOP, at=60 * SECOND, made_index=12),
        entry_of(BOT, Act("register job", "job", "a_b", "team"), at=120 * SECOND, made_index=13),
        entry_of(STRANGER, Act("read job"), REFUSED, at=180 * SECOND, reason="no such token"),
        entry_of(BOT, Act("register job", "job", "axb"), FAILED, at=240 * SECOND, reason="full"),
    )
    return record


def acts(rows):
    return [(row.who_name, row.act, row.target_id, row.result) for row in rows]


def test_a_row_keeps_who_from_where_by_which_door_what_and_the_index(record):
    entry = entry_of(KIM, STOP, at=60 * SECOND, made_index=12, reason="as asked")
    [place] = add(record, entry)
    assert found(record) == [
        AuditEntry(
            at=60 * SECOND, last_at=60 * SECOND, who_kind="person", who_id="7", who_name="kim",
            address="10.1.7.22", door="page", act="stop job", namespace="default",
            target_kind="job", target_id="web", result="done", reason="as asked",
            made_index=12, id=place,
        )
    ]  # fmt: skip


def test_the_newest_come_first(filled):
    assert [row.at // SECOND for row in found(filled)] == [240, 180, 120, 60]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"who": "kim"}, [60]),
        ({"who": "token"}, [240, 120]),
        ({"who": "91d0e2aa"}, [240, 120]),
        ({"who": "nobody"}, [180]),
        ({"act": "register"}, [240, 120]),
        ({"act": "stop job"}, [60]),
        ({"act": "%"}, []),
        ({"result": REFUSED}, [180]),
        ({"result": FAILED}, [240]),
        ({"result": DONE}, [120, 60]),
        ({"door": "page"}, [60]),
        ({"text": "DEPLOY"}, [240, 120]),
        ({"text": "203.0"}, [180]),
        ({"text": "a_b"}, [120]),
        ({"text": "such token"}, [180]),
        ({"since": 120 * SECOND}, [240, 180, 120]),
        ({"until": 120 * SECOND}, [60]),
        ({"since": 100 * SECOND, "until": 200 * SECOND, "door": "api"}, [180, 120]),
        ({"since": HOUR}, []),
    ],
)
def test_rows_are_found_by_what_people_ask_for(filled, wanted, expected):
    assert [row.at // SECOND for row in found(filled, **wanted)] == expected


def test_pages_follow_each_other_without_a_gap(filled):
    first = read_audit(filled, AuditFilter(), limit=3)
    second = read_audit(filled, AuditFilter(below=first.next_below), limit=3)
    assert [row.at // SECOND for row in (*first.rows, *second.rows)] == [240, 180, 120, 60]
    assert (second.next_below, second.ended_early) == (0, False)


def test_a_rare_match_in_a_long_audit_ends_the_look_and_says_where_to_go_on(record, monkeypatch):
    monkeypatch.setattr(audit, "LOOKED_AT", 10)
    add(record, entry_of(KIM, STOP, at=SECOND))
    add(record, *(entry_of(BOT, STOP, at=SECOND * number) for number in range(2, 26)))
    pages = [read_audit(record, AuditFilter(who="kim"), limit=5)]
    while pages[-1].next_below:
        below = pages[-1].next_below
        pages.append(read_audit(record, AuditFilter(who="kim", below=below), limit=5))
    assert [len(page.rows) for page in pages] == [0, 0, 1]
    assert [page.ended_early for page in pages] == [True, True, False]


def test_refusals_are_found_however_many_acts_were_done_since(record, monkeypatch):
    monkeypatch.setattr(audit, "LOOKED_AT", 10)
    add(record, entry_of(STRANGER, STOP, REFUSED, at=SECOND))
    add(record, *(entry_of(BOT, STOP, at=SECOND * number) for number in range(2, 40)))
    page = read_audit(record, AuditFilter(result=REFUSED), limit=5)
    assert acts(page.rows) == [("", "stop job", "web", "refused")]
    assert not page.ended_early


def test_sums_tell_results_and_who_was_refused_most(filled):
    more = entry_of(STRANGER, Act("read node"), REFUSED, at=HOUR)
    add(filled, msgspec.structs.replace(more, count=31))
    sums = sum_up(filled, since=100 * SECOND)
    assert sums.by_result == {"done": 1, "refused": 32, "failed": 1}
    assert sums.loudest == ("203.0.113.40", 32)
    assert sums.oldest == 60 * SECOND


def test_an_empty_audit_has_empty_sums(record):
    assert sum_up(record, since=0) == ({}, ("", 0), 0)
    assert found(record, since=1) == []


def test_old_rows_are_collected_a_batch_at_a_time(filled, monkeypatch):
    monkeypatch.setattr(audit, "BATCH", 1)
    assert [trim_audit(filled, before=130 * SECOND) for _ in range(3)] == [1, 1, 0]
    assert [row.at // SECOND for row in found(filled)] == [240, 180]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a\nb\x1b[2Jc\u202ed", "a b [2Jc d"),
        ("x" * 500, "x" * 127 + "\N{HORIZONTAL ELLIPSIS}"),
        ("x" * 128, "x" * 128),
        ("Zoë 東京", "Zoë 東京"),
    ],
)
def test_texts_are_cut_and_stay_on_their_line(name, kept):
    entry = entry_of(Actor(name=name), Act("stop job", "job", name, name), at=1)
    assert (entry.who_name, entry.target_id, entry.namespace) == (kept, kept, kept)


def test_finding_refusals_reads_their_index_alone(sqlite_store):
    with statements_of(connections[sqlite_store.alias]) as statements:
        read_audit(sqlite_store, AuditFilter(result=REFUSED, text="web"), limit=5)
    plans = []
    with connections[sqlite_store.alias].cursor() as cursor:
        for sql, params in statements:
            if sql.startswith("SELECT"):
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
                plans.append(" ".join(str(row[3]) for row in cursor.fetchall()))
    assert len(plans) == 2
    assert all("audit_not_done" in plan for plan in plans)
