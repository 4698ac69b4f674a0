"""Services through the API: found by name and choice, gone with what they are services of."""

import hashlib

import pytest

from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.nodes import purge_node, update_status
from cluster.operations.services import ServiceReport, report_services
from scheduler.access.caller import AGENTS, CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.state.service_noun import SERVICES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeStatus
from scheduler.structs.service_registration import ServiceRegistration
from tests.builders import CountingIDs, make_allocation, make_job, make_node
from tests.cluster.api.clients import NOW, first_lines, put

ALLOCS = tuple(f"bbbbbbbb-0000-0000-0000-00000000000{number}" for number in range(1, 4))
IDS = tuple(f"_nomad-task-{alloc}-group-web-front-http" for alloc in ALLOCS)
NODE = make_node(1)


@pytest.fixture
def world(store):
    """Three allocations of a job on one node."""

    def fill(change):
        job = write_job(change, make_job())
        put_found(change, NODE)
        put_found(change, make_node(2))
        for alloc_id in ALLOCS:
            alloc = make_allocation(
                job, id=alloc_id, node_id=NODE.id, client_status=ClientStatus.RUNNING
            )
            put_found(change, alloc)
        change.put(NAMESPACES, Namespace(name="team", create_index=1))

    put(store, fill)
    return store


def told(alloc_id, **fields):
    given = {
        "id": f"_nomad-task-{alloc_id}-group-web-front-http",
        "service_name": "front",
        "alloc_id": alloc_id,
        "tags": ("a", alloc_id[-1]),
        "address": "192.0.2.1",
        "port": 20_000,
    }
    return ServiceRegistration(**(given | fields))


async def report(store, *services, node_id=NODE.id, by=CLUSTER, **fields):
    asked = ServiceReport(node_id=node_id, registered=services, **fields)
    return await store.awrite_call(report_services, asked, by=by, now=NOW)


async def names(api):
    return [each["ID"] for each in (await api.get("/v1/service/front")).json]


async def test_what_an_agent_registers_is_found_with_what_the_record_knows(api, world):
    index = await report(world, told(ALLOCS[0], namespace="lies", node_id="lies", job_id="lies"))
    found = await api.get("/v1/service/front")
    assert found.json == [
        {
            "ID": IDS[0],
            "ServiceName": "front",
            "Namespace": "default",
            "NodeID": NODE.id,
            "Datacenter": NODE.datacenter,
            "JobID": "web",
            "AllocID": ALLOCS[0],
            "Tags": ["a", "1"],
            "Address": "192.0.2.1",
            "Port": 20_000,
            "CreateIndex": index,
            "ModifyIndex": index,
        }
    ]
    assert found.headers["X-Nomad-Index"] == str(index)
    for path in ("job/web/services", f"allocation/{ALLOCS[0]}/services"):
        assert (await api.get(f"/v1/{path}")).json == found.json
    assert (await api.get(f"/v1/allocation/{ALLOCS[1]}/services")).json == []
    assert (await api.get("/v1/services")).json == [
        {"Namespace": "default", "Services": [{"ServiceName": "front", "Tags": ["1", "a"]}]}
    ]
    assert (await api.get("/v1/services", namespace="team")).json == []


async def test_a_service_without_tags_has_an_empty_list_of_them(api, world):
    await report(world, told(ALLOCS[0], tags=()))
    assert [each["Tags"] for each in (await api.get("/v1/service/front")).json] == [[]]


async def test_what_is_told_again_is_no_write_and_what_changed_is_one(world):
    first = await report(world, told(ALLOCS[0]))
    assert await report(world, told(ALLOCS[0])) == first
    second = await report(world, told(ALLOCS[0], tags=("b",)))
    kept = await world.aread(lambda reader: reader.get(SERVICES, IDS[0]))
    assert (kept.create_index, kept.modify_index, kept.tags) == (first, second, ("b",))


async def test_a_node_that_tells_everything_has_no_other_services(api, world):
    await report(world, *map(told, ALLOCS))
    await report(world, told(ALLOCS[1]), is_whole=True)
    assert await names(api) == [IDS[1]]
    await report(world, ended=(IDS[1], "never there"))
    assert await names(api) == []


async def test_a_node_speaks_of_its_own_allocations_alone(world):
    await report(world, told(ALLOCS[0]))
    other = make_node(2).id
    with pytest.raises(NotAllowed, match="that of another node"):
        await report(world, told(ALLOCS[0]), node_id=other)
    with pytest.raises(NotAllowed, match="that of another node"):
        await report(world, node_id=other, ended=(IDS[0],))
    with pytest.raises(NotAllowed):
        await report(world, told(ALLOCS[1]), by=AGENTS, secret="wrong")
    for bad in (
        told(ALLOCS[0], id="x"), told(ALLOCS[0], service_name=""), told(ALLOCS[0], port=70_000),
        told(ALLOCS[0], address="a\0b"), told(ALLOCS[0], tags=("x" * 600,)),
    ):  # fmt: skip
        with pytest.raises(OperationRefused, match="service"):
            await report(world, bad)


def end_of_allocation(change):
    put_found(change, change.allocation(ALLOCS[0]).changed(client_status=ClientStatus.FAILED))


def collection_of_allocation(change):
    change.delete_allocation(ALLOCS[0])


@pytest.mark.parametrize("work", [end_of_allocation, collection_of_allocation])
async def test_a_registration_goes_in_the_write_that_ends_its_allocation(api, world, work):
    await report(world, *map(told, ALLOCS))
    index = await world.acall(lambda: put(world, work))
    assert await names(api) == [*IDS[1:]]
    (frame,) = await world.aframes_since(index - 1, 1)
    gone = [event.key for event in frame.events if event.topic == SERVICES.topic]
    assert gone == [IDS[0]]
    # Its agent may say so once more.
    await report(world, told(ALLOCS[0]))
    assert await names(api) == [*IDS[1:]]


@pytest.mark.parametrize("deed", ["down", "purged"])
async def test_registrations_go_with_their_node(api, world, deed):
    await report(world, *map(told, ALLOCS))
    means = {"by": CLUSTER, "now": NOW, "ids": CountingIDs()}
    if deed == "down":
        await world.awrite_call(update_status, NODE.id, NodeStatus.DOWN, **means)
    else:
        await world.awrite_call(purge_node, NODE.id, **means)
    assert await names(api) == []


async def test_the_choice_is_that_of_the_reference_and_stays_for_a_key(api, world):
    await report(world, *map(told, ALLOCS))
    listed = (await api.get("/v1/service/front")).json

    def rank(service):
        said = [service[name] for name in ("AllocID", "ID", "Namespace", "Address", "ServiceName")]
        text = "".join([*said, *service["Tags"], "me"])
        port = service["Port"].to_bytes(8, "big")
        return hashlib.sha256(port + text.encode()).hexdigest()

    expected = sorted(listed, key=rank)
    for count in range(4):
        chosen = await api.get("/v1/service/front", choose=f"{count}|me")
        assert chosen.json == expected[:count]
    for bad in ("x", "1|", "-1|a", "|a"):
        refused = await api.get("/v1/service/front", choose=bad)
        assert (refused.status, refused.text) == (
            400,
            "failed to choose services: Parameter for choose must be in form '<number>|<key>'",
        )


async def test_one_is_deleted_by_its_id_alone(api, world):
    await report(world, *map(told, ALLOCS))
    assert (await api.delete(f"/v1/service/anything/{IDS[0]}")).status == 200
    again = await api.delete(f"/v1/service/front/{IDS[0]}")
    assert again.text == "service registration not found"
    assert (await api.get(f"/v1/service/front/{IDS[1]}")).status == 405
    assert (await api.delete("/v1/service/front")).status == 405
    assert (await api.get("/v1/service/")).text == "missing service name"
    assert (await api.get("/v1/service/a/b/c")).text == "invalid URI"
    elsewhere = await api.delete(f"/v1/service/front/{IDS[1]}", namespace="team")
    assert elsewhere.status == 400


async def test_readers_of_another_namespace_find_nothing(tenant, world):
    await report(world, *map(told, ALLOCS))
    assert (await tenant.get("/v1/services")).status == 403
    assert (await tenant.get("/v1/service/front")).status == 403
    assert (await tenant.get("/v1/services", namespace="*")).json == []
    assert (await tenant.get("/v1/service/front", namespace="*")).json == []


async def test_the_stream_tells_of_registrations_and_of_their_ends(api, world):
    await report(world, told(ALLOCS[0]))
    await report(world, ended=(IDS[0],))
    lines = await first_lines(await api.get("/v1/event/stream", topic="Service:front"), 3)
    told_events = [line["Events"][0] for line in lines[1:]]
    assert [event["Type"] for event in told_events] == [
        "ServiceRegistration", "ServiceDeregistration",
    ]  # fmt: skip
    assert told_events[0]["FilterKeys"] == ["web", "front"]
    assert told_events[0]["Payload"]["Service"]["Port"] == 20_000
