"""Looks at the machine again and again: what changed is told to the server (node-agent.md 3).

In: a way to take the fingerprint. Out: the newest node, a registration when it is another one, and
a line of history for each driver whose health changed.
"""

import asyncio
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from cluster.agent.client import NodeClient
from scheduler.structs.node import DriverInfo, Node, NodeEvent, same_since

PERIOD_S = 30.0


class SelfWatch:
    """Keeps one node's description true."""

    def __init__(
        self, node: Node, look: Callable[[], Node], client: NodeClient, now: Callable[[], int]
    ) -> None:
        self.node = node
        self._look = look
        self._client = client
        self._now = now

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            await self.look_again()

    async def look_again(self) -> None:
        """Take the fingerprint once more; the machine may be slow to answer."""
        before, seen = self.node, await asyncio.to_thread(self._look)
        drivers = same_since(before.drivers, seen.drivers)
        self.node = replace(seen, drivers=drivers)
        if self.node == before:
            return
        self._client.node_changed()
        events = driver_events(before.drivers, drivers, self._now())
        if events:
            await self._client.emit(*events)


def driver_events(
    before: Mapping[str, DriverInfo], after: Mapping[str, DriverInfo], now: int
) -> tuple[NodeEvent, ...]:
    """A line for each driver whose health or its description is another one."""
    return tuple(
        NodeEvent(
            message=info.health_description,
            subsystem="Driver",
            details={"driver": name},
            timestamp=now,
        )
        for name, info in after.items()
        if name in before
        and info.health_description
        and (info.healthy, info.health_description)
        != (before[name].healthy, before[name].health_description)
    )
