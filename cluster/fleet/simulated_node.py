"""One simulated machine: a real agent's client and host, with pretended tasks and no disk."""

import asyncio
import contextlib
from collections.abc import Callable

from msgspec.structs import replace

from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.answers import Answers
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.log_answers import NO_LOG
from cluster.agent.means import Means
from cluster.agent.node_metadata import NodeMetadata
from cluster.agent.server_link import ServerLink
from cluster.agent.task_launch import TaskLauncher
from cluster.fleet.blueprint import Member
from scheduler.structs.node import Node


class SimulatedNode:
    """Can lose its connection and find it again; its tasks notice nothing."""

    def __init__(self, member: Member, server: str, join_token: str, means: Means) -> None:
        self._node = member.node
        self.secret = member.secret
        self.drivers = {name: MockDriver(means.clock.now, name) for name in self._node.drivers}
        launcher = TaskLauncher(lambda: self.node, {}, means.ids)
        storage = NoStorage()
        surroundings = Surroundings(chance=means.chance, is_simulated=True)
        self.host = AllocHost(launcher, self.drivers, storage, means.clock, surroundings)
        self.link = ServerLink(server, self._node.id, self.secret, now=means.clock.now)
        self._client = NodeClient(
            self.link,
            self.host,
            lambda: self.node,
            means,
            ClientSettings(join_token=join_token, dev=True, server=server),
        )
        self.metadata = NodeMetadata(self._node.meta, storage, self._client.node_changed)
        self.answers = Answers(self.host, storage, means.clock, self.metadata, more=NO_LOG)
        self._work: asyncio.Task[None] | None = None

    @property
    def node(self) -> Node:
        """As its blueprint has it, with what was said of it since."""
        return replace(self._node, meta=self.metadata.meta)

    @property
    def is_ready(self) -> bool:
        """The server counts it as ready, as far as this node knows."""
        return self.is_connected and self._client.is_ready.is_set()

    @property
    def is_connected(self) -> bool:
        """It speaks to the server."""
        return self._work is not None

    def tell_contacts(self, told: Callable[[], None]) -> None:
        """Have `told` called at each sign that the server can be reached."""
        self._client.contacted = told

    async def until_ready(self) -> None:
        """Return once the server counts it as ready."""
        await self._client.is_ready.wait()

    def connect(self) -> None:
        """Speak to the server, from registering on."""
        self._work = asyncio.get_running_loop().create_task(self._client.run())

    async def disconnect(self) -> None:
        """Fall silent; the tasks run on."""
        work, self._work = self._work, None
        if work is not None:
            self._client.is_ready.clear()
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def close(self) -> None:
        """Switch the machine off."""
        await self.disconnect()
        await self.host.close()
        await self.link.close()
