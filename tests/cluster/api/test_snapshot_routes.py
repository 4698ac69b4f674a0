"""The record as a snapshot through the API: saved by managers, put back where nothing runs."""

import base64
import hashlib

from cluster.store.backup.archive import read_contents


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


async def test_a_running_cluster_takes_no_snapshot_and_says_what_to_do(api, store):
    before = await index_of(store)
    answer = await api.put("/v1/operator/snapshot", b"anything")
    assert answer.status == 501
    assert "manage.py restore FILE --replace" in answer.text
    assert await index_of(store) == before
    assert (await api.delete("/v1/operator/snapshot")).status == 405
