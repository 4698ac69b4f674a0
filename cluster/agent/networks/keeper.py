"""The networks of one node's allocations: made before their tasks, taken away after them.

In: an allocation whose group asks for a network of its own. Out: a namespace that all its tasks
enter, attached as its mode says, and the status that the server is told; or `NetworkFailed`. What
is made is noted before it is made, so that a new agent finds it, or takes it away.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.networks import namespaces
from cluster.agent.networks.cni import Attachment, CniError, Plugins
from cluster.agent.networks.forwarding import IPV4, IPV6, forget_masquerade, let_through
from cluster.agent.networks.lists import (
    NetworkSettings,
    has_ipv6,
    is_own,
    list_for,
    port_mappings,
    status_of,
)
from cluster.agent.networks.offered import why_no_namespaces
from scheduler.structs.allocation import NetworkStatus
from scheduler.structs.network import NetworkResource

logger = logging.getLogger(__name__)
#: Attempts to attach a namespace, and seconds between them.
ATTEMPTS, PAUSE_S = 3, 1.0
#: The first plugin `bridge` whose CHECK can be believed.
_FIRST_CHECKED = (1, 3)


#: Lets go of the network of that allocation; says for itself what does not go.
Leave = Callable[[str], Awaitable[None]]


class NetworkFailed(Exception):
    """The network cannot be made; the text is shown to people."""


class NetworkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The network of one allocation, as it was asked for and as it was made."""

    alloc_id: str
    #: The file that holds the namespace.
    namespace: str
    #: The plugins' list; None for a namespace without any.
    network: dict[str, Any] | None = None
    arguments: dict[str, str] = {}
    ports: tuple[dict[str, int | str], ...] = ()
    #: What the plugins said; None: they have not all been run yet.
    result: dict[str, Any] | None = None
    status: NetworkStatus = NetworkStatus()

    @property
    def attachment(self) -> Attachment:
        """As the plugins are told of it."""
        return Attachment(
            self.alloc_id,
            self.namespace,
            arguments=self.arguments,
            capabilities={"portMappings": list(self.ports)},
        )


class NetworkStorage(Protocol):
    """Where such records outlive the agent."""

    def save_network(self, record: bytes, alloc_id: str) -> None:
        """Keep this instead of what was kept of that allocation before."""

    def delete_network(self, alloc_id: str) -> None:
        """Nothing is left of it."""

    def load_networks(self) -> list[bytes]:
        """All that is kept."""


class AllocNetworks:
    """The namespaces of one node."""

    def __init__(
        self,
        storage: NetworkStorage,
        settings: NetworkSettings = NetworkSettings(),  # noqa: B008 - it never changes
        directory: Path = namespaces.DIRECTORY,
        region: Callable[[], str] = lambda: "global",
    ) -> None:
        self.settings = settings
        #: Called before a namespace goes, by whoever may hold it beside tasks.
        self.leaving: tuple[Leave, ...] = ()
        self._storage = storage
        self._directory = directory
        self._region = region
        self._plugins = Plugins(settings.plugin_directories)
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        read = (msgspec.msgpack.decode(each, type=NetworkRecord) for each in
                storage.load_networks())  # fmt: skip
        self._records = {record.alloc_id: record for record in read}

    def holds(self, alloc_id: str) -> bool:
        """Whether anything of that allocation is to be taken away."""
        return alloc_id in self._records

    def is_due(self, runner: AllocRunner) -> bool:
        """Whether its group asks for a network of its own."""
        return is_own(mode_of(runner))

    async def set_up(self, runner: AllocRunner) -> None:
        """Make what is not there yet, and tell the runner. Raises NetworkFailed."""
        alloc_id = runner.alloc.id
        async with self._locks[alloc_id]:
            record = self._records.get(alloc_id)
            if record is None or not await asyncio.to_thread(_stands, record):
                if record is not None:
                    await self._take_away(record)
                record = await self._make(runner)
            _tell(runner, record)

    async def remove(self, alloc_id: str, then: Callable[[], None] = lambda: None) -> None:
        """Take away everything of an allocation that has ended; `then` is called afterwards."""
        try:
            async with self._locks[alloc_id]:
                record = self._records.get(alloc_id)
                if record is not None:
                    await self._take_away(record)
        finally:
            then()
        self._locks.pop(alloc_id, None)

    async def remove_orphans(self, known: Collection[str]) -> None:
        """What an agent left that died between two steps, of allocations it knows no more."""
        for alloc_id in [each for each in self._records if each not in known]:
            logger.warning("taking away the network of unknown allocation %s", alloc_id)
            await self.remove(alloc_id)

    async def resume(self, runner: AllocRunner) -> None:
        """A new agent found the allocation: what stands is kept, and looked after.

        What the machine lost with a restart is made again before a task starts.
        """
        record = self._records.get(runner.alloc.id)
        if record is None or not await asyncio.to_thread(_stands, record):
            return
        if record.network is not None and self._can_check():
            record = await self._checked(record)
        _tell(runner, record)

    async def _make(self, runner: AllocRunner) -> NetworkRecord:
        try:
            record = self._planned(runner)
            self._note(record)
            await asyncio.to_thread(namespaces.make, Path(record.namespace))
            if record.network is not None:
                record = await self._attached(record, is_bridge=mode_of(runner) == "bridge")
        except (CniError, OSError) as problem:
            if runner.alloc.id in self._records:
                await self._take_away(self._records[runner.alloc.id])
            raise NetworkFailed(
                f"failed to configure networking for alloc: {problem}"
            ) from problem
        self._note(record)
        return record

    def _planned(self, runner: AllocRunner) -> NetworkRecord:
        if why := why_no_namespaces():
            raise CniError(why)
        alloc, network = runner.alloc, network_of(runner)
        told = {
            "NOMAD_REGION": self._region(),
            "NOMAD_NAMESPACE": alloc.namespace,
            "NOMAD_JOB_ID": alloc.job_id,
            "NOMAD_GROUP_NAME": alloc.task_group,
            "NOMAD_ALLOC_ID": alloc.id,
            **(network.cni.args if network.cni else {}),
        }
        ports = port_mappings(alloc.allocated_resources.shared.ports, self.settings)
        return NetworkRecord(
            alloc_id=alloc.id,
            namespace=str(self._directory / alloc.id),
            network=list_for(network.mode, self.settings),
            arguments={key: value for key, value in told.items() if ";" not in value},
            ports=tuple(ports),
        )

    async def _attached(self, record: NetworkRecord, *, is_bridge: bool) -> NetworkRecord:
        if is_bridge:
            await asyncio.to_thread(let_through, self.settings)
        first: CniError | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(PAUSE_S)
            try:
                return await asyncio.to_thread(self._add, record)
            except CniError as problem:
                first = first or problem
                await self._detach(record)
        raise CniError(f"failed to configure network: {first}")

    def _add(self, record: NetworkRecord) -> NetworkRecord:
        assert record.network is not None, "asked for networks with plugins alone"
        result = self._plugins.add(record.network, record.attachment)
        return replace(record, result=result, status=status_of(result))

    async def _checked(self, record: NetworkRecord) -> NetworkRecord:
        """As it was made, or attached anew: its tasks stay in the namespace that they are in."""
        assert record.network is not None, "asked for networks with plugins alone"
        check = (record.network, record.attachment, record.result or {})
        try:
            await asyncio.to_thread(self._plugins.check, *check)
        except CniError as problem:
            logger.warning("network of %s is made anew: %s", record.alloc_id, problem)
            await self._detach(record)
            try:
                record = await asyncio.to_thread(self._add, record)
            except CniError:
                logger.exception("network of %s cannot be made anew", record.alloc_id)
            else:
                self._note(record)
        return record

    async def _detach(self, record: NetworkRecord) -> bool:
        """Whether every plugin did its part."""
        if record.network is None:
            return True
        undo = (record.network, record.attachment, record.result)
        try:
            await asyncio.to_thread(self._plugins.delete, *undo)
            if any(plugin.get("ipMasq") for plugin in record.network["plugins"]):
                is_both = bool(record.status.address_ipv6) or has_ipv6(record.network)
                kinds = (IPV4, IPV6) if is_both else (IPV4,)
                await asyncio.to_thread(forget_masquerade, record.alloc_id, kinds)
        except CniError as problem:
            logger.warning("network of %s: %s", record.alloc_id, problem)
            return False
        return True

    async def _take_away(self, record: NetworkRecord) -> None:
        is_gone = await self._detach(record)
        for leave in self.leaving:
            await leave(record.alloc_id)
        await asyncio.to_thread(namespaces.remove, Path(record.namespace))
        if is_gone:
            self._records.pop(record.alloc_id, None)
            try:
                self._storage.delete_network(record.alloc_id)
            except OSError as problem:
                # The next agent takes away once more what is gone already.
                logger.warning("network of %s: %s", record.alloc_id, problem)

    def _note(self, record: NetworkRecord) -> None:
        self._records[record.alloc_id] = record
        self._storage.save_network(msgspec.msgpack.encode(record), record.alloc_id)

    def _can_check(self) -> bool:
        """Earlier plugins find fault with ports that are as they made them."""
        words = self._plugins.version("bridge").removeprefix("v").split(".")
        numbers = tuple(int(word) for word in words[:2] if word.isdecimal())
        return numbers >= _FIRST_CHECKED


def network_of(runner: AllocRunner) -> NetworkResource:
    """What its group asks for; the host's network where it asks for none."""
    networks = runner.group.networks
    return networks[0] if networks else NetworkResource()


def mode_of(runner: AllocRunner) -> str:
    """The mode of its group's network."""
    return network_of(runner).mode


def refusal(runner: AllocRunner, drivers: Mapping[str, object]) -> str:
    """Why drivers of its tasks cannot take part in its network; "": all can."""
    network = network_of(runner)
    if network.hostname and not is_own(network.mode):
        return 'hostname cannot be set on task group using "host" networking mode'
    for task in runner.group.tasks if is_own(network.mode) else ():
        driver = drivers.get(task.driver)
        if driver is not None and not getattr(driver, "joins_networks", False):
            return f'task {task.name} does not support "{network.mode}" networking mode'
        if network.hostname and not getattr(driver, "names_hosts", False):
            return f"hostname is not currently supported on driver {task.driver}"
    return ""


def _stands(record: NetworkRecord) -> bool:
    made = record.network is None or record.result is not None
    return made and namespaces.is_there(Path(record.namespace))


def _tell(runner: AllocRunner, record: NetworkRecord) -> None:
    asked = network_of(runner).dns
    runner.network_status = replace(record.status, dns=asked) if asked else record.status
    runner.network_namespace = record.namespace
