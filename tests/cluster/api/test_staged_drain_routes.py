"""Staged drains through the API: begun, looked at, followed, canceled, refused by name."""

import pytest

from cluster.store.audit import AuditFilter, read_audit
from scheduler.state.found_rows import put_found
from tests.builders import SOME_MOMENT, make_node

NODES = [make_node(number, name=f"n{number}") for number in (1, 2, 3)]
IDS = [node.id for node in NODES]


@pytest.fixture
def nodes(store):
    """Three nodes with nothing on them."""

    def work(change):
        for node in NODES:
            put_found(change, node)

    store.write("NodeRegistration", work, now=SOME_MOMENT)


async def draining(store):
    nodes = await store.aread(lambda reader: list(reader.nodes()))
    return [node.name for node in nodes if node.drain_strategy is not None]


async def test_one_begins_with_its_first_nodes_and_tells_who_waits(api, store, nodes):
    asked = await api.put(
        "/v1/drains",
        {
            "NodeIDs": IDS,
            "AtOnce": 2,
            "DrainSpec": {"Deadline": "1h", "IgnoreSystemJobs": True},
            "Meta": {"message": "kernel"},
        },
    )
    assert asked.status == 200
    drain_id = asked.json["ID"]
    assert await draining(store) == ["n1", "n2"]
    told = (await api.get(f"/v1/drain/{drain_id}")).json
    assert {key: told[key] for key in ("Status", "AtOnce", "Begun", "Draining", "Waiting")} == {
        "Status": "running",
        "AtOnce": 2,
        "Begun": 2,
        "Draining": IDS[:2],
        "Waiting": IDS[2:],
    }
    assert (told["Deadline"], told["IgnoreSystemJobs"]) == (3600 * 10**9, True)
    assert (await api.get("/v1/drains")).json == [told]


async def test_canceled_nothing_drains_and_twice_is_a_conflict(api, store, nodes):
    drain_id = (await api.put("/v1/drains", {"NodeIDs": IDS, "AtOnce": 1})).json["ID"]
    assert (await api.delete(f"/v1/drain/{drain_id}?mark_eligible=true")).status == 200
    assert await draining(store) == []
    assert (await api.get(f"/v1/drain/{drain_id}")).json["Status"] == "canceled"
    again = await api.delete(f"/v1/drain/{drain_id}")
    assert (again.status, "canceled already" in again.text) == (409, True)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "NodeIDs: names no node; AtOnce: must be from 1 to 1000"),
        ({"NodeIDs": ["x"], "AtOnce": 1}, "NodeIDs[0]: there is no node x"),
        ({"NodeIDs": IDS, "AtOnce": -1}, "AtOnce: must be"),
        ({"NodeIDs": "all", "AtOnce": 1}, "NodeIDs"),
        ({"NodeIDs": IDS, "AtOnce": "many"}, "AtOnce"),
        ({"NodeIDs": IDS, "AtOnce": 1, "DrainSpec": {"Deadline": "soon"}}, "soon"),
    ],
)
async def test_rubbish_is_refused_by_name_and_nothing_drains(api, store, nodes, body, words):
    refused = await api.put("/v1/drains", body)
    assert (refused.status, words in refused.text) == (400, True), refused.text
    assert await draining(store) == []


async def test_one_that_is_not_there(api, nodes):
    assert (await api.get("/v1/drain/none")).status == 404
    assert (await api.delete("/v1/drain/none")).status == 404


async def test_the_audit_says_what_was_done(api, store, nodes):
    drain_id = (await api.put("/v1/drains", {"NodeIDs": IDS, "AtOnce": 2})).json["ID"]
    await api.delete(f"/v1/drain/{drain_id}")
    page = await store.aread_call(read_audit, AuditFilter(), limit=100)
    told = [(each.act, each.target_id, each.reason) for each in page.rows]
    assert ("drain nodes in stages", drain_id, "3 nodes, 2 at a time") in told
    assert ("cancel staged drain", drain_id, "3 nodes, 2 at a time") in told
