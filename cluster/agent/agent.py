"""A whole agent: configuration in, a node that runs allocations out.

Puts the parts together: state, drivers, host, client, channel. Its parts do the work.
"""

import asyncio
import contextlib
import functools
import logging
import socket
import ssl
from collections.abc import Iterator

from msgspec.structs import replace

from cluster.agent import task_secrets
from cluster.agent.agent_state import DiskStorage, identity
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import Surroundings
from cluster.agent.answers import Answers
from cluster.agent.channel_client import ChannelClient
from cluster.agent.check_keeper import CheckKeeper
from cluster.agent.client import ClientSettings, NodeClient
from cluster.agent.clouds import Cloud
from cluster.agent.collector import Collector
from cluster.agent.config import AgentConfig
from cluster.agent.config_values import addresses_of_network
from cluster.agent.control_groups import control_groups
from cluster.agent.devices.keeper import DeviceKeeper
from cluster.agent.devices.nvidia import NvidiaDevices
from cluster.agent.devices.pci import PciDevices
from cluster.agent.drivers.docker.docker import DockerDriver
from cluster.agent.drivers.driver import Driver
from cluster.agent.drivers.exec import ExecDriver
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.drivers.packages import DriverMeans, absent_drivers, drivers_of_packages
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.exec_sessions import ExecSessions
from cluster.agent.fingerprint import (
    attributes_of_machine,
    core_speed,
    default_address,
    process_environment,
    resources_of_machine,
    speed_of,
)
from cluster.agent.log_answers import LOG_VERBS, TaskLines
from cluster.agent.means import Means
from cluster.agent.networks.keeper import AllocNetworks
from cluster.agent.networks.offered import offered_networks
from cluster.agent.node_identity import NodeIdentity
from cluster.agent.node_metadata import NodeMetadata
from cluster.agent.self_drain import drain_itself
from cluster.agent.self_watch import SelfWatch
from cluster.agent.server_link import ServerLink
from cluster.agent.server_trust import trust
from cluster.agent.service_keeper import ServiceKeeper
from cluster.agent.task_api.sockets import TaskSockets
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.usage_answers import UsageAnswers
from cluster.agent.usage_sampler import UsageSampler
from cluster.agent.volume_keeper import VolumeKeeper
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress
from scheduler.structs.node import (
    Node,
    NodeCpu,
    NodeDisk,
    NodeMemory,
    NodeResources,
    ReservedResources,
)

logger = logging.getLogger(__name__)
SECOND = 1_000_000_000


class Agent:
    """One node's end: its channel to the server, its beats, and the tasks placed on it."""

    def __init__(self, config: AgentConfig, means: Means) -> None:
        self.config = config
        self.means = means
        node_id, secret = identity(config.state_dir, means.ids)
        self.node_id = node_id
        self.storage = DiskStorage(config.state_dir, config.alloc_dir)
        self.drivers = _drivers(config, means, node_id)
        self.volumes = _volumes(config, node_id, self.storage)
        self.cloud = Cloud() if config.cloud_metadata else None
        environment, limits = process_environment(), config.artifact
        launcher = TaskLauncher(lambda: self.node, environment, means.ids, limits=limits)
        self.devices = launcher.devices = DeviceKeeper((NvidiaDevices(), PciDevices()))
        self.host = _host(self, launcher)
        self.identity = NodeIdentity(secret, self.storage, means.clock.now)
        tls = _tls(config)
        self.link = ServerLink(
            config.server, node_id, secret, now=means.clock.now, tls=tls, identity=self.identity
        )
        self.client = NodeClient(
            self.link,
            self.host,
            lambda: self.node,
            means,
            ClientSettings(join_token=config.join_token, dev=config.dev, server=config.server),
        )
        _connect(self.host, self.link, TaskSockets(config.server, tls))
        self.services = ServiceKeeper(self.host, self.link, means.clock, config.server)
        self.checks = CheckKeeper(self.host, means.clock)
        self.task_lines = TaskLines(self.host, means.clock.now)
        self._report = self.host.changed
        self.host.changed = self._changed
        self.client.came_back = self.services.begin_anew
        self.watch = SelfWatch(self._look(), self._look, self.client, means.clock.now)
        self.metadata = NodeMetadata(config.meta, self.storage, self.client.node_changed)
        self.volumes.changed = self.client.node_changed
        self.identity.wants_beat = self.client.beat_now
        self.sampler = UsageSampler(self.host, means.clock, core_mhz(self.node))
        self.client.used = self.sampler.used
        answers = Answers(
            self.host,
            self.storage,
            means.clock,
            self.metadata,
            self.identity,
            UsageAnswers(self.sampler, self.storage.alloc_dir, self.devices),
            self.checks.results,
            ExecSessions(self.host, allowed=not config.disable_remote_exec),
            {**self.volumes.verbs, **LOG_VERBS},
        )
        self.channel = ChannelClient(
            config.server,
            lambda: {node_id: self.identity.shown},
            {node_id: answers},
            means.chance,
            tls,
        )
        self.client.contacted = self._reached
        self.collector = Collector(self.host, config.room, config.alloc_dir)

    @property
    def node(self) -> Node:
        """As it was last seen, with what was said of it since."""
        seen = self.watch.node
        return replace(
            seen,
            meta=self.metadata.meta,
            host_volumes={**self.volumes.offered, **seen.host_volumes},
        )

    def _look(self) -> Node:
        seen = fingerprint(self.config, self.node_id, self.drivers, self.means.clock.now())
        beside = {
            **self.volumes.attributes,
            **self.storage.secrets.attributes,
            **task_secrets.ATTRIBUTES,
            **(self.cloud.attributes if self.cloud else {}),
        }
        resources = replace(seen.node_resources, devices=self.devices.look())
        attributes = {**seen.attributes, **beside}
        return replace(seen, attributes=attributes, node_resources=resources)

    def _changed(self, alloc_id: str) -> None:
        """An allocation has another state: the server hears of it, its services follow it."""
        self._report(alloc_id)
        self.services.look(alloc_id)
        self.checks.look(alloc_id)
        self.task_lines.look(alloc_id)

    def _reached(self) -> None:
        """Each agent holds a channel of its own."""
        self.channel.channel_count = self.client.retry.node_count
        self.channel.try_now()

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until told to stop; the tasks run on."""
        logger.info(self.storage.secrets.sentence)
        for directories in self.storage.left_over():
            logger.warning("removing what was left of %s", directories.root.name)
            await asyncio.to_thread(directories.remove)
        await self.host.restore()
        work = asyncio.create_task(self._serve())
        stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            if self.config.drain_on_shutdown is not None and stopping.is_set():
                plan = self.config.drain_on_shutdown
                await drain_itself(plan, self.link, self.host, self.means.clock)
        finally:
            for task in (work, stop):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await self.checks.close()
            await self.host.close()
            await self.link.close()
            self.storage.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self.client.run())
            loops.create_task(self._hold_channel())
            loops.create_task(self.collector.run())
            loops.create_task(self.watch.run())
            loops.create_task(self._register_services())
            loops.create_task(self.sampler.run())

    async def _register_services(self) -> None:
        await self.client.is_registered.wait()
        await self.services.run()

    async def _hold_channel(self) -> None:
        await self.client.is_registered.wait()
        await self.channel.run()


def _drivers(config: AgentConfig, means: Means, node_id: str) -> dict[str, Driver]:
    kept = config.reserved.cpu.reserved_cpu_cores
    groups = functools.partial(control_groups, kept=kept)
    built_in: tuple[Driver, ...] = (
        RawExecDriver(enabled=config.raw_exec, find_groups=groups),
        ExecDriver(
            groups,
            hidden=(config.state_dir.parent, config.alloc_dir),
            capabilities=config.exec_capabilities,
        ),
        DockerDriver(config.docker, node_id),
        MockDriver(means.clock.now),
        *absent_drivers(),
    )
    ours = {driver.name: driver for driver in built_in}
    beside = drivers_of_packages(DriverMeans(means.clock.now, groups), ours)
    return ours | {driver.name: driver for driver in beside}


def _volumes(config: AgentConfig, node_id: str, storage: DiskStorage) -> VolumeKeeper:
    beside = config.state_dir.parent
    return VolumeKeeper(
        config.host_volumes_dir or beside / "host_volumes",
        config.host_volume_plugin_dir or beside / "host_volume_plugins",
        node_id,
        storage,
        lambda: {volume.name: volume for volume in config.host_volumes},
    )


def _host(agent: Agent, launcher: TaskLauncher) -> AllocHost:
    config, means = agent.config, agent.means
    patience = int(config.max_kill_timeout_s * SECOND)
    return AllocHost(
        launcher,
        agent.drivers,
        agent.storage,
        means.clock,
        Surroundings(max_kill_timeout=patience, chance=means.chance),
        AllocNetworks(agent.storage, config.network),
    )


def _connect(host: AllocHost, link: ServerLink, sockets: TaskSockets) -> None:
    """Whom its tasks ask."""
    host.ask, host.ask_identity, host.fetch_data = link.look_up, link.identity_of, link.data_of
    host.sockets = sockets


def _tls(config: AgentConfig) -> ssl.SSLContext | None:
    return trust(
        config.server,
        fingerprint=config.fingerprint,
        ca_file=config.ca_file,
        directory=config.state_dir,
    )


def fingerprint(config: AgentConfig, node_id: str, drivers: dict[str, Driver], now: int) -> Node:
    """The node as it is now, by its configuration and its machine."""
    address = config.address or default_address()
    infos = {name: driver.describe(now) for name, driver in drivers.items()}
    networks = offered_networks(config.network)
    attributes = attributes_of_machine(config.alloc_dir) | networks.attributes
    for info in infos.values():
        if info.detected:
            attributes |= info.attributes
    found = resources_of_machine(config.alloc_dir, address)
    resources = _sized(found, config, networks.networks)
    reserved = _reserved(config)
    attributes |= _compute(resources, reserved)
    return Node(
        id=node_id,
        name=config.name or socket.gethostname(),
        datacenter=config.datacenter,
        node_class=config.node_class,
        node_pool=config.node_pool,
        meta=config.meta,
        attributes=attributes,
        drivers=infos,
        host_volumes={volume.name: volume for volume in config.host_volumes},
        host_networks={network.name: network for network in config.host_networks},
        node_resources=resources,
        reserved_resources=reserved,
    )


def _compute(resources: NodeResources, reserved: ReservedResources) -> dict[str, str]:
    """What jobs may have of the processor, in the node's words."""
    cpu, kept = resources.cpu, reserved.cpu
    cores = set(cpu.reservable_cpu_cores).difference(kept.reserved_cpu_cores)
    return {
        "cpu.reservablecores": str(len(cores)),
        "cpu.totalcompute": str(cpu.cpu_shares),
        "cpu.usablecompute": str(max(0, cpu.cpu_shares - kept.cpu_shares)),
    }


def core_mhz(node: Node) -> float:
    """Megahertz of one core, as the node counts them."""
    cpu = node.node_resources.cpu
    return cpu.cpu_shares / max(1, cpu.total_cpu_cores)


def _sized(
    found: NodeResources, config: AgentConfig, networks: tuple[NetworkResource, ...]
) -> NodeResources:
    """What the configuration says of the sizes, where it says anything; and further networks."""
    cpu = found.cpu
    return replace(
        found,
        cpu=NodeCpu(
            cpu_shares=config.cpu_mhz or cpu.cpu_shares,
            total_cpu_cores=cpu.total_cpu_cores,
            reservable_cpu_cores=cpu.reservable_cpu_cores,
        ),
        memory=NodeMemory(memory_mb=config.memory_mb or found.memory.memory_mb),
        disk=NodeDisk(disk_mb=config.disk_mb or found.disk.disk_mb),
        networks=(*found.networks, *networks),
        node_networks=(
            *found.node_networks,
            *_named_networks(config),
            *(NodeNetwork(mode=network.mode) for network in networks),
        ),
        min_dynamic_port=config.min_dynamic_port or found.min_dynamic_port,
        max_dynamic_port=config.max_dynamic_port or found.max_dynamic_port,
    )


def _named_networks(config: AgentConfig) -> Iterator[NodeNetwork]:
    for network in config.host_networks:
        for device, address in addresses_of_network(network):
            yield NodeNetwork(
                mode="host",
                device=device,
                speed=speed_of(device),
                addresses=(
                    NodeNetworkAddress(
                        family="ipv6" if ":" in address else "ipv4",
                        alias=network.name,
                        address=address,
                        reserved_ports=network.reserved_ports,
                    ),
                ),
            )


def _reserved(config: AgentConfig) -> ReservedResources:
    """What jobs never get; the MHz of whole cores beside those that are named."""
    cores = config.reserved.cpu.reserved_cpu_cores
    shares = config.reserved.cpu.cpu_shares + len(cores) * core_speed(config.cpu_mhz)
    return replace(config.reserved, cpu=replace(config.reserved.cpu, cpu_shares=shares))
