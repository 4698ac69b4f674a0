"""The record as a snapshot through the API: saved by managers, and put back by them."""

import asyncio
import base64
import hashlib
import io
import tarfile
import tempfile

import msgspec
import pytest

from cluster.api import snapshots
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.backup import archive
from cluster.store.backup.archive import read_contents
from cluster.store.blocking import _the_waiters
from scheduler.state.events import WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.writes.jobs import write_job
from tests.builders import make_job
from tests.cluster.api.clients import put
from tests.cluster.store.test_backup import cut_short, foreign, turned
from tests.patience import PATIENCE_S
from tests.root_keys import put_keys, root_key

SNAPSHOT = "/v1/operator/snapshot"


async def body_of(response):
    return b"".join([piece async for piece in response])


async def index_of(store):
    return await store.aread(lambda reader: reader.index)


async def test_a_manager_saves_a_snapshot_that_restores(api, store, job, tmp_path):
    answer = await api.get("/v1/operator/snapshot")
    body = await body_of(answer)
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/x-gzip"
    assert answer["Digest"] == f"sha-256={digest}"
    assert answer["X-Nomad-Index"] == str(await index_of(store))
    file = tmp_path / "snapshot"
    file.write_bytes(body)
    contents = read_contents(file)
    assert (contents.index, contents.rows["job"]) == (await index_of(store), 1)


async def test_who_is_no_manager_gets_no_snapshot(tenant, reader, stranger):
    for caller in (tenant, reader, stranger):
        for method in ("GET", "PUT"):
            answer = await caller.send(method, "/v1/operator/snapshot")
            assert (answer.status, answer.text) == (403, "Permission denied")


@pytest.fixture
async def snapshot(api, job):
    """A snapshot of a record with one job."""
    return await body_of(await api.get(SNAPSHOT))


async def register(store, name):
    def work(change):
        write_job(change, make_job(id=name))

    await store.acall(lambda: put(store, work, WriteKind.JOB_REGISTERED))


async def jobs_of(api):
    return [job["ID"] for job in (await api.get("/v1/jobs")).json]


async def acts_of(store):
    await store.acall(store.audit.flush)
    wanted = AuditFilter(act="restore snapshot")
    return (await store.aread_call(read_audit, wanted, limit=10)).rows


async def test_a_manager_puts_the_record_back_while_it_is_used(api, store, snapshot):
    await register(store, "late")
    assert await jobs_of(api) == ["late", "web"]
    before = await index_of(store)
    answer = await api.put(SNAPSHOT, snapshot)
    # As the reference answers: nothing but the index.
    assert (answer.status, answer.text) == (200, "")
    assert int(answer.headers["X-Nomad-Index"]) == await index_of(store) > before
    assert answer.headers["X-Bivouac-Restored"].startswith("tokens, policies and accounts are")
    assert await jobs_of(api) == ["web"]
    (act,) = await acts_of(store)
    assert (act.result, act.who_name, act.made_index) == ("done", "root", await index_of(store))
    assert act.reason.endswith(f"at index {before - 1}")
    await register(store, "next")
    assert await jobs_of(api) == ["next", "web"]


async def test_variables_are_put_back_as_they_were_and_read_under_the_keys_of_then(api, store):
    await store.acall(lambda: put_keys(store, root_key("first")))
    await api.put("/v1/var/app", {"Items": {"password": "before"}})
    snapshot = await body_of(await api.get(SNAPSHOT))
    await api.put("/v1/var/app", {"Items": {"password": "after"}})
    await api.put("/v1/var/late", {"Items": {"a": "b"}})
    # The key of then is gone from the record: it comes back with the snapshot.
    await store.acall(
        lambda: put(store, lambda change: change.delete(ROOT_KEYS, "first"), ROOT_KEYS.deleted)
    )
    assert (await api.get("/v1/var/app")).status == 400
    assert (await api.put(SNAPSHOT, snapshot)).status == 200
    assert (await api.get("/v1/var/app")).json["Items"] == {"password": "before"}
    assert (await api.get("/v1/var/late")).status == 404
    assert [each["Path"] for each in (await api.get("/v1/vars")).json] == ["app"]
    written = await api.put("/v1/var/app", {"Items": {"password": "next"}})
    assert (written.status, written.json["Items"]) == (200, {"password": "next"})


async def test_a_read_that_waits_is_answered_when_the_record_is_replaced(api, store, snapshot):
    await register(store, "late")
    waiting = asyncio.create_task(api.get(f"/v1/job/web?index={await index_of(store)}&wait=60s"))
    while not _the_waiters()._waiters:
        await asyncio.sleep(0.01)
    await api.put(SNAPSHOT, snapshot)
    async with asyncio.timeout(PATIENCE_S):
        assert (await waiting).json["ID"] == "web"


def newer(_body):
    contents = archive.Contents(
        format=archive.FORMAT, version="9.9.9", created=1, index=7, database="sqlite",
        migrations={"cluster": ["9999_from_the_future"]}, rows={},
    )  # fmt: skip
    written = io.BytesIO()
    archive.write_archive(written, contents, io.BytesIO(), term=1)
    return written.getvalue()


def of_nomad(_body):
    """An archive as the reference writes it, of which we know nothing."""
    written, meta = io.BytesIO(), msgspec.json.encode({"Version": 1, "ID": "2-7", "Index": 7})
    members = {"meta.json": meta, "state.bin": b"raft"}
    sums = [f"{hashlib.sha256(body).hexdigest()}  {name}" for name, body in members.items()]
    members["SHA256SUMS"] = "\n".join([*sums, ""]).encode()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return written.getvalue()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut_short, "the snapshot is no whole backup: "),
        (turned, "the snapshot is damaged: the checksum of state.bin is another one"),
        (foreign, "the snapshot is no backup: it holds 'holiday.jpg'"),
        (newer, "the snapshot was written by Bivouac 9.9.9, which is newer than this one: it"),
        (of_nomad, "the snapshot is no backup of Bivouac: "),
        (lambda _: b"text", "the snapshot is no whole backup: "),
        (lambda _: b"", "the snapshot is no whole backup: "),
    ],
)
async def test_what_cannot_be_put_back_is_refused_with_its_reason(
    api, store, snapshot, spoil, said
):
    before = await index_of(store)
    answer = await api.put(SNAPSHOT, spoil(snapshot))
    assert answer.status == 500
    assert answer.text.startswith(f"failed to restore from snapshot: {said}")
    assert tempfile.gettempdir() not in answer.text
    assert await index_of(store) == before
    assert [act.result for act in await acts_of(store)] == ["refused"]


async def test_one_snapshot_at_a_time(api, store, snapshot):
    before = await index_of(store)
    with snapshots._restoring:
        answer = await api.put(SNAPSHOT, snapshot)
    assert (answer.status, answer.text) == (409, "another snapshot is being restored")
    assert await index_of(store) == before
    assert (await api.delete(SNAPSHOT)).status == 405
