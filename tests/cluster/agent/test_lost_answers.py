"""A network that is cut for a while tells nobody: what was asked before is asked again."""

import asyncio

from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.means import Means
from cluster.agent.protocol import BeatAnswer, Pulled, Registered
from cluster.agent.server_link import CallFailed
from cluster.agent.task_launch import TaskLauncher
from cluster.runtime.clock import RandomIDs, SystemClock
from tests.builders import make_node
from tests.cluster.agent.deadline import until

TTL = 50_000_000


class Line:
    """A line whose long request never gets its answer, and which is cut for some beats."""

    def __init__(self):
        self.pulls = []
        self.beats = self.cut_beats = 0

    async def register(self, _message, _join_token):
        return Registered(heartbeat_ttl=TTL)

    async def beat(self):
        self.beats += 1
        if self.cut_beats:
            self.cut_beats -= 1
            raise CallFailed("no route to host")
        return BeatAnswer(heartbeat_ttl=TTL, status="ready")

    async def pull(self, index, _wait, *, known):
        self.pulls.append(index)
        if index:
            await asyncio.Event().wait()
        return Pulled(index=7)


async def test_a_question_from_before_a_cut_is_asked_again_after_it():
    node, line, clock = make_node(), Line(), SystemClock()
    means = Means(clock, RandomIDs(), lambda: 0.0)
    launcher = TaskLauncher(lambda: node, {}, means.ids)
    host = AllocHost(launcher, {}, NoStorage(), clock, Surroundings())
    client = NodeClient(line, host, lambda: node, means, ClientSettings(dev=True))
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
