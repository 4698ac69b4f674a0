"""What scenes of the demo can do: run and purge jobs, drain nodes, silence them, look.

In: a store, the fleet, who asks. Out: writes through the same operations as people's. Everything
but the fleet's nodes works on the store's own threads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from operator import methodcaller

import msgspec
from django.conf import settings

from cluster.agent.means import Means
from cluster.demo.jobs import PREFIX
from cluster.fleet.fleet import Fleet
from cluster.fleet.simulated_node import SimulatedNode
from cluster.jobspec.parse import parse_text
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import DrainRequest, drain_node
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.store.access import StoreAccess
from cluster.store.ports import RecordReader
from scheduler.access.caller import Caller
from scheduler.state.nouns import JOBS
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.job import Job, JobSubmission
from scheduler.structs.node import DrainStrategy, Node, NodeStatus
from scheduler.structs.scheduler_settings import SchedulerSettings

#: Seconds between looks at what is waited for.
LOOK_S = 0.5
MINUTE = 60_000_000_000


class TookTooLong(Exception):
    """What a scene waited for did not come; the message says what it was."""


class DemoStage:
    """The means of one scene."""

    def __init__(self, store: StoreAccess, fleet: Fleet, means: Means, by: Caller) -> None:
        self.store = store
        self.fleet = fleet
        self.by = by
        self._clock = means.clock
        self._ids = means.ids

    async def run(self, *texts: str) -> None:
        """Submit job files, one after another."""
        for text in texts:
            parsed = parse_text(text)
            assert parsed.job is not None, "the demo's own job files are jobs"
            job = msgspec.structs.replace(parsed.job, region=settings.BIVOUAC_REGION)
            registration = JobRegistration(
                job=job, submission=JobSubmission(source=text, format=parsed.format)
            )
            await self.store.awrite_call(
                register_job, registration, by=self.by, now=self._clock.now(), ids=self._ids
            )

    async def purge(self, *names: str) -> None:
        """Take jobs of the demo away, with all they have; unknown ones are passed over."""
        for name in names:
            key = JobKey(DEFAULT_NAMESPACE, name)
            if await self.store.aread(methodcaller("job", key)) is not None:
                await self.store.awrite_call(
                    deregister_job,
                    key,
                    purge=True,
                    by=self.by,
                    now=self._clock.now(),
                    ids=self._ids,
                )

    async def purge_like(self, start: str = PREFIX) -> None:
        """Take away every job whose name begins so."""
        jobs: Sequence[Job] = await self.store.aread(lambda reader: reader.list_all(JOBS))
        await self.purge(*(job.id for job in jobs if job.id.startswith(start)))

    async def drain(self, reason: str, *nodes: SimulatedNode) -> None:
        """Drain nodes within ten minutes, by one action: their drain is one story."""
        request = DrainRequest(
            strategy=DrainStrategy(deadline=10 * MINUTE),
            note=DrainNote(meta={"message": reason}),
            action=self._ids.next_id(),
        )
        for node in nodes:
            await self._change_drain(node.node.id, request)

    async def end_drains(self) -> None:
        """Open every node of the fleet again."""
        for node in await self.stored_nodes():
            if not node.is_ready and node.status is NodeStatus.READY:
                await self._change_drain(node.id, DrainRequest(mark_eligible=True))

    async def _change_drain(self, node_id: str, request: DrainRequest) -> None:
        await self.store.awrite_call(
            drain_node, node_id, request, by=self.by, now=self._clock.now(), ids=self._ids
        )

    @asynccontextmanager
    async def nothing_handed_out(self) -> AsyncIterator[None]:
        """Within the block evaluations wait in the record."""
        before = await self.store.aread(lambda reader: reader.scheduler_settings())
        await self._set(msgspec.structs.replace(before, pause_eval_broker=True))
        try:
            yield
        finally:
            await self._set(before)

    async def _set(self, wanted: SchedulerSettings) -> None:
        await self.store.awrite_call(
            set_scheduler_settings, wanted, by=self.by, now=self._clock.now()
        )

    async def silence(self, *nodes: SimulatedNode) -> None:
        """Have nodes fall silent, and wait until the cluster counts them as lost."""
        for node in nodes:
            await node.disconnect()
        await self.until_stored(nodes, lambda stored: stored.status is not NodeStatus.READY)

    async def call_back(self, *nodes: SimulatedNode) -> None:
        """Have nodes speak again, and wait until they are ready."""
        for node in nodes:
            if not node.is_connected:
                node.connect()
        await self.until_stored(nodes, lambda stored: stored.status is NodeStatus.READY)

    async def stored_nodes(self) -> list[Node]:
        """The fleet's nodes as the record has them."""
        ids = {node.node.id for node in self.fleet.nodes}
        found: Sequence[Node] = await self.store.aread(lambda reader: reader.nodes())
        return [node for node in found if node.id in ids]

    def on_rack(self, rack: str) -> list[SimulatedNode]:
        """The fleet's nodes of a rack, by name."""
        found = [node for node in self.fleet.nodes if node.node.meta.get("rack") == rack]
        return sorted(found, key=lambda node: node.node.name)

    def busiest(self, count: int) -> list[SimulatedNode]:
        """Nodes that run most."""
        return sorted(self.fleet.nodes, key=lambda node: -len(node.host.entries))[:count]

    async def until_stored(
        self, nodes: Sequence[SimulatedNode], holds: Callable[[Node], bool]
    ) -> None:
        """Wait until something holds for each of these nodes."""
        ids = [node.node.id for node in nodes]

        def all_hold(reader: RecordReader) -> bool:
            stored = [reader.node(node_id) for node_id in ids]
            return all(node is not None and holds(node) for node in stored)

        await self.until(all_hold, "the nodes to change their status", seconds=120)

    async def until(
        self, holds: Callable[[RecordReader], bool], what: str, *, seconds: float = 60
    ) -> None:
        """Wait until something holds of the record. Raises TookTooLong."""
        end = self._clock.monotonic() + seconds
        while not await self.store.aread(holds):
            if self._clock.monotonic() > end:
                raise TookTooLong(f"waited {seconds:g} s for {what}")
            await asyncio.sleep(LOOK_S)
