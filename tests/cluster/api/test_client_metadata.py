"""The routes of a node's metadata, carried to an agent that answers for real."""

import asyncio

import pytest

from cluster.agent.agent_state import NoStorage
from cluster.agent.answers import Answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.node_metadata import NodeMetadata
from cluster.operations.agent_calls import LINKS, AgentRefused
from tests.builders import make_node
from tests.cluster.api.clients import put

NODE = make_node(1).id
GONE = make_node(2).id
STATIC = {"rack": "r1"}


class Wire:
    """A channel without a socket: an agent's answers as they are."""

    def __init__(self, answers):
        self.answers = answers

    async def call(self, _node_id, verb, body, _given=None):
        try:
            async for piece in self.answers.answer(verb, body):
                yield piece
        except AnswerRefused as refused:
            raise AgentRefused(refused.status, str(refused)) from refused


@pytest.fixture
def changed():
    return asyncio.Event()


@pytest.fixture
def client(api, store, changed):
    """The manager, where one node holds a channel."""
    put(store, lambda change: change.put_node(make_node(1)))
    metadata = NodeMetadata(STATIC, NoStorage(), changed.set)
    link = Wire(Answers(None, NoStorage(), None, metadata))
    LINKS.add((NODE,), link)
    yield api
    LINKS.remove(link)


async def test_metadata_is_set_taken_away_and_read(client, changed):
    before = await client.get("/v1/client/metadata", node_id=NODE)
    written = await client.send(
        "POST", "/v1/client/metadata", {"NodeID": NODE, "Meta": {"rack": None, "a.b-c": "1"}}
    )
    after = await client.get("/v1/client/metadata", node_id=NODE)

    assert before.json == {"Dynamic": {}, "Meta": STATIC, "Static": STATIC}
    assert written.json == after.json == {
        "Dynamic": {"a.b-c": "1", "rack": None}, "Meta": {"a.b-c": "1"}, "Static": STATIC,
    }  # fmt: skip
    assert changed.is_set()


async def test_the_node_may_be_named_in_the_address(client):
    written = await client.send("POST", "/v1/client/metadata", {"Meta": {"a": "b"}}, node_id=NODE)
    assert written.json["Dynamic"] == {"a": "b"}


HEAD = "json: cannot unmarshal number into Go struct field NodeMetaApplyRequest.Meta of type"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Request body is empty"),
        ({"NodeID": NODE}, "missing required Meta object"),
        ({"NodeID": NODE, "Meta": {}}, "missing required Meta object"),
        ({"NodeID": NODE, "Meta": 1}, f"{HEAD} map[string]*string"),
        ({"NodeID": NODE, "Meta": {"a": 1}}, f"{HEAD} string"),
        *(
            (
                {"NodeID": NODE, "Meta": {"good": "x", key: "y"}},
                f'"{key}" is invalid; metadata keys must be valid dotted hcl identifiers',
            )
            for key in ("a b", "", "1a", "a..b", ".a", "a.", "a/b", "a" * 513)
        ),
        ({"Meta": {"a": "b"}}, "No local Node and node_id not provided"),
        ({"NodeID": GONE, "Meta": {"a": "b"}}, f"Unknown node {GONE}"),
        (
            {"NodeID": NODE, "Meta": {"a": "x" * 70_000}},
            "metadata is limited to 64KiB in total size",
        ),
    ],
)
async def test_refusals_say_what_is_wrong_and_change_nothing(client, changed, body, text):
    answer = await client.send("POST", "/v1/client/metadata", body)
    assert (answer.status, answer.text) == (400, text)
    assert not changed.is_set()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "No local Node and node_id not provided"),
        ({"node_id": GONE}, f"Unknown node {GONE}"),
        ({"node_id": "x"}, "node lookup failed: index error: UUID must be 36 characters"),
    ],
)
async def test_only_nodes_that_are_there_are_read(client, query, text):
    answer = await client.get("/v1/client/metadata", **query)
    assert (answer.status, answer.text) == (400, text)


@pytest.fixture
def silent(store):
    """The id of a node that holds no channel."""
    put(store, lambda change: change.put_node(make_node(3)))
    return make_node(3).id


async def test_a_node_without_a_channel_cannot_be_asked(api, silent):
    answer = await api.get("/v1/client/metadata", node_id=silent)
    assert (answer.status, answer.text) == (404, "No path to node")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_refused(client, method):
    answer = await client.send(method, "/v1/client/metadata", {"NodeID": NODE, "Meta": {"a": "b"}})
    assert answer.status == 405


async def test_who_may_look_at_nodes_changes_none(client, tenant, changed):
    assert (await tenant.get("/v1/client/metadata", node_id=NODE)).status == 200
    body = {"NodeID": NODE, "Meta": {"a": "b"}}
    answer = await tenant.send("POST", "/v1/client/metadata", body)
    assert (answer.status, answer.text) == (403, "Permission denied")
    assert not changed.is_set()
