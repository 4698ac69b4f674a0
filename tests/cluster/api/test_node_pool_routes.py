"""The routes that write node pools: what they keep, how they tell it, and every refusal."""

import pytest

NO_NAME = (
    'invalid node pool "": 1 error occurred:\n\t* invalid name "", must match regex'
    " ^[a-zA-Z0-9-_]{1,128}$\n\n"
)
OF_A_FLAG = (
    "json: cannot unmarshal string into Go struct field"
    " NodePool.MemoryOversubscriptionEnabled of type bool"
)
DAY = 86_400_000_000_000


async def test_a_pool_is_written_read_listed_and_deleted(api):
    own = {"SchedulerAlgorithm": "spread", "MemoryOversubscriptionEnabled": True}
    written = await api.put(
        "/v1/node/pools",
        {
            "Name": "gpu",
            "Description": "cards",
            "Meta": {"a": "b"},
            "SchedulerConfiguration": own,
            "NodeIdentityTTL": "1h",
        },
    )
    index = int(written.headers["X-Nomad-Index"])
    read = await api.get("/v1/node/pool/gpu")
    listed = await api.get("/v1/node/pools?prefix=g")

    assert (written.status, written.content) == (200, b"")
    assert read.json == {
        "Name": "gpu",
        "Description": "cards",
        "Meta": {"a": "b"},
        "SchedulerConfiguration": own,
        "NodeIdentityTTL": 3_600_000_000_000,
        "Hash": read.json["Hash"],
        "CreateIndex": index,
        "ModifyIndex": index,
    }
    assert read.json["Hash"]
    assert listed.json == [read.json]

    changed = await api.put("/v1/node/pool/gpu", {"Name": "gpu"})
    again = (await api.get("/v1/node/pool/gpu")).json
    assert (again["Meta"], again["SchedulerConfiguration"], again["NodeIdentityTTL"]) == (
        None, None, DAY,
    )  # fmt: skip
    assert (again["CreateIndex"], again["ModifyIndex"]) == (
        index, int(changed.headers["X-Nomad-Index"]),
    )  # fmt: skip
    assert again["Hash"] != read.json["Hash"]

    removed = await api.delete("/v1/node/pool/gpu")
    assert (removed.status, removed.content) == (200, b"")
    assert (await api.get("/v1/node/pool/gpu")).status == 404


async def test_built_in_pools_are_as_they_always_were(api):
    assert [
        (pool["Name"], pool["Hash"], pool["Meta"], pool["NodeIdentityTTL"])
        for pool in (await api.get("/v1/node/pools")).json
    ] == [("all", None, None, DAY), ("default", None, None, DAY)]


@pytest.mark.parametrize("said", [False, None])
async def test_oversubscription_is_on_off_or_left_to_the_cluster(api, said):
    own = {"SchedulerAlgorithm": "", "MemoryOversubscriptionEnabled": said}
    await api.put("/v1/node/pool/gpu", {"Name": "gpu", "SchedulerConfiguration": own})
    assert (await api.get("/v1/node/pool/gpu")).json["SchedulerConfiguration"] == own


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0, DAY), ("", DAY), ("-1h", -3_600_000_000_000), ("1s", 1_000_000_000), (7, 7)],
)
async def test_the_life_of_identities_is_text_or_nanoseconds_of_any_size(api, given, kept):
    await api.put("/v1/node/pool/gpu", {"Name": "gpu", "NodeIdentityTTL": given})
    assert (await api.get("/v1/node/pool/gpu")).json["NodeIdentityTTL"] == kept


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("PUT", "node/pools", b"", "Request body is empty"),
        ("PUT", "node/pools", {}, NO_NAME),
        ("PUT", "node/pool/gpu", {}, "Node pool name does not match request path"),
        ("PUT", "node/pool/gpu", {"Name": "cpu"}, "Node pool name does not match request path"),
        ("PUT", "node/pools", {"Name": "all"}, 'modifying node pool "all" is not allowed'),
        (
            "PUT", "node/pool/default", {"Name": "default"},
            'modifying node pool "default" is not allowed',
        ),
        (
            "PUT", "node/pools", {"Name": "gpu", "NodeIdentityTTL": "1x"},
            'time: unknown unit "x" in duration "1x"',
        ),
        (
            "PUT", "node/pools",
            {"Name": "gpu", "SchedulerConfiguration": {"SchedulerAlgorithm": "x"}},
            'invalid node pool "gpu": 1 error occurred:\n\t* invalid scheduler algorithm "x"\n\n',
        ),
        (
            "PUT", "node/pools", {"Name": "gpu", "Meta": {"a": 1}},
            "json: cannot unmarshal number into Go struct field NodePool.Meta of type string",
        ),
        (
            "PUT", "node/pools",
            {"Name": "gpu", "SchedulerConfiguration": {"MemoryOversubscriptionEnabled": "yes"}},
            OF_A_FLAG,
        ),
        ("DELETE", "node/pool/nope", None, "node pool nope not found"),
        ("DELETE", "node/pool/all", None, 'deleting node pool "all" is not allowed'),
    ],
)  # fmt: skip
async def test_refusals_say_what_is_wrong(api, method, path, body, text):
    answer = await api.send(method, f"/v1/{path}", body)
    assert (answer.status, answer.text) == (400, text)
    assert [pool["Name"] for pool in (await api.get("/v1/node/pools")).json] == ["all", "default"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "node/pools"), ("PATCH", "node/pools"), ("PATCH", "node/pool/gpu")],
)
async def test_other_methods_are_refused(api, method, path):
    assert (await api.send(method, f"/v1/{path}")).status == 405


async def test_a_pool_with_a_job_in_it_stays(api):
    await api.put("/v1/node/pools", {"Name": "gpu"})
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Tasks": [task]}
    job = {"ID": "web", "Type": "batch", "NodePool": "gpu", "TaskGroups": [group]}
    assert (await api.put("/v1/jobs", {"Job": job})).status == 200

    refused = await api.delete("/v1/node/pool/gpu")

    assert (refused.status, refused.text) == (
        400,
        '1 error occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n\n',
    )


async def test_who_may_look_may_not_write(api, tenant):
    await api.put("/v1/node/pools", {"Name": "gpu"})
    for method in ("PUT", "DELETE"):
        answer = await tenant.send(method, "/v1/node/pool/gpu", {"Name": "gpu"})
        assert (answer.status, answer.text) == (403, "Permission denied")
    assert (await tenant.get("/v1/node/pool/gpu")).status == 200
