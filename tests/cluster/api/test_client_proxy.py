"""Routes that a node's agent answers, with a scripted agent at the end of the channel."""

import msgspec
import pytest

from cluster.agent.answers import NOT_COLLECTABLE
from cluster.operations.agent_calls import LINKS, AgentRefused
from cluster.store.audit import AuditFilter, read_audit
from scheduler.state.writes.jobs import write_job
from tests.builders import make_allocation, make_job, make_node
from tests.cluster.api.clients import put

NODE = make_node(1).id
ALLOC = "bbbbbbbb-0000-0000-0000-000000000001"


class ScriptedAgent:
    """Answers every verb with the same frames, or refuses; remembers what it was asked."""

    def __init__(self, *frames, refusal=None):
        self.frames = frames
        self.refusal = refusal
        self.asked = []
        self.is_closed = False

    async def call(self, node_id, verb, body, given=None):
        self.asked.append((node_id, verb, body))
        try:
            if self.refusal is not None:
                raise self.refusal
            for frame in self.frames:
                yield frame
        finally:
            self.is_closed = True


@pytest.fixture
def placed(store, api):
    def fill(change):
        job = write_job(change, make_job())
        change.put_node(make_node(1))
        change.put_allocation(make_allocation(job, id=ALLOC, job_create_index=job.create_index))

    put(store, fill)
    return api


@pytest.fixture
def agent_with():
    links = []

    def connect(*frames, refusal=None):
        agent = ScriptedAgent(*frames, refusal=refusal)
        LINKS.add((NODE,), agent)
        links.append(agent)
        return agent

    yield connect
    for agent in links:
        LINKS.remove(agent)


async def streamed(answer):
    return b"".join([piece async for piece in answer.streaming_content])


@pytest.fixture
def beside_an_agent(settings, tmp_path):
    """`up` started an agent beside this server, and it has run once."""
    settings.BIVOUAC_LOCAL_AGENT_DIR = str(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "client-id").write_text(f"{NODE}\n")


async def test_who_names_no_node_means_the_one_beside_the_server(
    placed, agent_with, beside_an_agent
):
    agent = agent_with(b'{"CPU":[]}')
    assert (await placed.get("/v1/client/stats")).json == {"CPU": []}
    assert [(node, verb) for node, verb, _ in agent.asked] == [(NODE, "host.stats")]
    assert (await placed.get("/v1/agent/self")).json["stats"]["client"] == {"node_id": NODE}


async def test_before_that_agent_has_started_there_is_no_such_node(placed, settings, tmp_path):
    settings.BIVOUAC_LOCAL_AGENT_DIR = str(tmp_path)
    assert (await placed.get("/v1/client/stats")).status == 400
    assert "client" not in (await placed.get("/v1/agent/self")).json["stats"]


async def test_logs_are_passed_on_as_they_come(placed, agent_with):
    agent = agent_with(b'{"Data":"aGk="}', b"{}")

    answer = await placed.get(
        f"/v1/client/fs/logs/{ALLOC}", task="web", type="stdout", follow="true", offset="5"
    )

    assert answer.headers["Content-Type"] == "application/json"
    assert await streamed(answer) == b'{"Data":"aGk="}{}'
    assert agent.is_closed
    assert agent.asked == [
        (
            NODE,
            "logs",
            {
                "AllocID": ALLOC,
                "Task": "web",
                "Type": "stdout",
                "Follow": True,
                "Plain": False,
                "Origin": "start",
                "Offset": 5,
            },
        )
    ]


async def test_plain_logs_and_files_are_text(placed, agent_with):
    agent_with(b"hello\n")

    logs = await placed.get(f"/v1/client/fs/logs/{ALLOC}", task="web", type="stderr", plain="true")
    file = await placed.get(f"/v1/client/fs/cat/{ALLOC}", path="alloc/x")

    assert await streamed(logs) == await streamed(file) == b"hello\n"
    assert logs.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert file.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_an_empty_log_is_an_empty_answer(placed, agent_with):
    agent_with()

    answer = await placed.get(f"/v1/client/fs/logs/{ALLOC}", task="web", type="stdout")

    assert (answer.status_code, await streamed(answer)) == (200, b"")


async def test_a_refusal_before_the_first_byte_keeps_its_status(placed, agent_with):
    text = 'task "web" not started yet. No logs available'
    agent_with(refusal=AgentRefused(404, text))

    answer = await placed.get(f"/v1/client/fs/logs/{ALLOC}", task="web", type="stdout")

    assert (answer.status, answer.text) == (404, text)


async def test_directories_and_statistics_are_json(placed, agent_with):
    agent_with(b'[{"Name":"alloc"}]')

    assert (await placed.get(f"/v1/client/fs/ls/{ALLOC}")).json == [{"Name": "alloc"}]
    assert (await placed.get(f"/v1/client/allocation/{ALLOC}/stats")).json == [{"Name": "alloc"}]
    assert (await placed.get("/v1/client/stats", node_id=NODE)).json == [{"Name": "alloc"}]


@pytest.mark.parametrize(
    ("verb", "body", "asked"),
    [
        ("restart", {"TaskName": "web"}, {"TaskName": "web", "AllTasks": False}),
        ("restart", {"AllTasks": True}, {"TaskName": "", "AllTasks": True}),
        ("restart", None, {"TaskName": "", "AllTasks": False}),
        ("signal", {"Task": "web", "Signal": "SIGHUP"}, {"Task": "web", "Signal": "SIGHUP"}),
    ],
)
async def test_verbs_reach_the_agent(placed, agent_with, verb, body, asked):
    agent = agent_with(b"{}")

    answer = await placed.put(f"/v1/client/allocation/{ALLOC}/{verb}", body)

    assert answer.json == {"Index": 0}
    assert agent.asked == [(NODE, verb, {"AllocID": ALLOC} | asked)]


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
async def test_an_allocation_or_all_of_a_node_are_collected_by_the_agent(
    placed, store, agent_with, method
):
    agent = agent_with(b"{}")

    one = await placed.send(method, f"/v1/client/allocation/{ALLOC}/gc")
    every = await placed.send(method, "/v1/client/gc", node_id=NODE)

    for answer in (one, every):
        assert (answer.status, answer.content) == (200, b"")
        assert answer.headers["Content-Length"] == "0"
    assert agent.asked == [(NODE, "collect", {"AllocID": ALLOC}), (NODE, "host.collect", {})]

    def told():
        store.audit.flush()
        rows = read_audit(store, AuditFilter(), limit=1000).rows
        return {(row.act, row.target_id) for row in rows}

    assert {("collect allocation", ALLOC), ("collect ended allocations", NODE)} <= (
        await store.acall(told)
    )


async def test_what_cannot_be_collected_is_refused_with_the_agents_words(placed, agent_with):
    agent_with(refusal=AgentRefused(400, NOT_COLLECTABLE))
    answer = await placed.get(f"/v1/client/allocation/{ALLOC}/gc")
    assert (answer.status, answer.text) == (
        400,
        "No such allocation on client, or allocation not eligible for GC",
    )


@pytest.mark.parametrize(
    ("path", "query", "status", "text"),
    [
        (f"/v1/client/allocation/{ALLOC[:-1]}9/gc", {}, 404, "Unknown allocation "),
        ("/v1/client/gc", {}, 400, "No local Node and node_id not provided"),
        (
            "/v1/client/gc",
            {"node_id": "nobody"},
            400,
            "node lookup failed: index error: UUID must be 36 characters",
        ),
        ("/v1/client/gc", {"node_id": NODE}, 404, "No path to node"),
        (f"/v1/client/allocation/{ALLOC}/gc", {}, 404, "No path to node"),
    ],
)
async def test_where_nothing_can_be_collected_it_says_why(placed, path, query, status, text):
    answer = await placed.get(path, **query)
    assert answer.status == status
    assert answer.text.startswith(text)


async def test_one_who_may_only_look_collects_nothing(placed, reader, agent_with):
    agent = agent_with(b"{}")
    for path, query in ((f"allocation/{ALLOC}/gc", {}), ("gc", {"node_id": NODE})):
        answer = await reader.get(f"/v1/client/{path}", **query)
        assert (answer.status, answer.text) == (403, "Permission denied")
    assert agent.asked == []


async def test_one_who_may_only_look_restarts_nothing(placed, reader, agent_with):
    agent = agent_with(b"{}")

    answer = await reader.put(f"/v1/client/allocation/{ALLOC}/restart")

    assert (answer.status, answer.text) == (403, "Permission denied")
    assert agent.asked == []


async def test_facts_of_a_machine_are_the_servers_own_or_an_agents(
    placed, agent_with, monkeypatch
):
    monkeypatch.setenv("BIVOUAC_JOIN_TOKEN", "hush")
    own = (await placed.get("/v1/agent/host")).json
    assert own["Environment"]["BIVOUAC_JOIN_TOKEN"] == "<redacted>"
    assert own["OS"].startswith("Linux ")
    leader = (await placed.get("/v1/agent/host", server_id="leader")).json
    # Disks fill meanwhile.
    assert leader == {"AgentID": "bivouac.global", "HostData": own | {"Disk": _disks_of(leader)}}
    facts = own | {"OS": "Linux other"}
    agent = agent_with(msgspec.json.encode(facts))
    told = (await placed.get("/v1/agent/host", node_id=NODE)).json
    assert told == {"AgentID": NODE, "HostData": facts}
    assert agent.asked == [(NODE, "host.facts", {})]


def _disks_of(told):
    return told["HostData"]["Disk"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"server_id": "nope"}, 400, "unknown Nomad server nope"),
        (
            {"server_id": "leader", "node_id": NODE}, 400,
            "Cannot target node and server simultaneously",
        ),
        ({"node_id": NODE}, 404, "No path to node"),
        ({"node_id": NODE[:-1] + "f"}, 404, f"Unknown node {NODE[:-1]}f"),
    ],
)  # fmt: skip
async def test_a_machine_that_cannot_be_asked_is_named(placed, query, status, words):
    refused = await placed.get("/v1/agent/host", **query)
    assert (refused.status, refused.text.strip()) == (status, words)
