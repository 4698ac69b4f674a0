"""Many simulated nodes in one process: joins them, breaks them as told, counts what they do."""

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from cluster.agent.channel_client import ChannelClient
from cluster.agent.means import Means
from cluster.fleet.blueprint import Member
from cluster.fleet.simulated_node import SimulatedNode

#: Seconds between two nodes joining, so that a fleet does not arrive in one moment.
JOIN_PAUSE_S = 0.005
#: Seconds between rolls of the dice.
TURN_S = 0.5
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Faults:
    """What goes wrong by itself. Rates are per hour."""

    #: Failures of each running task.
    task_failures: float = 0.0
    #: Disconnections of each node, and how long they last.
    flaps: float = 0.0
    flap_s: float = 40.0
    seed: int = 1


class Fleet:
    """The machines of one blueprint."""

    def __init__(
        self,
        members: tuple[Member, ...],
        server: str,
        join_token: str,
        means: Means,
        faults: Faults,
    ) -> None:
        self.nodes = [SimulatedNode(member, server, join_token, means) for member in members]
        self.faults = faults
        self.tally: Counter[str] = Counter()
        self._dice = np.random.default_rng(faults.seed)
        self._channel = ChannelClient(
            server,
            lambda: {node.node.id: node.secret for node in self.nodes},
            {node.node.id: node.answers for node in self.nodes},
            means.chance,
        )
        for node in self.nodes:
            node.tell_contacts(self._channel.try_now)
        self._returns: set[asyncio.Task[None]] = set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Join every node, then break some, until told to stop."""
        channel = None
        try:
            for node in self.nodes:
                if stopping.is_set():
                    return
                node.connect()
                await asyncio.sleep(JOIN_PAUSE_S)
            channel = asyncio.create_task(self._hold_channel())
            while not stopping.is_set():
                await _pause(stopping, TURN_S)
                await self._roll()
        finally:
            tasks = [task for task in (channel, *self._returns) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(node.close() for node in self.nodes))

    def summary(self) -> dict[str, int]:
        """How many nodes and allocations are in each state."""
        counts: Counter[str] = Counter()
        for node in self.nodes:
            counts["ready"] += node.is_ready
            counts["silent"] += not node.is_connected
            for entry in node.host.entries.values():
                counts[entry.runner.client_status[0].value] += 1
        return {**counts, **self.tally}

    async def _hold_channel(self) -> None:
        """Nodes that are not known yet are not welcome, so wait until the last one is."""
        for node in self.nodes:
            await node.until_ready()
        await self._channel.run()

    async def _roll(self) -> None:
        """Fail tasks and nodes by their rates."""
        share = TURN_S / _HOUR_S
        for node in self.nodes:
            if self.faults.task_failures:
                self._fail_tasks(node, self.faults.task_failures * share)
            chance = self.faults.flaps * share
            if chance and node.is_connected and self._dice.random() < chance:
                self.tally["flaps"] += 1
                await node.disconnect()
                task = asyncio.create_task(self._return(node))
                self._returns.add(task)
                task.add_done_callback(self._returns.discard)

    def _fail_tasks(self, node: SimulatedNode, chance: float) -> None:
        for driver in node.drivers.values():
            running = driver.running
            for place in np.flatnonzero(self._dice.random(len(running)) < chance):
                self.tally["failures"] += 1
                driver.crash(running[int(place)], 1)

    async def _return(self, node: SimulatedNode) -> None:
        await asyncio.sleep(self.faults.flap_s)
        node.connect()


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
