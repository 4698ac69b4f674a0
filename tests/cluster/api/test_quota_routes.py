"""The routes of quotas: limits, their use, and every refusal."""

import pytest

from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_job
from tests.cluster.api.clients import put

LIMITS = {"CPU": 1000, "MemoryMB": 0, "DiskMB": 500, "Allocations": 3}
NONE = {"CPU": 0, "Cores": 0, "MemoryMB": 0, "MemoryMaxMB": 0, "DiskMB": 0, "Allocations": 0}
UNCOUNTED = {
    "IOPS": 0, "SecretsMB": 0, "Devices": None, "Networks": None, "NUMA": None,
    "Storage": {"VariablesMB": 0, "HostVolumesMB": 0},
}  # fmt: skip


async def test_a_quota_is_written_read_listed_and_deleted(api):
    written = await api.put(
        "/v1/quota/small", {"Name": "small", "Description": "x", "Limits": {"CPU": 1000}}
    )
    read = await api.get("/v1/quota/small?form=plain")
    listed = await api.get("/v1/quotas?form=plain")
    removed = await api.delete("/v1/quota/small")

    index = int(written.headers["X-Nomad-Index"])
    assert (written.status, written.content) == (200, b"")
    assert read.json == {
        "Name": "small",
        "Description": "x",
        "Limits": NONE | {"CPU": 1000},
        "CreateIndex": index,
        "ModifyIndex": index,
    }
    assert listed.json == [read.json]
    assert removed.status == 200
    assert (await api.get("/v1/quota/small")).status == 404
    assert (await api.get("/v1/quotas")).json == []


async def test_a_quota_in_the_shape_of_the_reference(api):
    """As its client sends it, and as it reads it back."""
    limit = {"CPU": 2500, "MemoryMB": 1000, "MemoryMaxMB": 2000, "Cores": -1}
    sent = {
        "Name": "shared",
        "Description": "all",
        "Limits": [{"Region": "global", "RegionLimit": limit | UNCOUNTED, "VariablesLimit": None}],
    }
    written = await api.put("/v1/quota", sent)
    read = (await api.get("/v1/quota/shared")).json

    index = int(written.headers["X-Nomad-Index"])
    assert (written.status, written.content) == (200, b"")
    (told,) = read["Limits"]
    assert read == {
        "Name": "shared",
        "Description": "all",
        "Limits": [
            {
                "Region": "global",
                "RegionLimit": NONE | limit | UNCOUNTED,
                "VariablesLimit": 0,
                "Hash": told["Hash"],
            }
        ],
        "Hash": read["Hash"],
        "CreateIndex": index,
        "ModifyIndex": index,
    }
    assert (await api.get("/v1/quotas?prefix=sh")).json == [read]
    assert (await api.get("/v1/quota/shared?form=plain")).json["Limits"] == NONE | limit

    again = await api.put("/v1/quota/shared", read)
    assert again.status == 200
    assert (await api.get("/v1/quota/shared")).json["Hash"] == read["Hash"]
    await api.put("/v1/quota", {"Name": "shared", "Limits": []})
    emptied = (await api.get("/v1/quota/shared")).json
    assert emptied["Limits"] == []
    assert emptied["Hash"] != read["Hash"]


ALLOC = make_allocation(make_job(namespace="team"), client_status=ClientStatus.RUNNING)


EVERYTHING = (
    'Invalid quota "a": 9 errors occurred:\n'
    '\t* limit of region "mars": this cluster is region "global"\n'
    "\t* limit of SecretsMB is not counted here\n\t* limit of IOPS is not counted here\n"
    "\t* limit of Devices is not counted here\n"
    "\t* limit of Networks is not counted here\n"
    "\t* limit of NUMA is not counted here\n"
    "\t* limit of Storage.VariablesMB is not counted here\n"
    "\t* limit of Storage.HostVolumesMB is not counted here\n"
    "\t* limit of VariablesLimit is not counted here\n\n"
)


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
    used = NONE | {
        "CPU": task.cpu.cpu_shares,
        "MemoryMB": task.memory.memory_mb,
        "MemoryMaxMB": task.memory.memory_mb,
        "DiskMB": ALLOC.allocated_resources.shared.disk_mb,
        "Allocations": 1,
    }
    assert (await api.get("/v1/quota/usage/small?form=plain")).json == {
        "Name": "small",
        "Used": used,
        "Namespaces": ["team"],
    }
    quota = (await api.get("/v1/quota/small")).json
    key = quota["Limits"][0]["Hash"]
    usage = (await api.get("/v1/quota/usage/small")).json
    assert usage == {
        "Name": "small",
        "Used": {
            key: {
                "Region": "global",
                "RegionLimit": used | UNCOUNTED,
                "VariablesLimit": 0,
                "Hash": key,
            }
        },
        "Namespaces": ["team"],
        "CreateIndex": quota["CreateIndex"],
        "ModifyIndex": quota["ModifyIndex"],
    }
    await api.put("/v1/quota", {"Name": "unused"})
    every = (await api.get("/v1/quota-usages")).json
    assert [row["Name"] for row in every] == ["small", "unused"]
    assert every[0] == usage
    assert (await api.get("/v1/quota-usages?prefix=un&form=plain")).json == [
        {"Name": "unused", "Used": NONE, "Namespaces": None}
    ]
    assert (await api.get("/v1/namespace/team")).json["Quota"] == "small"


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("get", "quota/none", None, "quota not found"),
        ("get", "quota/usage/none", None, "quota not found"),
        ("delete", "quota/none", None, "quota not found"),
        ("delete", "quota/used", None, 'quota "used" is used by namespaces: team'),
        ("put", "quota/a", {"Name": "b"}, "Quota name does not match request path"),
        ("put", "quota", {}, 'Invalid quota "": 1 error occurred:\n\t* invalid name ""'),
        ("put", "quota", {"Name": "a", "Limits": {"CPU": 2**63}}, "cannot unmarshal number"),
        ("put", "quota", {"Name": "a", "Limits": "x"}, "cannot unmarshal string"),
        ("put", "quota", {"Name": "a", "Limits": ["x"]}, "cannot unmarshal string"),
        (
            "put", "quota", {"Name": "a", "Limits": [{}, {}]},
            'Invalid quota "a": 1 error occurred:\n\t* 2 limits where there is one region\n\n',
        ),
        (
            "put", "quota",
            {
                "Name": "a",
                "Limits": [
                    {
                        "Region": "mars",
                        "VariablesLimit": -1,
                        "RegionLimit": {
                            "SecretsMB": 1, "IOPS": 2, "Devices": [{"Name": "gpu"}], "NUMA": {},
                            "Networks": [{"MBits": 1}],
                            "Storage": {"VariablesMB": 1, "HostVolumesMB": 2},
                        },
                    }
                ],
            },
            EVERYTHING,
        ),
        ("put", "namespace", {"Name": "x", "Quota": "none"}, 'non-existent quota "none"'),
    ],
)  # fmt: skip
async def test_refusals_say_what_is_wrong(api, method, path, body, text):
    await api.put("/v1/quota/used", {"Name": "used"})
    await api.put("/v1/namespace", {"Name": "team", "Quota": "used"})
    arguments = [] if body is None else [body]
    answer = await getattr(api, method)(f"/v1/{path}", *arguments)
    assert 400 <= answer.status < 500
    assert text in answer.content.decode()
