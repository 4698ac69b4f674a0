"""The past hour of an allocation, a machine and a job, with scripted agents at their channels."""

import asyncio

import msgspec
import pytest

from cluster.operations import nodes_of_work
from cluster.operations.agent_calls import LINKS
from cluster.operations.usage_rows import AllocationRows, Columns, NodeRows, SumRows, Sums
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_job, make_node
from tests.cluster.api.clients import put

NODES = [make_node(number) for number in (1, 2, 3)]
ALLOCS = [f"bbbbbbbb-0000-0000-0000-00000000000{number}" for number in (1, 2, 3, 4)]
ROWS = Columns(
    at=(10, 20), cpu_ticks=(None, 5.0), memory_bytes=(1, 2), throttled_percent=(None, 1.5)
)


class Agent:
    """Tells the rows it was given; without any it stays silent."""

    def __init__(self, told=None):
        self.told = told
        self.asked = []

    async def call(self, node_id, verb, body, given=None):
        self.asked.append((verb, body))
        if self.told is None:
            await asyncio.sleep(60)
        yield msgspec.json.encode(self.told)


@pytest.fixture
def placed(store, api):
    def fill(change):
        job = write_job(change, make_job())
        for node in NODES:
            change.put_node(node)
        for number, alloc_id in enumerate(ALLOCS):
            node_id = NODES[min(number, 2)].id
            alloc = make_allocation(
                job, number, id=alloc_id, node_id=node_id, job_create_index=job.create_index
            )
            change.put_allocation(alloc)
            if number < 3:
                change.put_allocation(alloc.changed(client_status=ClientStatus.RUNNING))

    put(store, fill)
    return api


@pytest.fixture
def connect():
    links = []

    def at(node, told=None):
        agent = Agent(told)
        LINKS.add((node.id,), agent)
        links.append(agent)
        return agent

    yield at
    for agent in links:
        LINKS.remove(agent)


async def test_rows_of_an_allocation_are_its_agents(placed, connect):
    connect(NODES[0], AllocationRows(alloc_id=ALLOCS[0], since=5, now=25, tasks={"web": ROWS}))
    told = (await placed.get(f"/v1/client/allocation/{ALLOCS[0]}/usage")).json
    assert told["Tasks"]["web"] == {
        "At": [10, 20], "CPUTicks": [None, 5.0], "MemoryBytes": [1, 2],
        "ThrottledPercent": [None, 1.5],
    }  # fmt: skip
    assert (told["Since"], told["Now"], told["StepSeconds"]) == (5, 25, 10)


async def test_rows_of_a_machine_are_its_agents(placed, connect):
    connect(NODES[0], NodeRows(since=5, now=25, machine=ROWS))
    told = (await placed.get("/v1/client/usage", node_id=NODES[0].id)).json
    assert told["Machine"]["CPUTicks"] == [None, 5.0]
    unknown = "ffffffff-0000-0000-0000-000000000000"
    assert (await placed.get("/v1/client/usage", node_id=unknown)).status == 404
    assert (await placed.get("/v1/client/usage", node_id="none")).status == 400
    assert (await placed.get("/v1/client/usage", node_id=NODES[1].id)).status == 404


async def test_a_job_is_the_sum_of_what_runs_and_says_who_did_not_answer(
    placed, connect, monkeypatch
):
    monkeypatch.setattr(nodes_of_work, "PATIENCE_S", 0.2)
    sums = Sums(at=(10, 20), cpu_ticks=(1.0, 2.0), memory_bytes=(3, 4), counted=(1, 1))
    first = connect(NODES[0], SumRows(since=5, now=25, sums=sums))
    connect(NODES[1], SumRows())
    connect(NODES[2])
    told = (await placed.get("/v1/job/web/usage")).json
    assert first.asked == [("allocs.usage", {"AllocIDs": [ALLOCS[0]]})]
    assert told["Sums"]["CPUTicks"] == [1.0, 2.0]
    assert (told["Running"], told["Asked"], told["Unmeasured"], told["Away"]) == (3, 3, 1, 1)
    assert told["AwayNodes"] == [NODES[2].id]


async def test_a_job_that_is_not_there_has_no_rows(placed):
    assert (await placed.get("/v1/job/none/usage")).status == 404
