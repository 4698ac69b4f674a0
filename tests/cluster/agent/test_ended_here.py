"""Allocations that the server still lists when their end is told and their files are gone."""

import asyncio
import contextlib

import pytest
from msgspec.structs import replace

from cluster.agent import client as node_client
from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.means import Means
from cluster.agent.protocol import BeatAnswer, Fetched, Pulled, Registered, Reported
from cluster.agent.task_launch import TaskLauncher
from cluster.runtime.clock import RandomIDs, SystemClock
from scheduler.structs.allocation import ClientStatus
from tests.builders import make_allocation, make_job, make_node
from tests.cluster.agent.deadline import until


class Line:
    """A server that lists these allocations in every answer, one answer for each cue."""

    def __init__(self, *allocs, job):
        self.allocs = {alloc.id: alloc for alloc in allocs}
        self.job = job
        self.fetched, self.reports, self.pulls = [], [], 0
        self.cue = asyncio.Event()
        self.beat_index = 0

    async def register(self, _message, _join_token):
        return Registered(heartbeat_ttl=50_000_000)

    async def beat(self, used=None):
        return BeatAnswer(heartbeat_ttl=50_000_000, status="ready", index=self.beat_index)

    async def report(self, message):
        self.reports += message.allocations
        for told in message.allocations:
            self.allocs[told.id] = self.allocs[told.id].changed(client_status=told.client_status)
        return Reported(index=8)

    async def pull(self, index, _wait, *, known):
        if index:
            await self.cue.wait()
            self.cue.clear()
        self.pulls += 1
        listed = {key: alloc.alloc_modify_index for key, alloc in self.allocs.items()}
        return Pulled(index=7, allocations=listed)

    async def fetch(self, ids):
        self.fetched += ids
        return Fetched(
            index=7, allocations=tuple(self.allocs[each] for each in ids), jobs=(self.job,)
        )

    async def pull_again(self):
        before = self.pulls
        self.cue.set()
        await until(lambda: self.pulls > before, "another answer")
        await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def served(line):
    node, clock = make_node(), SystemClock()
    means = Means(clock, RandomIDs(), lambda: 0.0)
    drivers = {"mock_driver": MockDriver(clock.now)}
    launcher = TaskLauncher(lambda: node, drivers, means.ids)
    host = AllocHost(launcher, drivers, NoStorage(), clock, Surroundings(is_simulated=True))
    client = NodeClient(line, host, lambda: node, means, ClientSettings(dev=True))
    work = asyncio.create_task(client.run())
    try:
        yield host
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await host.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(node_client, "REPORT_TICK_S", 0.01)


def work():
    job = make_job()
    (group,) = job.task_groups
    task = replace(group.tasks[0], driver="mock_driver", config={"run_for": "1h"})
    return replace(job, task_groups=(replace(group, tasks=(task,)),))


async def test_one_that_has_ended_is_not_ended_again_by_an_agent_that_does_not_know_it():
    job = work()
    line = Line(make_allocation(job, client_status=ClientStatus.COMPLETE), job=job)
    async with served(line) as host:
        await until(lambda: line.fetched, "the question for it")
        await line.pull_again()
        assert (len(line.fetched), host.entries, line.reports) == (1, {}, [])


async def test_one_whose_files_made_room_does_not_come_back_while_it_is_listed():
    job = work()
    alloc = make_allocation(job)
    line = Line(alloc, job=job)
    async with served(line) as host:
        await until(lambda: line.allocs[alloc.id].client_status == "running", "its start")
        runner = host.entries[alloc.id].runner
        host.update(alloc.changed(desired_status="stop"), job)
        await until(lambda: line.allocs[alloc.id].client_status == "complete", "its end")
        assert runner.is_terminal
        await host.destroy_now(alloc.id)
        told = len(line.reports)
        await line.pull_again()
        assert (len(line.fetched), host.entries, len(line.reports)) == (1, {}, told)
        line.allocs.clear()
        await line.pull_again()
        assert host.gone == set()


async def test_a_server_that_lost_sight_of_the_node_is_asked_for_all_of_them_again():
    """An older record was put in its place, say: there the allocation has not ended."""
    job = work()
    alloc = make_allocation(job, client_status=ClientStatus.COMPLETE)
    line = Line(alloc, job=job)
    async with served(line) as host:
        await until(lambda: host.gone, "its end")
        line.allocs[alloc.id] = alloc.changed(client_status=ClientStatus.PENDING)
        line.beat_index = 9
        await until(lambda: not host.gone, "another beat")
        await line.pull_again()
        await until(lambda: alloc.id in host.entries, "the allocation")
