"""The routes of quotas: limits, their use, and every refusal."""

import pytest

from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_job
from tests.cluster.api.clients import put

LIMITS = {"CPU": 1000, "MemoryMB": 0, "DiskMB": 500, "Allocations": 3}


async def test_a_quota_is_written_read_listed_and_deleted(api):
    written = await api.put(
        "/v1/quota/small", {"Name": "small", "Description": "x", "Limits": {"CPU": 1000}}
    )
    read = await api.get("/v1/quota/small")
    listed = await api.get("/v1/quotas")
    removed = await api.delete("/v1/quota/small")

    index = int(written.headers["X-Nomad-Index"])
    assert (written.status, written.content) == (200, b"")
    assert read.json == {
        "Name": "small",
        "Description": "x",
        "Limits": {"CPU": 1000, "MemoryMB": 0, "DiskMB": 0, "Allocations": 0},
        "CreateIndex": index,
        "ModifyIndex": index,
    }
    assert listed.json == [read.json]
    assert removed.status == 200
    assert (await api.get("/v1/quota/small")).status == 404
    assert (await api.get("/v1/quotas")).json == []


ALLOC = make_allocation(make_job(namespace="team"), client_status=ClientStatus.RUNNING)


@pytest.fixture
def holding(store, api):
    """An allocation runs in namespace `team`."""
    put(store, lambda change: put_found(change, ALLOC))
    return api


async def test_the_use_of_a_quota_is_that_of_its_namespaces(holding):
    api = holding
    await api.put("/v1/quota/small", {"Name": "small", "Limits": LIMITS})
    await api.put("/v1/namespace", {"Name": "team", "Quota": "small"})
    task = ALLOC.allocated_resources.tasks["web"]
    assert (await api.get("/v1/quota/usage/small")).json == {
        "Name": "small",
        "Used": {
            "CPU": task.cpu.cpu_shares,
            "MemoryMB": task.memory.memory_mb,
            "DiskMB": ALLOC.allocated_resources.shared.disk_mb,
            "Allocations": 1,
        },
        "Namespaces": ["team"],
    }
    assert (await api.get("/v1/namespace/team")).json["Quota"] == "small"


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("get", "quota/none", None, "quota not found"),
        ("get", "quota/usage/none", None, "quota not found"),
        ("delete", "quota/none", None, "quota not found"),
        ("delete", "quota/used", None, 'quota "used" is used by namespaces: team'),
        ("put", "quota/a", {"Name": "b"}, "Quota name does not match request path"),
        ("put", "quota/a", {"Name": "a", "Limits": {"CPU": -1}}, "limit of CPU is negative"),
        ("put", "namespace", {"Name": "x", "Quota": "none"}, 'non-existent quota "none"'),
    ],
)
async def test_refusals_say_what_is_wrong(api, method, path, body, text):
    await api.put("/v1/quota/used", {"Name": "used"})
    await api.put("/v1/namespace", {"Name": "team", "Quota": "used"})
    arguments = [] if body is None else [body]
    answer = await getattr(api, method)(f"/v1/{path}", *arguments)
    assert 400 <= answer.status < 500
    assert text in answer.content.decode()
