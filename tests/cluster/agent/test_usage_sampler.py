"""What real tasks use, as a node tells it: now, and over the past hour."""

import asyncio
import json

import msgspec
import pytest

from cluster.agent.agent_state import NoStorage
from cluster.agent.answers import Answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.drivers.driver import CgroupReading, TaskReading
from cluster.agent.node_metadata import NodeMetadata
from cluster.agent.statistics import allocation_statistics
from cluster.agent.task_usage import throttled_share, usage_between
from cluster.agent.usage_answers import UsageAnswers
from cluster.agent.usage_sampler import UsageSampler
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import CLOCK, Node, make_work
from tests.cluster.api.shape_match import differences
from tests.vector_files import VECTORS

SHAPES = json.loads((VECTORS / "cli" / "shapes.json").read_text("utf-8"))
CORE_MHZ = 2000.0
#: Burns the processor in children that it waits for, so that no process lives for long.
BUSY = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done & wait; done"


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path)
    await node.start()
    node.sampler = UsageSampler(node.host, CLOCK, CORE_MHZ)
    yield node
    await node.end()


def answers_of(node):
    return Answers(
        node.host,
        node.storage,
        CLOCK,
        NodeMetadata({}, node.storage, lambda: None),
        None,
        UsageAnswers(node.sampler, node.storage.alloc_dir),
    )


async def ask(answers, verb, **body):
    return msgspec.json.decode(b"".join([part async for part in answers.answer(verb, body)]))


async def running(node, script):
    alloc, job = make_work({"command": "sh", "args": ["-c", script]}, driver="raw_exec")
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    return alloc


async def test_children_that_ended_count_for_their_task(node):
    alloc = await running(node, BUSY)
    shares = []

    async def is_busy():
        node.sampler._looked_at = float("-inf")
        await node.sampler.look()
        shares.append(node.sampler.tasks[alloc.id, "web"].usage.cpu.percent)
        return shares[-1]

    for _ in range(100):
        # Four processors for eight test runs may give it little, but not nothing.
        if await is_busy() > 20:
            break
        await asyncio.sleep(0.2)
    else:
        raise AssertionError(f"a task that never rests used {shares} percent")
    told = await ask(answers_of(node), "alloc.stats", AllocID=alloc.id)
    assert differences(SHAPES["GET /v1/client/allocation/{id}/stats"]["Response"], told) == []
    used = told["ResourceUsage"]
    assert used["CpuStats"]["TotalTicks"] == pytest.approx(
        used["CpuStats"]["Percent"] / 100 * CORE_MHZ
    )
    assert used["MemoryStats"]["RSS"] > 100_000
    assert told["Tasks"]["web"]["Pids"]


async def test_rows_of_the_past_hour_are_told_and_added_up(node):
    alloc = await running(node, "exec sleep 600")
    other = await running(node, "exec sleep 600")
    await node.sampler.row()
    answers = answers_of(node)
    told = await ask(answers, "alloc.usage", AllocID=alloc.id)
    assert len(told["Tasks"]["web"]["At"]) == 1
    assert told["Tasks"]["web"]["CPUTicks"][0] >= 0
    assert told["Since"] == node.sampler.since
    both = await ask(answers, "allocs.usage", AllocIDs=[alloc.id, other.id, "none"])
    assert both["Sums"]["Counted"] == [2]
    assert both["Sums"]["MemoryBytes"][0] > told["Tasks"]["web"]["MemoryBytes"][0]
    assert both["Each"] == {}
    each = await ask(answers, "allocs.usage", AllocIDs=[alloc.id, "none"], EachOver=600)
    assert each["Each"] == {
        alloc.id: {
            "CPUTicks": told["Tasks"]["web"]["CPUTicks"][0],
            "MemoryBytes": told["Tasks"]["web"]["MemoryBytes"][0],
        }
    }
    machine = await ask(answers, "host.usage")
    assert machine["Machine"]["MemoryBytes"][0] > 0
    assert machine["Machine"]["CPUTicks"] == [None]


async def test_a_task_that_ended_keeps_its_last_numbers_but_not_in_the_sum(node):
    alloc = await running(node, "exec sleep 600")
    await node.sampler.look()
    stop = alloc.changed(desired_status=DesiredStatus.STOP)
    node.host.update(stop, node.host.entries[alloc.id].runner.job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    node.sampler._looked_at = float("-inf")
    told = await ask(answers_of(node), "alloc.stats", AllocID=alloc.id)
    assert told["Tasks"]["web"]["ResourceUsage"]["MemoryStats"]["RSS"] > 0
    assert told["ResourceUsage"]["MemoryStats"]["RSS"] == 0
    node.host.remove(alloc.id)
    await until(lambda: alloc.id not in node.host.entries)
    await node.sampler.row()
    assert node.sampler.tasks == {}


async def test_a_machine_tells_of_its_cores_and_its_disks(node):
    told = await ask(answers_of(node), "host.stats")
    assert differences(SHAPES["GET /v1/client/stats"]["Response"], told) == []
    assert told["AllocDirStats"]["Size"] > 0
    assert (told["AllocDirStats"]["Mountpoint"], told["DeviceStats"]) == ("", None)
    assert told["DiskStats"][0]["Mountpoint"] == "/"
    assert told["CPUTicksConsumed"] == pytest.approx(sum(c["TotalTicks"] for c in told["CPU"]))


async def test_a_pretended_task_is_not_measured(node):
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    told = await ask(answers_of(node), "alloc.stats", AllocID=alloc.id)
    assert (told["Tasks"], told["Timestamp"]) == ({}, 0)
    assert told["ResourceUsage"]["MemoryStats"]["Measured"] is None


async def test_a_simulated_node_tells_nothing_of_the_machine_it_is_on(node):
    alloc, job = make_work()
    node.host.add(alloc, job)
    storage = NoStorage()
    answers = Answers(node.host, storage, CLOCK, NodeMetadata({}, storage, lambda: None))
    for verb in ("host.facts", "host.stats", "host.usage"):
        with pytest.raises(AnswerRefused, match="this node is simulated"):
            await ask(answers, verb)
    assert (await ask(answers, "alloc.stats", AllocID=alloc.id))["Tasks"] == {}
    assert (await ask(answers, "alloc.usage", AllocID=alloc.id))["Since"] == 0
    assert (await ask(answers, "allocs.usage", AllocIDs=[alloc.id]))["Sums"]["At"] == []


def test_throttling_is_the_share_of_periods_between_two_looks():
    first = TaskReading(cgroup=CgroupReading(periods=100, throttled_periods=10))
    later = TaskReading(cgroup=CgroupReading(periods=300, throttled_periods=60))
    assert throttled_share(first, later) == 25.0
    assert throttled_share(later, later) == 0.0
    assert throttled_share(TaskReading(), later) is None
    assert throttled_share(first, TaskReading(cgroup=CgroupReading())) is None


def test_what_a_group_measures_is_named():
    group = CgroupReading(user_s=3.0, system_s=1.0, usage=500, rss=300, cache=200, max_usage=700)
    usage = usage_between(
        TaskReading(cgroup=CgroupReading(user_s=1.0)), TaskReading(cgroup=group), seconds=2.0, at=5
    )
    told = allocation_statistics({"web": usage}, running=["web"], core_mhz=1000.0)
    memory, cpu = told["ResourceUsage"]["MemoryStats"], told["ResourceUsage"]["CpuStats"]
    assert (memory["Usage"], memory["RSS"], memory["Cache"], memory["MaxUsage"]) == (
        500,
        300,
        200,
        700,
    )
    assert {"Cache", "Usage", "Max Usage"} <= set(memory["Measured"])
    assert (cpu["Percent"], cpu["TotalTicks"]) == (150.0, 1500.0)
    assert {"Throttled Periods", "Throttled Time"} <= set(cpu["Measured"])


async def test_a_node_tells_of_its_machine_without_the_secrets_of_its_agent(node, monkeypatch):
    monkeypatch.setenv("BIVOUAC_JOIN_TOKEN", "hush")
    told = await ask(answers_of(node), "host.facts")
    assert told["OS"].startswith("Linux")
    assert told["Environment"]["BIVOUAC_JOIN_TOKEN"] == "<redacted>"
