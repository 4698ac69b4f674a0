"""Node agents on virtual time: the project's own agent, its server called directly.

In: a store, node descriptions. Out: registrations, beats and reports, as operations on the store.
Only the transport is left out: calls are functions, and a paused agent's calls do not return.
"""

import asyncio
import contextlib
import selectors

import msgspec
from msgspec.structs import replace

from cluster.agent.agent_state import NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.endpoints import ended_among, running_elsewhere
from cluster.agent.heartbeats import heartbeat_ttl
from cluster.agent.means import Means
from cluster.agent.protocol import (
    BeatAnswer,
    EmitEvents,
    Ended,
    Fetched,
    Pulled,
    Register,
    Registered,
    Report,
    Reported,
)
from cluster.agent.server_link import CallFailed
from cluster.agent.task_launch import TaskLauncher
from cluster.fleet.blueprint import FleetOptions, members_of
from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.errors import OperationRefused
from cluster.operations.nodes import add_node_events, register_node, update_status
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.moment import Moment
from scheduler.structs.node import HostVolume, Node, NodeStatus
from tests.builders import SECOND, SOME_MOMENT, CountingIDs
from tests.callers import MANAGER

#: Server settings of the scenarios, seconds.
MIN_TTL = 1.0
GRACE = 10.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer instead of passing."""

    def __init__(self) -> None:
        self.moment = 1_000.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.moment


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        assert timeout is not None, "nothing will ever happen again"
        # Every turn takes a microsecond, so that no two timers can chase each other for ever.
        self._loop.moment += timeout + 1e-6
        return super().select(0)


class LoopClock:
    """The loop's time as a clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._start = loop.moment

    def now(self) -> int:
        return SOME_MOMENT + round((self._loop.moment - self._start) * SECOND)

    def monotonic(self) -> float:
        return self._loop.moment

    def moment(self) -> Moment:
        return Moment(self.now(), self.monotonic())

    def advance(self, seconds: float) -> None:
        assert not seconds, "time passes by itself here"


class DirectLink:
    """What `ServerLink` is to a node client, without HTTP; calls wait while `gate` is closed."""

    def __init__(self, world, node: Node, secret: str) -> None:
        self.world = world
        self.node_id = node.id
        self.secret = secret
        self.gate = asyncio.Event()
        self.gate.set()

    async def register(self, message: Register, _join_token: str) -> Registered:
        await self.gate.wait()
        node = message.node
        written = self._write(register_node, node, secret=self.secret, may_join=True)
        return Registered(heartbeat_ttl=self._heard(written.node.status))

    async def beat(self, used: tuple[int, int] | None = None) -> BeatAnswer:
        await self.gate.wait()
        written = self._write(update_status, self.node_id, NodeStatus.READY)
        status = written.node.status
        ttl = self._heard(status)
        return BeatAnswer(heartbeat_ttl=ttl, index=written.index, status=status)

    async def pull(self, index: int, wait: float, *, known: int) -> Pulled:
        deadline = self.world.clock.monotonic() + wait
        while True:
            await self.gate.wait()
            held = self.world.store.allocations_by_node(self.node_id)
            newest = max((alloc.alloc_modify_index for alloc in held), default=0)
            is_news = not index or newest > index or len(held) < known
            if is_news or self.world.clock.monotonic() >= deadline:
                listed = {alloc.id: alloc.alloc_modify_index for alloc in held}
                return Pulled(index=newest or 1, allocations=listed)
            await self.world.next_news(deadline)

    async def fetch(self, ids: tuple[str, ...]) -> Fetched:
        await self.gate.wait()
        store = self.world.store
        allocs = [store.allocation(each) for each in ids]
        found = tuple(alloc for alloc in allocs if alloc is not None)
        return Fetched(
            index=store.index,
            allocations=found,
            jobs=tuple({id(job): job for job in map(store.job_of, found) if job}.values()),
            elsewhere=running_elsewhere(store, found),
        )

    async def ended(self, ids: tuple[str, ...], wait: float) -> Ended:
        deadline = self.world.clock.monotonic() + wait
        while True:
            await self.gate.wait()
            ended = ended_among(self.world.store, ids)
            if ended or self.world.clock.monotonic() >= deadline:
                return Ended(ids=ended)
            await self.world.next_news(deadline)

    async def report(self, message: Report) -> Reported:
        await self.gate.wait()
        told = NodeReport(
            node_id=self.node_id,
            allocations=tuple(
                Allocation(
                    id=report.id,
                    node_id=self.node_id,
                    client_status=ClientStatus(report.client_status),
                    client_description=report.client_description,
                    task_states=report.task_states,
                    deployment_status=report.deployment_status,
                    network_status=report.network_status,
                )
                for report in message.allocations
            ),
        )
        index, refusals = report_from_client(
            self.world.store, (told,), by=MANAGER, now=self.world.clock.now(), ids=self.world.ids
        )
        self.world.tell()
        if refusals[0] is not None:
            raise CallFailed(str(refusals[0]), refusals[0].status)
        return Reported(index=index)

    async def emit(self, message: EmitEvents) -> Reported:
        await self.gate.wait()
        now = self.world.clock.now()
        return Reported(
            index=add_node_events(
                self.world.store, self.node_id, message.events, by=MANAGER, now=now
            )
        )

    def _write(self, operation, *arguments, **options):
        try:
            written = operation(
                self.world.store,
                *arguments,
                **options,
                by=MANAGER,
                now=self.world.clock.now(),
                ids=self.world.ids,
            )
        except OperationRefused as refused:
            raise CallFailed(str(refused), refused.status) from refused
        self.world.tell()
        return written

    def _heard(self, status: NodeStatus) -> int:
        count = sum(1 for _ in self.world.store.nodes())
        chance = float(self.world.chance.random())
        ttl = heartbeat_ttl(count, min_ttl_s=MIN_TTL, chance=chance)
        if status is not NodeStatus.DOWN:
            self.world.beats[self.node_id] = (self.world.clock.now(), ttl)
        return ttl


class SimulatedAgent:
    """One agent of a scenario: started, stopped, paused and resumed by its steps."""

    def __init__(self, world, number: int, form: dict) -> None:
        self.world = world
        self.name = form["name"]
        self.starts = 0
        member = members_of(
            FleetOptions(nodes=number + 1, cpu=(form["cpu"],), memory=(form["memory"],)), "key"
        )[number]
        self.node = replace(
            member.node,
            name=self.name,
            attributes=member.node.attributes | {"unique.hostname": self.name},
            datacenter=form.get("datacenter", "dc1"),
            node_pool=form.get("pool", "default"),
            node_class=form.get("class", ""),
            meta=form.get("meta", {}),
            host_volumes={
                name: HostVolume(name=name, path=f"/srv/{name}")
                for name in form.get("host_volumes", ())
            },
        )
        ids = CountingIDs(prefix=f"{number + 1:x}")
        means = Means(world.clock, ids, lambda: float(world.chance.random()))
        drivers = {"mock_driver": MockDriver(world.clock.now)}
        launcher = TaskLauncher(lambda: self.node, {}, ids)
        surroundings = Surroundings(chance=means.chance, is_simulated=True)
        self.host = AllocHost(launcher, drivers, NoStorage(), world.clock, surroundings)
        self.link = DirectLink(world, self.node, member.secret)
        self.client = NodeClient(
            self.link, self.host, lambda: self.node, means, ClientSettings(dev=True)
        )
        self._work: asyncio.Task | None = None

    def start(self) -> None:
        """Start it, perhaps again; its tasks were found running on."""
        self.starts += 1
        if self.starts > 1:
            # The reference's agent fingerprints anew and once sends what differs for a moment.
            self._set(attributes=self.node.attributes | {"unique.start": str(self.starts)})
        self._work = asyncio.get_running_loop().create_task(self.client.run())

    async def stop(self) -> None:
        """End the agent; its tasks run on."""
        work, self._work = self._work, None
        if work is None:
            return
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    def pause(self) -> None:
        """Nothing it says arrives any more."""
        self.link.gate.clear()

    def resume(self) -> None:
        """It goes on where it was."""
        self.link.gate.set()

    def set_meta(self, meta: dict[str, str]) -> None:
        """The node's metadata was changed on the node."""
        self._set(meta=self.node.meta | meta)
        self.client.node_changed()

    async def close(self) -> None:
        """Switch the machine off."""
        await self.stop()
        await self.host.close()

    def _set(self, **fields: object) -> None:
        self.node = msgspec.structs.replace(self.node, **fields)
