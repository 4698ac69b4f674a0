"""Ten minutes without a web process: real agents and the leader's watcher, on virtual time."""

import asyncio
from collections import Counter

import numpy as np
import pytest

from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.heartbeats import MAX_BEATS_PER_S, heartbeat_ttl
from cluster.agent.means import Means
from cluster.agent.protocol import BeatAnswer, Pulled, Register, Registered
from cluster.agent.server_link import CallFailed
from cluster.agent.task_launch import TaskLauncher
from scheduler.commands import MarkNodeUnresponsive
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node
from scheduler.watchers.heartbeats import Heartbeats
from tests.builders import SOME_MOMENT, CountingIDs, make_node
from tests.conformance.chain_agents import LoopClock, VirtualLoop

pytestmark = pytest.mark.simulation

NODES = 500
AWAY_S = 600
AFTER_S = 60
#: Seconds over which a rate is taken: chance puts some more into a single one.
SPAN_S = 3


class Server:
    """The doors of a cluster, which close and open, and its leader, which never sleeps."""

    def __init__(self, loop: VirtualLoop, nodes: list[Node]) -> None:
        self.clock = LoopClock(loop)
        self.chance = np.random.default_rng(7)
        self.store = MemoryStateStore()
        self.store.write(
            WriteKind.NODE_REGISTRATION,
            lambda change: [put_found(change, node) for node in nodes],
            now=SOME_MOMENT,
        )
        self.watcher = Heartbeats()
        self.watcher.restore(self.store, Moment(SOME_MOMENT, self.clock.monotonic()))
        self.beats: dict[str, tuple[int, int]] = {}
        self.signs = 0
        self.closing = asyncio.Event()
        self.reported: list[str] = []
        #: Calls that were answered, by whole second.
        self.answered: Counter[int] = Counter()

    async def lead(self) -> None:
        while True:
            self.signs += not self.closing.is_set()
            moment = self.clock.monotonic()
            self.watcher.hear(self.beats, {"web": self.signs}, monotonic=moment)
            for command in self.watcher.tick(self.store, Moment(SOME_MOMENT, moment)):
                assert isinstance(command, MarkNodeUnresponsive)
                self.reported.append(command.node_id)
            await asyncio.sleep(1)

    async def be_away(self, seconds: float) -> None:
        self.closing.set()
        await asyncio.sleep(seconds)
        self.closing = asyncio.Event()
        self.answered.clear()

    def heard(self, node_id: str) -> int:
        if self.closing.is_set():
            raise CallFailed("connection refused")
        self.answered[int(self.clock.monotonic())] += 1
        ttl = heartbeat_ttl(NODES, min_ttl_s=10.0, chance=self.chance.random())
        self.beats[node_id] = (self.clock.now(), ttl)
        return ttl


class Line:
    """One node's line to the server."""

    def __init__(self, server: Server, node_id: str) -> None:
        self.server = server
        self.node_id = node_id
        self.is_cut = False

    async def register(self, _message: Register, _join_token: str) -> Registered:
        return Registered(heartbeat_ttl=self._call(), num_nodes=NODES)

    async def beat(self, used: tuple[int, int] | None = None) -> BeatAnswer:
        return BeatAnswer(heartbeat_ttl=self._call(), status="ready", num_nodes=NODES)

    async def pull(self, index: int, _wait: float, *, known: int) -> Pulled:
        closing = self.server.closing
        if index and not closing.is_set():
            await closing.wait()
        if closing.is_set():
            raise CallFailed("connection lost")
        return Pulled(index=1)

    def _call(self) -> int:
        if self.is_cut:
            raise CallFailed("no route to host")
        return self.server.heard(self.node_id)


def client_of(node: Node, server: Server, line: Line) -> NodeClient:
    means = Means(server.clock, CountingIDs(), server.chance.random)
    host = AllocHost(
        TaskLauncher(lambda: node, {}, means.ids), {}, NoStorage(), means.clock, Surroundings()
    )
    return NodeClient(line, host, lambda: node, means, ClientSettings())


async def ten_minutes_away(loop: VirtualLoop) -> Server:
    nodes = [make_node(number) for number in range(1, NODES + 1)]
    server = Server(loop, nodes)
    lines = [Line(server, node.id) for node in nodes]
    clients = [client_of(node, server, line) for node, line in zip(nodes, lines, strict=True)]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(server.lead())]
        for client in clients:
            running.append(tasks.create_task(client.run()))
            await asyncio.sleep(0.01)
        await asyncio.sleep(40)
        lines[0].is_cut = True
        await server.be_away(AWAY_S)
        await asyncio.sleep(AFTER_S)
        for task in running:
            task.cancel()
    return server


def test_all_nodes_come_back_at_their_pace_and_only_the_dead_one_is_reported() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        server = runner.run(ten_minutes_away(runner.get_loop()))
    assert set(server.reported) == {make_node(1).id}
    first = min(server.answered)
    rates = [
        sum(server.answered[second + place] for place in range(SPAN_S)) / SPAN_S
        for second in range(first, first + AFTER_S - SPAN_S)
    ]
    assert max(rates) <= MAX_BEATS_PER_S
