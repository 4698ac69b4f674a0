"""Refusals in the words of the API, and agents that claim to be others."""

import asyncio
import json

import msgspec
import pytest
from asgiref.testing import ApplicationCommunicator

from cluster.agent.protocol import AllocationReport, Fetch, Hello, Register, Report
from cluster.store.join_tokens import add_join_token
from tests.builders import make_node
from tests.cluster.api.clients import document, make_token
from tests.security.world import NODE_SECRET, rows

JOIN = "join-token-of-the-tests"
OTHER = "secret-of-node-2"


@pytest.fixture
def programs(site, store):
    secret = make_token(store, "root")
    return lambda **options: site(headers={"X-Nomad-Token": secret}, **options)


@pytest.fixture
def join_token(store):
    add_join_token(JOIN, name="tests", now=1)
    return JOIN


def agent(site, node, secret, join=""):
    return site(
        headers={
            "X-Bivouac-Node": node.id,
            "X-Bivouac-Join-Token": join,
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
        }
    )


def hello(nodes):
    return msgspec.msgpack.encode(Hello(nodes=nodes))


async def refused(client, method, path, **options):
    known = await asyncio.to_thread(rows)
    response = await client.request(method, path, **options)
    assert await asyncio.to_thread(rows) == known
    return response.status_code, response.text


async def test_a_stale_index_an_unknown_namespace_and_no_token_are_told_apart(
    world, site, programs
):
    job = document()
    async with programs() as client:
        stored = (await client.get("/v1/job/web")).json()["JobModifyIndex"]
        stale = {"Job": job, "EnforceIndex": True, "JobModifyIndex": stored + 5}
        status, text = await refused(client, "PUT", "/v1/jobs", json=stale)
        assert (status, f"Enforcing job modify index {stored + 5}" in text) == (400, True), text
        new = {"Job": job, "EnforceIndex": True, "JobModifyIndex": 0}
        status, text = await refused(client, "PUT", "/v1/jobs", json=new)
        assert (status, "job already exists" in text) == (400, True), text
        nowhere = {"Job": job | {"Namespace": "nowhere"}}
        status, text = await refused(client, "PUT", "/v1/jobs", json=nowhere)
        assert (status, 'nonexistent namespace "nowhere"' in text) == (400, True), text
        assert (await client.get("/v1/jobs?namespace=nowhere")).json() == []
        assert (await client.get("/v1/job/web?namespace=nowhere")).status_code == 404
    async with site() as stranger:
        for method, path in (("GET", "/v1/jobs"), ("PUT", "/v1/jobs"), ("GET", "/v1/nodes")):
            assert await refused(stranger, method, path) == (403, "Permission denied")


@pytest.mark.parametrize(
    "field",
    [{"Meta": {"a": "\ud800"}}, {"Meta": {"\udfff": "x"}}, {"Name": "\ud83d"},
     {"Datacenters": ["\ud800"]}, {"Meta": {"a": "\0"}},
     {"Meta": {"a": "\u202e\ufeff\U0010ffff"}}],
    ids=ascii,
)  # fmt: skip
async def test_odd_characters_are_stored_or_refused_and_never_a_fault(field, store, programs):
    body = json.dumps({"Job": document(**field)})
    async with programs() as client:
        response = await client.put("/v1/jobs", content=body)
        assert response.status_code in (200, 400), response.text
        if response.status_code == 200:
            assert (await client.get("/v1/job/web")).status_code == 200
            assert (await client.get("/v1/jobs?meta=true")).status_code == 200


async def test_a_node_cannot_be_taken_over_with_another_secret(world, site, join_token):
    taken = Register(node=world.node)
    async with agent(site, world.node, OTHER, join_token) as client:
        status, text = await refused(
            client, "POST", "/v1/fleet/register", content=msgspec.json.encode(taken)
        )
    assert (status, "secret ID does not match" in text) == (403, True)


async def test_a_node_speaks_for_itself_only(world, site, store, join_token):
    other = make_node(2)
    alloc = world.allocations["default"].id
    report = Report(allocations=(AllocationReport(id=alloc, client_status="failed"),))
    async with agent(site, other, OTHER, join_token) as client:
        for_itself = msgspec.json.encode(Register(node=other))
        assert (await client.post("/v1/fleet/register", content=for_itself)).status_code == 200
        for_another = msgspec.json.encode(Register(node=world.node))
        assert (await refused(client, "POST", "/v1/fleet/register", content=for_another))[0] == 403
        told = await client.post("/v1/fleet/report", content=msgspec.json.encode(report))
        fetched = await client.post(
            "/v1/fleet/allocations/fetch", content=msgspec.json.encode(Fetch(ids=(alloc,)))
        )
        pulled = await client.get("/v1/fleet/allocations")
    assert told.status_code in (200, 400, 403)
    assert fetched.json()["Allocations"] == []
    assert pulled.json()["Allocations"] == {}
    unmoved = await store.aread(lambda reader: reader.allocation(alloc))
    assert unmoved.client_status == world.allocations["default"].client_status


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(lambda node: hello({node.id: OTHER}), id="secret"),
        pytest.param(lambda node: hello({"x": NODE_SECRET}), id="node"),
        pytest.param(lambda node: hello({}), id="nobody"),
        pytest.param(lambda node: b"\xff\xfe", id="garbage"),
        pytest.param(lambda node: b"\x91" * 200_000, id="deep"),
        pytest.param(lambda node: b"", id="empty"),
    ],
)  # fmt: skip
async def test_nobody_opens_the_channel_of_a_node_without_its_secret(first, world):
    from cluster.asgi import application

    scope = {"type": "websocket", "path": "/v1/fleet/channel", "headers": [], "query_string": b""}
    channel = ApplicationCommunicator(application, scope)
    await channel.send_input({"type": "websocket.connect"})
    assert (await channel.receive_output())["type"] == "websocket.accept"
    await channel.send_input({"type": "websocket.receive", "bytes": first(world.node)})
    closed = await channel.receive_output()
    assert (closed["type"], closed["code"] in (4400, 4403)) == ("websocket.close", True)
    await channel.wait(5)
