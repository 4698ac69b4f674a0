"""An older record in the place of the one that everybody works with: the one or the other."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connections

from cluster.store.audit import AuditFilter, read_audit
from cluster.store.audit_entries import Act, Actor, entry_of
from cluster.store.backup import restore, swap
from cluster.store.backup.archive import BadArchive, read_contents
from cluster.store.backup.swap import swap_record
from cluster.store.leases import LeaseKeeper, read_lease
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.tokens import find_token
from cluster.store.writer import DjangoStateStore
from scheduler.access.caller import Caller, CallerKind
from scheduler.errors import Fenced, StaleSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from tests.builders import make_job, make_node
from tests.cluster.api.clients import make_token
from tests.cluster.store.test_backup import (
    ENDED,
    NOW,
    PENDING,
    RUNNING,
    allocations_of,
    backed_up,
    cut_short,
    fill,
    rows_in,
    turned,
)
from tests.record_databases import database, sqlite_settings

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("restoring_process.py")
ADA = Caller(kind=CallerKind.PERSON, id="1", name="ada")


def noted(contents, index):
    act = Act("restore snapshot", detail=f"of index {contents.index}")
    return entry_of(Actor("token", name="root"), act, at=NOW, made_index=index)


def swapped(file, store):
    return swap_record(file, now=NOW, noted=noted, alias=store.alias)


def register(store, name):
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: write_job(change, make_job(id=name)),
        now=NOW,
        by=ADA,
    )


def jobs_of(store):
    return store.read(lambda reader: sorted(job.id for job in reader.jobs()))


def acts_of(store):
    page = read_audit(store, AuditFilter(), limit=20)
    return [f"{row.act} {row.target_id}".strip() for row in page.rows]


@pytest.fixture
def changed(sqlite_store, tmp_path):
    """A record, a backup of it, and what came afterwards; the secrets of before and after."""
    return changed_since(sqlite_store, tmp_path)


@pytest.fixture
def changed_in_either(record, tmp_path):
    """The same in either database."""
    return changed_since(record, tmp_path)


def changed_since(record, tmp_path):
    before = fill(record)
    register(record, "early")
    file = backed_up(record, tmp_path / "kept")
    register(record, "late")
    get_user_model().objects.using(record.alias).create(username="mallory", password="hash")
    return record, file, before, make_token(record, "later")


def test_everything_is_as_it_was_and_what_says_who_is_there_stays(changed_in_either, tmp_path):
    record, file, before, after = changed_in_either
    seen = record.index
    done = swapped(file, record)
    assert jobs_of(record) == ["early", "web"]
    assert find_token(record, before) is not None
    assert find_token(record, after) is None
    users = get_user_model().objects.using(record.alias)
    assert [user.username for user in users.all()] == ["ada"]
    assert done.index == record.index > seen + 1000
    # Who was signed in is not in a backup; each session is held against the account of then.
    assert Session.objects.using(record.alias).count() == 1
    kept, now = rows_in(file), rows_in(backed_up(record, tmp_path / "again"))
    moved = {"lease", "state_index", "table_index", "allocation", "audit"}
    assert {name: now[name] for name in now.keys() - moved} == {
        name: kept[name] for name in kept.keys() - moved
    }
    # New rows get numbers that nobody had.
    assert users.create(username="grace", password="hash").pk > 2


def test_the_audit_tells_what_was_undone_and_who_undid_it(changed):
    record, file, *_ = changed
    before = acts_of(record)
    done = swapped(file, record)
    assert acts_of(record) == ["restore snapshot", *before]
    newest = read_audit(record, AuditFilter(), limit=1).rows[0]
    assert (newest.who_name, newest.made_index) == ("root", done.index)
    assert newest.reason == f"of index {read_contents(file).index}"
    assert "register job late" in before
    # Once more: nothing is told twice.
    swapped(file, record)
    assert acts_of(record) == ["restore snapshot", "restore snapshot", *before]


def test_into_a_new_cluster_comes_the_audit_of_the_old_one_below_its_own(
    sqlite_store, sqlite_template, tmp_path
):
    record = sqlite_store
    register(record, "theirs")
    shutil.copy(sqlite_template, tmp_path / "other.sqlite3")
    with database(sqlite_settings(tmp_path / "other.sqlite3")) as alias:
        other = DjangoStateStore(alias)
        register(other, "one")
        register(other, "two")
        file = backed_up(other, tmp_path / "kept")
    swapped(file, record)
    assert jobs_of(record) == ["one", "two"]
    told = ["restore snapshot", "register job theirs", "register job two", "register job one"]
    assert acts_of(record) == told
    swapped(file, record)
    assert acts_of(record) == ["restore snapshot", *told]


def test_whoever_follows_loads_everything_anew(changed):
    record, file, *_ = changed
    cache = SnapshotCache(record.alias)
    record.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, make_node(5)), now=NOW)
    assert {node.id for node in cache.snapshot_at(record.index).nodes()} == {
        make_node().id, make_node(5).id,
    }  # fmt: skip
    seen = record.index
    done = swapped(file, record)
    with pytest.raises(StaleSnapshot):
        record.frames_since(seen)
    assert [node.id for node in cache.snapshot_at(done.index).nodes()] == [make_node().id]
    cache.close()
    # What is kept as long as an index of a table stands still is read again.
    indexes = record.read(lambda r: {r.table_index(name) for name in ("jobs", "acl_policies")})
    assert indexes == {done.index}


def test_live_allocations_are_told_to_their_agents_anew(changed):
    record, file, *_ = changed
    before = allocations_of(record)
    done = swapped(file, record)
    moved = {"alloc_modify_index": done.index, "modify_index": done.index}
    assert allocations_of(record) == {
        ENDED.id: before[ENDED.id],
        RUNNING.id: before[RUNNING.id].changed(**moved),
        PENDING.id: before[PENDING.id].changed(**moved),
    }


def test_who_led_writes_nothing_any_more_and_the_next_one_leads_at_once(changed):
    record, file, *_ = changed
    fence = LeaseKeeper("leader", "before", record.alias).step(0.0)
    swapped(file, record)
    with pytest.raises(Fenced):
        record.write(
            WriteKind.PLAN_RESULT,
            lambda change: put_found(change, make_node(7)),
            now=NOW,
            fence=fence,
        )
    assert LeaseKeeper("leader", "next", record.alias).step(0.0).epoch > fence.epoch
    assert read_lease("leader", record.alias).holder == "next"


@pytest.mark.parametrize("spoil", [cut_short, turned, lambda _: b"", lambda _: b"text"])
def test_a_spoiled_file_changes_nothing(changed, spoil):
    record, file, *_ = changed
    file.write_bytes(spoil(file.read_bytes()))
    before, acts = record.index, acts_of(record)
    with pytest.raises(BadArchive):
        swapped(file, record)
    assert (record.index, jobs_of(record), acts_of(record)) == (
        before, ["early", "late", "web"], acts,
    )  # fmt: skip


def test_rows_that_make_no_record_change_nothing(changed, monkeypatch):
    record, file, *_ = changed
    contents = read_contents(file)
    wrong = msgspec.structs.replace(contents, rows={**contents.rows, "job": 9})
    monkeypatch.setattr(swap, "readable_contents", lambda _file: wrong)
    with pytest.raises(BadArchive, match="other rows than it says"):
        swapped(file, record)
    assert jobs_of(record) == ["early", "late", "web"]


def test_a_fault_at_the_very_end_undoes_all_of_it(changed_in_either, monkeypatch):
    record, file, *_ = changed_in_either
    before = record.index

    def fail(_connection, _entries):
        raise IntegrityError("no")

    monkeypatch.setattr(swap.audit, "insert", fail)
    with pytest.raises(IntegrityError):
        swapped(file, record)
    assert (record.index, jobs_of(record)) == (before, ["early", "late", "web"])
    monkeypatch.undo()
    # Numbers that were given out are not given again, and the next try goes through.
    users = get_user_model().objects.using(record.alias)
    assert users.create(username="grace", password="hash").pk > 2
    swapped(file, record)
    assert jobs_of(record) == ["early", "web"]


def test_nothing_is_left_lying(changed, tmp_path, monkeypatch):
    record, file, *_ = changed
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(swap.tempfile, "tempdir", str(place))
    swapped(file, record)
    assert list(place.iterdir()) == []
    assert restore.BESIDE not in connections.settings


@pytest.mark.parametrize("late_s", [0.0, 0.05, 0.13])
def test_killed_on_the_way_it_is_the_one_or_the_other(
    late_s, sqlite_template, tmp_path, django_db_blocker
):
    """Two records take each other's place again and again until the process is killed."""
    path = tmp_path / "state.sqlite3"
    wanted = {}
    with django_db_blocker.unblock():
        for name in ("one", "two"):
            shutil.copy(sqlite_template, path)
            with database(sqlite_settings(path)) as alias:
                store = DjangoStateStore(alias)
                fill(store)
                for number in range(30):
                    register(store, f"{name}-{number}")
                wanted[name] = jobs_of(store)
                backed_up(store, tmp_path / name)
    process = subprocess.Popen(
        [sys.executable, PROGRAM, path, tmp_path / "one", tmp_path / "two"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, process.stdout as output:
        # In the middle of the transaction, at its last statement and after it.
        assert output.readline() == "swapping\n"
        time.sleep(late_s)
        process.kill()
    with django_db_blocker.unblock(), database(sqlite_settings(path)) as alias:
        store = DjangoStateStore(alias)
        found = jobs_of(store)
        assert found in wanted.values()
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM job_version")
            assert cursor.fetchone() == (len(found),)
        register(store, "next")
        assert "next" in jobs_of(store)
