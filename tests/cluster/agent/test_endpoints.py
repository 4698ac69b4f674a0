"""The agents' door: joining, beating, pulling, reporting; and everyone who may not."""

import asyncio

import pytest
from django.db import connections

from cluster.agent.heartbeats import heartbeat_ttl
from cluster.agent.protocol import MAX_BODY, AwaitEnds, Beat, EmitEvents, Fetch
from cluster.operations.nodes import hash_secret
from cluster.store.beats import read_beats
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.node import NodeEvent, NodeStatus
from tests.cluster.agent.callers import NOW, AgentCaller, collect, place

SECOND = 1_000_000_000


async def node_of(store, agent):
    return await store.aread(lambda reader: reader.node(agent.node.id))


async def index_of(store):
    return await store.aread(lambda reader: reader.index)


async def test_a_node_joins_with_a_token_and_keeps_its_secret_hashed(store):
    agent = AgentCaller(1)
    answer = await agent.register()
    node = await node_of(store, agent)
    assert (answer.status, answer.json["SchedulingEligibility"]) == (200, "eligible")
    assert 10 * SECOND <= answer.json["HeartbeatTTL"] < 20 * SECOND
    assert (node.status, node.secret_id) == (NodeStatus.INITIALIZING, hash_secret("secret-1"))
    assert [event.message for event in node.events] == ["Node registered"]


async def test_the_first_beat_makes_it_ready_and_the_next_writes_nothing(store):
    agent = AgentCaller(1)
    await agent.register()
    first = await agent.call("POST", "beat", Beat())
    second = await agent.call("POST", "beat", Beat())
    assert (first.json["Status"], first.json["Index"] > 0) == ("ready", True)
    assert (second.json["Status"], second.json["Index"]) == ("ready", 0)


async def test_a_beat_is_answered_once_the_leader_can_read_it(store, agent):
    answer = await agent.call("POST", "beat", Beat())
    beat = (await store.awrite_call(read_beats))[agent.node.id]
    assert 10 * SECOND <= beat.ttl < 20 * SECOND
    assert beat.ttl // 2 <= answer.json["HeartbeatTTL"] <= beat.ttl


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        pytest.param((1500, 256), (1500, 256), id="told"),
        pytest.param((-1, -1), None, id="nothing-measured"),
        pytest.param((2**80, 1), None, id="more-than-a-number-of-the-record"),
    ],
)
async def test_what_its_tasks_use_is_kept_with_the_beat(store, agent, told, kept):
    beat = Beat(used_cpu_mhz=told[0], used_memory_mb=told[1])
    assert (await agent.call("POST", "beat", beat)).status == 200
    used = (await store.aread(lambda reader: reader.node_used())).get(agent.node.id)
    assert (used and used[:2]) == kept


async def test_a_beat_that_cannot_be_written_is_not_answered_as_one(store, agent):
    await store.acall(lambda: rename_table("node_beat", "node_beat_away"))
    refused = await agent.call("POST", "beat", Beat())
    await store.acall(lambda: rename_table("node_beat_away", "node_beat"))
    assert (refused.status, refused.json["Error"]) == (503, "the heartbeat could not be written")


def rename_table(before, after):
    with connections["default"].cursor() as cursor:
        cursor.execute(f"ALTER TABLE {before} RENAME TO {after}")


@pytest.mark.parametrize(
    ("token", "changes", "status"),
    [
        pytest.param("", {}, 403, id="no-join-token"),
        pytest.param("guess", {}, 403, id="wrong-join-token"),
        pytest.param("let-me-in", {"node_pool": "all"}, 400, id="pool-all"),
        pytest.param("let-me-in", {"node_pool": "a b"}, 400, id="pool-with-a-blank"),
        pytest.param("let-me-in", {"name": ""}, 400, id="no-name"),
        pytest.param("let-me-in", {"datacenter": ""}, 400, id="no-datacenter"),
        pytest.param("let-me-in", {"attributes": {}}, 400, id="no-attributes"),
        pytest.param("let-me-in", {"id": "../etc"}, 403, id="another-id"),
    ],
)
async def test_who_may_not_join(store, token, changes, status):
    agent = AgentCaller(1)
    assert (await agent.register(token, **changes)).status == status
    assert await node_of(store, agent) is None


async def test_a_known_node_needs_its_secret_but_no_token(store, agent):
    thief = AgentCaller(1, secret="guess")
    assert (await agent.register("")).status == 200
    refused = await thief.register()
    assert (refused.status, refused.json["Error"]) == (
        403,
        "node secret ID does not match. Not registering node.",
    )


async def test_an_agent_cannot_decide_what_is_the_servers(store, agent):
    forged = {"status": "down", "events": (NodeEvent(message="x"),), "modify_index": 99}
    await agent.register(**forged)
    node = await node_of(store, agent)
    assert (node.status, node.events[0].message) == (NodeStatus.READY, "Node registered")


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        pytest.param("POST", "beat", Beat(), id="beat"),
        pytest.param("GET", "allocations", None, id="pull"),
        pytest.param("POST", "allocations/fetch", Fetch(ids=()), id="fetch"),
        pytest.param("POST", "events", EmitEvents(events=()), id="events"),
    ],
)
async def test_every_call_needs_the_nodes_own_secret(store, agent, other, method, path, message):
    body = b"" if message is None else message
    as_other = await agent.call(method, path, body, node_id=other.node.id)
    unknown = await AgentCaller(3).call(method, path, body)
    assert (as_other.status, as_other.json["Error"]) == (403, "node secret ID does not match")
    assert (unknown.status, unknown.json["Error"]) == (404, "node not found")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"{", 400, id="not-json"),
        pytest.param(b"[]", 400, id="not-an-object"),
        pytest.param(b'{"Allocations": "x"}', 400, id="wrong-type"),
        pytest.param(b'{"Allocations": []}', 400, id="empty"),
        pytest.param(b"x" * (MAX_BODY + 1), 413, id="too-large"),
        pytest.param(
            b'{"Allocations": [{"ID": "a", "ClientStatus": "lost"}]}', 400, id="not-its-to-say"
        ),
        pytest.param(
            b'{"Allocations": [{"ID": "a", "ClientStatus": "x"}]}', 400, id="unknown-status"
        ),
    ],
)
async def test_a_bad_report_is_refused_and_writes_nothing(store, agent, body, status):
    before = await index_of(store)
    assert (await agent.call("POST", "report", body)).status == status
    assert await index_of(store) == before


async def test_a_node_pulls_and_fetches_its_own_allocations(store, agent, other):
    mine = await store.awrite_call(place, agent.node.id)
    foreign = await store.awrite_call(place, other.node.id, 1)
    pulled = await agent.call("GET", "allocations?index=0", b"")
    assert pulled.json["Allocations"] == {mine.id: mine.alloc_modify_index}
    fetched = await agent.call("POST", "allocations/fetch", Fetch(ids=(mine.id, foreign.id)))
    assert [alloc["ID"] for alloc in fetched.json["Allocations"]] == [mine.id]
    assert [job["ID"] for job in fetched.json["Jobs"]] == ["web"]


async def test_a_pull_waits_for_the_next_change_of_its_node(store, agent, other):
    first = await agent.call("GET", "allocations?index=0", b"")
    path = f"allocations?index={first.json['Index']}&wait=20"
    waiting = asyncio.create_task(agent.call("GET", path, b""))
    await store.awrite_call(place, other.node.id, 1)
    mine = await store.awrite_call(place, agent.node.id)
    assert (await waiting).json["Allocations"] == {mine.id: mine.alloc_modify_index}


async def test_a_pull_ends_when_an_allocation_is_collected(store, agent):
    mine = await store.awrite_call(place, agent.node.id)
    path = f"allocations?index={mine.alloc_modify_index}&known=1&wait=20"
    waiting = asyncio.create_task(agent.call("GET", path, b""))
    await store.awrite_call(collect, mine)
    assert (await waiting).json["Allocations"] == {}
    # Collected between two pulls, it is told at once.
    assert (await agent.call("GET", path, b"")).json["Allocations"] == {}


async def test_a_pull_without_news_answers_when_its_time_is_up(store, agent):
    answer = await agent.call("GET", "allocations?index=1&wait=0.05", b"")
    assert (answer.status, answer.json) == (200, {"Index": 1, "Allocations": {}})


async def test_a_fetch_names_what_still_runs_elsewhere(store, agent, other):
    before = await store.awrite_call(place, other.node.id)
    here = await store.awrite_call(place, agent.node.id, 1)
    after = await store.awrite_call(place, agent.node.id, 2, previous_allocation=before.id)
    local = await store.awrite_call(place, agent.node.id, 3, previous_allocation=here.id)
    fetch = Fetch(ids=(after.id, local.id))
    fetched = await agent.call("POST", "allocations/fetch", fetch)
    assert fetched.json["Elsewhere"] == [before.id]
    await other.report(before.id, "complete")
    fetched = await agent.call("POST", "allocations/fetch", fetch)
    assert fetched.json["Elsewhere"] == []


@pytest.mark.parametrize("status", ["complete", "failed"])
async def test_the_end_of_an_allocation_elsewhere_is_told(store, agent, other, status):
    before = await store.awrite_call(place, other.node.id)
    asked = AwaitEnds(ids=(before.id,), wait_s=20)
    waiting = asyncio.create_task(agent.call("POST", "allocations/ended", asked))
    await other.report(before.id, "running")
    await other.report(before.id, status)
    assert (await waiting).json == {"IDs": [before.id]}


async def test_nobody_waits_for_an_allocation_that_is_gone(store, agent):
    asked = AwaitEnds(ids=("gone",), wait_s=20)
    answer = await agent.call("POST", "allocations/ended", asked)
    assert answer.json == {"IDs": ["gone"]}


async def test_waiting_for_another_node_ends_without_news_when_its_time_is_up(store, agent, other):
    before = await store.awrite_call(place, other.node.id)
    asked = AwaitEnds(ids=(before.id,), wait_s=0.05)
    answer = await agent.call("POST", "allocations/ended", asked)
    assert answer.json == {"IDs": []}


async def test_a_report_is_merged_and_does_not_echo(store, agent):
    alloc = await store.awrite_call(place, agent.node.id)
    answer = await agent.report(alloc.id, client_description="Tasks are running")
    after = await store.aread(lambda reader: reader.allocation(alloc.id))
    assert answer.json["Index"] == await index_of(store)
    assert (after.client_status, after.client_description, after.alloc_modify_index) == (
        ClientStatus.RUNNING,
        "Tasks are running",
        alloc.alloc_modify_index,
    )


async def test_a_node_cannot_report_on_anothers_allocation(store, agent, other):
    alloc = await store.awrite_call(place, other.node.id)
    before = await index_of(store)
    assert (await agent.report(alloc.id, "failed")).status == 403
    assert await index_of(store) == before


async def test_a_refused_report_does_not_stop_the_others(store, agent, other):
    alloc = await store.awrite_call(place, agent.node.id)
    answers = await asyncio.gather(agent.report(alloc.id), other.report(alloc.id, "failed"))
    assert [answer.status for answer in answers] == [200, 403]
    after = await store.aread(lambda reader: reader.allocation(alloc.id))
    assert after.client_status is ClientStatus.RUNNING


async def test_a_stop_of_the_server_is_pulled_but_the_agents_own_report_is_not(store, agent):
    alloc = await store.awrite_call(place, agent.node.id)
    await agent.report(alloc.id)
    path = f"allocations?index={alloc.alloc_modify_index}&wait=0.05"
    unchanged = await agent.call("GET", path, b"")
    stopped = await store.awrite_call(place, agent.node.id, desired_status=DesiredStatus.STOP)
    changed = await agent.call("GET", path.replace("0.05", "20"), b"")
    assert unchanged.json["Allocations"] == {alloc.id: alloc.alloc_modify_index}
    assert changed.json["Allocations"] == {alloc.id: stopped.alloc_modify_index}


async def test_events_are_added_to_the_nodes_history(store, agent):
    event = NodeEvent(message="disk is slow", subsystem="Storage", timestamp=NOW)
    assert (await agent.call("POST", "events", EmitEvents(events=(event,)))).status == 200
    assert (await node_of(store, agent)).events[-1].message == "disk is slow"


@pytest.mark.parametrize(
    ("count", "chance", "seconds"),
    [
        pytest.param(1, 0.0, 10.0, id="small-fleet"),
        pytest.param(501, 0.0, 10.02, id="501-nodes"),
        pytest.param(5000, 0.5, 150.0, id="large-fleet"),
    ],
)
def test_how_long_a_node_may_be_silent(count, chance, seconds):
    assert heartbeat_ttl(count, min_ttl_s=10.0, chance=chance) == int(seconds * SECOND)
