"""A record in a file and back: from either database into either, whole or not at all."""

import gzip
import io
import sqlite3
import tarfile
from collections import Counter
from datetime import UTC, datetime
from itertools import count

import msgspec
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import connections

from cluster.operations.variables import put_variable, read_variable
from cluster.store.backup import archive, dump, restore, tables
from cluster.store.backup.archive import BadArchive, read_contents
from cluster.store.backup.dump import NoRecord, write_backup
from cluster.store.backup.restore import RecordInTheWay, restore_backup
from cluster.store.backup.state import REFERENCE_KINDS, read_pieces
from cluster.store.leases import LeaseKeeper, read_lease
from cluster.store.tokens import create_login, find_token
from cluster.store.writer import DjangoStateStore
from scheduler.access.caller import CLUSTER
from scheduler.errors import Fenced, StaleSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import make_token
from tests.record_databases import database, sqlite_settings
from tests.root_keys import put_keys, root_key

NOW = 1_750_000_000_000_000_000
HOUR = 3600 * 1_000_000_000
RUNNING = make_allocation(client_status=ClientStatus.RUNNING)
ENDED = make_allocation(number=1, client_status=ClientStatus.COMPLETE)
PENDING = make_allocation(number=2)

_numbers = count(1)


def fill(store):
    """Some of everything; returns the secret of an API token."""

    def work(change):
        write_job(change, make_job(meta={"text": "ü\n"}))
        for row in (make_node(), make_evaluation(), RUNNING, ENDED, PENDING):
            put_found(change, row)

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)
    user = get_user_model().objects.using(store.alias).create(username="ada", password="hash")
    user.groups.add(Group.objects.using(store.alias).create(name="operators"))
    create_login(store, user.pk, now=NOW, valid_for=HOUR)
    ends = datetime(2026, 1, 1, tzinfo=UTC)
    Session.objects.using(store.alias).create(session_key="k", session_data="d", expire_date=ends)
    return make_token(store, "deploys", default="write")


def backed_up(store, file):
    with file.open("wb") as target:
        write_backup(target, now=NOW, alias=store.alias)
    return file


def rows_in(file):
    """Every row of a backup, by table."""
    found = {}
    with archive.open_state(file) as state:
        for piece in read_pieces(state):
            found.setdefault(piece.table, []).extend(
                dict(zip(piece.columns, row, strict=True)) for row in piece.rows
            )
    return found


@pytest.fixture
def secret(record):
    return fill(record)


@pytest.fixture
def kept(record, secret, tmp_path):
    """A backup of a record that is not empty."""
    return backed_up(record, tmp_path / "kept")


@pytest.fixture
def fresh(tmp_path):
    """A store in a file in which nobody ever wrote."""
    with database(sqlite_settings(tmp_path / "fresh.sqlite3")) as alias:
        yield DjangoStateStore(alias)


@pytest.fixture
def filled(sqlite_store):
    """A record in a file, and the secret of its token."""
    return sqlite_store, fill(sqlite_store)


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    """A store in a database in which nobody ever wrote."""
    if request.param == "sqlite":
        settings = sqlite_settings(tmp_path / "empty.sqlite3")
    else:
        server = request.getfixturevalue("postgres_database").settings
        settings = server | {"NAME": f"empty{next(_numbers)}"}
        with (
            database(server | {"NAME": "postgres"}) as alias,
            connections[alias].cursor() as cursor,
        ):
            cursor.execute(f"CREATE DATABASE {settings['NAME']}")
    with database(settings) as alias:
        yield DjangoStateStore(alias)


def restored(file, store, now=NOW, *, replace=False):
    return restore_backup(file, replace=replace, now=now, alias=store.alias)


#: What a restore changes, and nothing else of these tables.
MOVED = {"lease", "state_index", "table_index", "allocation"}


def test_a_backup_of_either_database_is_the_same_record_in_either(kept, empty, tmp_path):
    restored(kept, empty)
    before, after = rows_in(kept), rows_in(backed_up(empty, tmp_path / "again"))
    assert {name: after[name] for name in after.keys() - MOVED} == {
        name: before[name] for name in before.keys() - MOVED
    }
    assert len(before["allocation"]) == len(after["allocation"]) == 3
    assert before["auth_user_groups"] != []
    assert before["acl_token"][0]["secret_hash"]
    # New rows get numbers that nobody has.
    get_user_model().objects.using(empty.alias).create(username="grace", password="hash")


def test_tokens_open_what_they_opened_and_ended_sessions_stay_ended(filled, fresh, tmp_path):
    record, secret = filled
    restored(backed_up(record, tmp_path / "kept"), fresh)
    assert find_token(fresh, secret).token.policies == ("of-deploys",)
    with connections[fresh.alias].cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM django_session")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT COUNT(*) FROM one_time_login")
        assert cursor.fetchone() == (0,)


def test_variables_open_again_and_are_in_no_file_in_clear(filled, fresh, tmp_path):
    record, _ = filled
    put_keys(record, root_key())
    put_variable(record, "default", "app", {"password": "horse"}, by=CLUSTER, now=NOW)
    kept = backed_up(record, tmp_path / "kept")
    with archive.open_state(kept) as state:
        assert b"horse" not in state.read()
    restored(kept, fresh)
    found = fresh.read(lambda reader: read_variable(reader, "default", "app", by=CLUSTER))
    assert found is not None
    assert found.items == {"password": "horse"}


def test_the_index_goes_on_above_all_that_was_seen_and_followers_load_anew(
    filled, fresh, tmp_path
):
    record, empty = filled[0], fresh
    kept = backed_up(record, tmp_path / "kept")
    hour_later = NOW + HOUR
    done = restored(kept, empty, now=hour_later)
    assert done.index == empty.index > record.index + 3_600_000
    with pytest.raises(StaleSnapshot):
        empty.frames_since(record.index)
    assert empty.frames_since(done.index) == []
    index, _ = empty.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, make_job(id="new")), now=NOW
    )
    assert index == done.index + 1
    assert [frame.index for frame in empty.frames_since(done.index)] == [index]


def allocations_of(store):
    found = store.read(lambda reader: list(reader.allocations_by_node(RUNNING.node_id)))
    return {alloc.id: alloc for alloc in found}


def test_live_allocations_are_told_to_their_nodes_anew(filled, fresh, tmp_path):
    before = allocations_of(filled[0])
    done = restored(backed_up(filled[0], tmp_path / "kept"), fresh)
    moved = {"alloc_modify_index": done.index, "modify_index": done.index}
    assert allocations_of(fresh) == {
        ENDED.id: before[ENDED.id],
        RUNNING.id: before[RUNNING.id].changed(**moved),
        PENDING.id: before[PENDING.id].changed(**moved),
    }


def test_who_led_either_record_writes_nothing_any_more(filled, tmp_path):
    record = filled[0]
    old = LeaseKeeper("leader", "before", record.alias).step(0.0)
    file = backed_up(record, tmp_path / "kept")
    with database(sqlite_settings(tmp_path / "other.sqlite3")) as alias:
        other = DjangoStateStore(alias)
        restored(file, other)
        for name in ("one", "two", "three"):
            keeper = LeaseKeeper("leader", name, alias)
            newest = keeper.step(0.0)
            keeper.release()
        restored(file, other, replace=True)
        assert read_lease("leader", alias).epoch > newest.epoch > old.epoch
        for fence in (old, newest):
            with pytest.raises(Fenced):
                other.write(
                    WriteKind.PLAN_RESULT,
                    lambda change: put_found(change, make_node(7)),
                    now=NOW,
                    fence=fence,
                )
        assert LeaseKeeper("leader", "next", alias).step(0.0) is not None


def test_a_record_is_replaced_only_when_told_to(filled, empty, tmp_path):
    kept = backed_up(filled[0], tmp_path / "kept")
    first = restored(kept, empty)
    before = empty.index
    with pytest.raises(RecordInTheWay, match="--replace"):
        restored(kept, empty)
    assert empty.index == before
    again = restored(kept, empty, replace=True)
    assert again.index > first.index


def test_a_replaced_file_is_kept_beside(sqlite_store, tmp_path):
    fill(sqlite_store)
    file = backed_up(sqlite_store, tmp_path / "kept")
    sqlite_store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, make_job(id="late")), now=NOW
    )
    before = sqlite_store.index
    done = restored(file, sqlite_store, replace=True)
    with sqlite3.connect(done.kept) as old:
        assert old.execute("SELECT value FROM state_index").fetchone() == (before,)
    assert sqlite_store.read(lambda r: [job.id for job in r.jobs()]) == ["web"]


def test_a_file_that_is_no_database_any_more_can_be_replaced(filled, tmp_path):
    kept = backed_up(filled[0], tmp_path / "kept")
    place = tmp_path / "broken.sqlite3"
    place.write_bytes(b"no database at all" * 1000)
    with database(sqlite_settings(place)) as alias:
        with pytest.raises(RecordInTheWay):
            restore_backup(kept, replace=False, now=NOW, alias=alias)
        done = restore_backup(kept, replace=True, now=NOW, alias=alias)
        assert done.kept.read_bytes().startswith(b"no database")
        assert DjangoStateStore(alias).index == done.index


def cut_short(body):
    return body[: len(body) // 2]


def turned(body):
    """One bit of the state is another one, and the compression knows nothing of it."""
    plain = bytearray(gzip.decompress(body))
    place = plain.index(b"state.bin") + 2000
    plain[place] ^= 1
    return gzip.compress(bytes(plain))


def foreign(body):
    del body
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("holiday.jpg"), io.BytesIO())
    return written.getvalue()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(cut_short, "no whole backup", id="cut-short"),
        pytest.param(turned, "damaged: the checksum of state.bin", id="a-bit-turned"),
        pytest.param(foreign, "no backup: it holds 'holiday.jpg'", id="another-archive"),
        pytest.param(lambda _: b"text", "no whole backup", id="no-archive"),
        pytest.param(lambda _: b"", "no whole backup", id="empty"),
    ],
)
def test_a_spoiled_file_is_refused_and_the_record_stays(sqlite_store, tmp_path, spoil, said):
    fill(sqlite_store)
    file = backed_up(sqlite_store, tmp_path / "kept")
    file.write_bytes(spoil(file.read_bytes()))
    before = sqlite_store.index
    with pytest.raises(BadArchive, match=said):
        restored(file, sqlite_store, replace=True)
    assert sqlite_store.index == before
    assert {path.name for path in tmp_path.iterdir() if "restoring" in path.name} == set()


def test_rows_that_do_not_fit_leave_the_record_as_it_was(record, kept, monkeypatch):
    """A file whose checksums are right and whose rows are not what it says."""
    contents = read_contents(kept)
    wrong = msgspec.structs.replace(contents, rows={**contents.rows, "job": 2})
    monkeypatch.setattr(restore, "readable_contents", lambda _file: wrong)
    before = record.index
    with pytest.raises(BadArchive, match="other rows than it says"):
        restored(kept, record, replace=True)
    assert record.index == before
    assert record.read(lambda r: [job.id for job in r.jobs()]) == ["web"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"format": archive.FORMAT + 1}, id="form"),
        pytest.param({"migrations": {"cluster": ["9999_from_the_future"]}}, id="migration"),
    ],
)
def test_a_newer_backup_is_refused_by_its_version(sqlite_store, tmp_path, change):
    contents = archive.Contents(
        **{
            "format": archive.FORMAT, "version": "9.9.9", "created": NOW, "index": 7,
            "database": "sqlite", "migrations": {}, "rows": {}, **change,
        }
    )  # fmt: skip
    file = tmp_path / "newer"
    with file.open("wb") as target:
        archive.write_archive(target, contents, io.BytesIO(), term=1)
    with pytest.raises(tables.NewerRecord, match=r"Bivouac 9\.9\.9, which is newer"):
        restored(file, sqlite_store, replace=True)


def test_nothing_is_no_record(empty, tmp_path):
    with pytest.raises(NoRecord):
        backed_up(empty, tmp_path / "kept")


def test_a_backup_is_of_one_index_while_others_write(record, secret, tmp_path, monkeypatch):
    """Each table is read after a further job was registered: none of them is in the file."""
    written = dump._write_rows
    before = record.index
    jobs = count(1)

    def write_between(writer, alias, model):
        with database(connections[record.alias].settings_dict) as other:
            job = make_job(id=f"late-{next(jobs)}")
            DjangoStateStore(other).write(
                WriteKind.JOB_REGISTERED, lambda change: write_job(change, job), now=NOW
            )
        return written(writer, alias, model)

    monkeypatch.setattr(dump, "_write_rows", write_between)
    file = backed_up(record, tmp_path / "kept")
    assert next(jobs) > 10
    assert read_contents(file).index == before
    assert [row["job_id"] for row in rows_in(file)["job"]] == ["web"]
    assert rows_in(file)["state_index"][0]["value"] == before


def test_the_file_reads_like_a_snapshot_of_the_reference(filled, tmp_path):
    kept = backed_up(filled[0], tmp_path / "kept")
    with tarfile.open(kept) as tar:
        assert tar.getnames() == ["meta.json", "state.bin", "SHA256SUMS"]
        meta = msgspec.json.decode(tar.extractfile("meta.json").read())
        size = tar.getmember("state.bin").size
    contents = read_contents(kept)
    assert (meta["Version"], meta["Index"], meta["Size"]) == (1, contents.index, size)
    assert meta["Configuration"] == {"Servers": []}
    # Its command line reads nothing behind the end of the tar.
    assert len(gzip.decompress(kept.read_bytes())) % 10240 != 0
    # And the instant out of this:
    assert meta["ID"] == f"{meta['Term']}-{contents.index}-{NOW // 1_000_000}"


def value_of(state):
    """A MessagePack value, of the forms that a state has."""
    mark = state.read(1)[0]
    if mark == 0xC6:
        return state.read(int.from_bytes(state.read(4), "big"))
    if mark & 0xE0 == 0xA0:
        return state.read(mark & 0x1F).decode()
    assert mark & 0xF0 == 0x80
    return {value_of(state): value_of(state) for _ in range(mark & 0x0F)}


def test_the_rows_are_counted_as_the_reference_counts_its_own(filled, tmp_path):
    """A heading, then a byte and a value for each row: `operator snapshot inspect` reads those."""
    kept = backed_up(filled[0], tmp_path / "kept")
    found = Counter()
    with archive.open_state(kept) as state:
        assert list(value_of(state)) == ["Tables"]
        while kind := state.read(1):
            found[kind[0]] += isinstance(value_of(state), bytes)
    rows = read_contents(kept).rows
    known = {kind: rows[table] for table, kind in REFERENCE_KINDS.items() if rows.get(table)}
    assert known[0] == known[1] == 1
    assert {kind: found[kind] for kind in known} == known
    assert min(found.keys() - known.keys()) >= 128
    assert found.total() == sum(rows.values())


def test_a_backup_in_the_earlier_form_is_put_back(filled, empty, tmp_path):
    """Pieces of many rows behind their lengths, as they were written until 2026-11-23."""
    record, secret = filled
    new, old = backed_up(record, tmp_path / "new"), tmp_path / "old"
    state = io.BytesIO()
    with archive.open_state(new) as written:
        for piece in read_pieces(written):
            body = msgspec.msgpack.encode(piece)
            state.write(len(body).to_bytes(4, "big") + body)
    contents = msgspec.structs.replace(read_contents(new), format=1)
    with old.open("wb") as target:
        archive.write_archive(target, contents, state, term=1)
    restored(old, empty)
    assert empty.read(lambda r: [job.id for job in r.jobs()]) == ["web"]
    assert find_token(empty, secret).token.policies == ("of-deploys",)


@pytest.mark.parametrize("length", [3, 6, 9, 200, -1, -3])
def test_a_state_that_breaks_off_is_found(filled, tmp_path, length):
    with archive.open_state(backed_up(filled[0], tmp_path / "kept")) as state:
        whole = state.read()
    with pytest.raises(ValueError, match=r"breaks off|another heading"):
        list(read_pieces(io.BytesIO(whole[:length])))
