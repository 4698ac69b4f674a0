"""What passes between a node and its server: asked again after a cut, reported as it comes.

A network that is cut for a while tells nobody.
"""

import asyncio

from cluster.agent import client as node_client
from cluster.agent import outbox
from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.means import Means
from cluster.agent.protocol import BeatAnswer, Pulled, Registered, Reported
from cluster.agent.server_link import CallFailed
from cluster.agent.task_launch import TaskLauncher
from cluster.runtime.clock import RandomIDs, SystemClock
from tests.builders import make_node
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import make_work

TTL = 50_000_000


class Line:
    """A line whose long request never gets its answer, and which is cut for some beats."""

    def __init__(self):
        self.pulls, self.reports, self.asking = [], [], []
        self.status = "ready"
        self.beats = self.cut_beats = 0

    async def register(self, _message, _join_token):
        return Registered(heartbeat_ttl=TTL)

    async def beat(self, used=None):
        self.beats += 1
        if self.cut_beats:
            self.cut_beats -= 1
            raise CallFailed("no route to host")
        return BeatAnswer(heartbeat_ttl=TTL, status=self.status)

    async def report(self, message):
        self.reports.append(len(message.allocations))
        self.asking.append(message.asks_ready)
        return Reported(index=8)

    async def pull(self, index, _wait, *, known):
        self.pulls.append(index)
        if index:
            await asyncio.Event().wait()
        return Pulled(index=7)


def client_of(line):
    node, clock = make_node(), SystemClock()
    means = Means(clock, RandomIDs(), lambda: 0.0)
    drivers = {"mock_driver": MockDriver(clock.now)}
    launcher = TaskLauncher(lambda: node, drivers, means.ids)
    host = AllocHost(launcher, drivers, NoStorage(), clock, Surroundings(is_simulated=True))
    return NodeClient(line, host, lambda: node, means, ClientSettings(dev=True))


async def test_a_question_from_before_a_cut_is_asked_again_after_it():
    line = Line()
    client = client_of(line)
    running = asyncio.create_task(client.run())
    try:
        await until(lambda: line.pulls == [0, 7], "a long question")
        before = line.beats
        await until(lambda: line.beats >= before + 3, "beats that are answered")
        assert line.pulls == [0, 7]
        line.cut_beats = 1
        await until(lambda: line.pulls == [0, 7, 7], "the same question")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_what_begins_alone_is_reported_at_once_and_together_while_more_comes(monkeypatch):
    monkeypatch.setattr(node_client, "REPORT_TICK_S", 0.1)
    # So many ticks are never waited for here: what is reported is reported for the quiet.
    monkeypatch.setattr(node_client, "_LOW_PRIORITY_EVERY", 10_000)
    line = Line()
    client = client_of(line)
    running = asyncio.create_task(client.run())
    try:
        await until(lambda: line.pulls == [0, 7], "the first pull")
        client.host.add(*make_work({"run_for": "1h"}))
        await until(lambda: line.reports == [1], "the report of what began alone")
        for _ in range(10):
            client.host.add(*make_work({"run_for": "1h"}))
            await asyncio.sleep(0.02)
        await until(lambda: sum(line.reports) >= 11, "the reports of the others")
        assert len(line.reports) <= 4
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.host.close()


async def test_a_node_that_is_waited_for_asks_to_be_ready_by_the_last_of_its_reports(monkeypatch):
    monkeypatch.setattr(node_client, "REPORT_TICK_S", 0.05)
    monkeypatch.setattr(node_client, "MAX_BATCH", 2)
    monkeypatch.setattr(outbox, "MAX_BATCH", 2)
    line = Line()
    line.status = "initializing"
    client = client_of(line)
    running = asyncio.create_task(client.run())
    try:
        await until(lambda: line.beats and line.pulls == [0, 7], "a beat and a pull")
        for _ in range(3):
            client.host.add(*make_work({"run_for": "1h"}))
        await until(lambda: sum(line.reports) >= 3, "the reports")
        full = [asks for count, asks in zip(line.reports, line.asking, strict=True) if count == 2]
        assert (full[0], line.asking[-1]) == (False, True)
        line.status = "ready"
        before = line.beats
        await until(lambda: line.beats > before, "a beat that says it is ready")
        client.host.add(*make_work({"run_for": "1h"}))
        await until(lambda: sum(line.reports) >= 4, "another report")
        assert line.asking[-1] is False
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.host.close()
