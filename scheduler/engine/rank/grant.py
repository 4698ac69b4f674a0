"""What an allocation would be given on one node: ports, devices, cores (placement.md 8.5 to 8.7).

In: a node, what is taken of it, a group's ask. Out: a Grant, or the text of what ran out. Whether
CPU, memory and disk suffice is `measure.fit`'s question.
"""

from collections import Counter
from typing import NamedTuple, Protocol

import msgspec

from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.measure.device_match import DeviceAffinity
from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.engine.measure.fit import core_speed, usable_cores
from scheduler.engine.measure.ports_in_use import PortsInUse
from scheduler.engine.measure.task_networks import grant_task_network
from scheduler.ports import PatternMatcher
from scheduler.state.node_use import UseSum, use_of_resources
from scheduler.structs.device import DeviceGrant, RequestedDevice
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import Node
from scheduler.structs.node_target import resolve_target
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
)

#: A node that is dropped without being counted anywhere: its host network has no name.
UNCOUNTED = "uncounted"


class Grant(NamedTuple):
    """Everything chosen on one node for one allocation."""

    resources: AllocatedResources
    use: UseSum
    #: Summed over the requests that have affinities.
    device_affinity: DeviceAffinity


class Shortage(NamedTuple):
    """Why nothing could be granted: the exhausted dimension."""

    reason: str


#: A device's grants by task, and their affinity.
_Devices = tuple[dict[str, list[DeviceGrant]], DeviceAffinity]


class MakeRoom(Protocol):
    """Evicts others when something cannot be granted."""

    def clear_network(self, ask: NetworkResource) -> UseSum | None:
        """The use that is left when ports and bandwidth were cleared; None when they were not."""

    def clear_device(self, request: RequestedDevice, in_use: DevicesInUse) -> UseSum | None:
        """The same for device instances; `in_use` knows what was granted before."""


def grant(
    node: Node,
    use: UseSum,
    ask: GroupAsk,
    matcher: PatternMatcher,
    port_start: int,
    make_room: MakeRoom | None = None,
) -> Grant | Shortage:
    """Choose ports, then devices, then cores; the first that runs out decides the dimension.

    With `make_room` what runs out is cleared once and tried again, cores excepted.
    """
    if ask.is_plain:
        return Grant(ask.resources, ask.use, DeviceAffinity(0.0, 0.0))
    return _Granting(node, use, ask, matcher, make_room).grant(port_start)


class _Granting:
    """One try on one node. `_use` shrinks as others are evicted."""

    def __init__(
        self,
        node: Node,
        use: UseSum,
        ask: GroupAsk,
        matcher: PatternMatcher,
        make_room: MakeRoom | None,
    ) -> None:
        self._node = node
        self._use = use
        self._ask = ask
        self._matcher = matcher
        self._make_room = make_room

    def grant(self, port_start: int) -> Grant | Shortage:
        ports = PortsInUse(self._node, self._use.ports)
        if not ports.is_valid:
            return Shortage("network: invalid node")
        if ports.collision is not None:
            return Shortage("network: port collision")
        shared = self._shared(ports, port_start)
        if isinstance(shared, Shortage):
            return shared
        networks = self._task_networks(shared, port_start)
        if isinstance(networks, Shortage):
            return networks
        devices = self._devices()
        if isinstance(devices, Shortage):
            return devices
        cores = _grant_cores(self._node, self._use, self._ask)
        if cores is None:
            return Shortage("cores")
        by_task, affinity = devices
        tasks = {
            name: msgspec.structs.replace(
                _with_choices(task, cores.get(name, ()), by_task.get(name, ()), self._node),
                networks=networks.get(name, ()),
            )
            for name, task in self._ask.resources.tasks.items()
        }
        resources = msgspec.structs.replace(self._ask.resources, tasks=tasks, shared=shared)
        return Grant(resources, use_of_resources(resources), affinity)

    def _shared(self, ports: PortsInUse, start: int) -> AllocatedSharedResources | Shortage:
        shared = self._ask.resources.shared
        if self._ask.network is None:
            return shared
        network = _with_host_networks(self._ask.network, self._node)
        if network is None:
            return Shortage(UNCOUNTED)
        granted = ports.grant(network, start)
        if isinstance(granted, str) and self._make_room is not None:
            left = self._make_room.clear_network(network)
            if left is not None:
                self._use = left
                granted = PortsInUse(self._node, left.ports).grant(network, start)
        if isinstance(granted, str):
            return Shortage(f"network: {granted}")
        return msgspec.structs.replace(shared, ports=granted[0], networks=(granted[1],))

    def _task_networks(
        self, shared: AllocatedSharedResources, start: int
    ) -> dict[str, tuple[NetworkResource, ...]] | Shortage:
        """Networks by task; none takes what the group or an earlier task was granted."""
        granted: dict[str, tuple[NetworkResource, ...]] = {}
        mbits = Counter[str]()
        for task_name, ask in self._ask.task_networks:
            offer = self._task_network(ask, shared, granted, mbits, start)
            if isinstance(offer, str) and self._make_room is not None:
                left = self._make_room.clear_network(ask)
                if left is not None:
                    self._use = left
                    offer = self._task_network(ask, shared, granted, mbits, start)
            if isinstance(offer, str):
                return Shortage(f"network: {offer}")
            granted[task_name] = (offer,)
            mbits[offer.device] += offer.mbits
        return granted

    def _task_network(
        self,
        ask: NetworkResource,
        shared: AllocatedSharedResources,
        granted: dict[str, tuple[NetworkResource, ...]],
        mbits: Counter[str],
        start: int,
    ) -> NetworkResource | str:
        ports = PortsInUse(self._node, self._use.ports)
        ports.take(shared.ports)
        for (network,) in granted.values():
            ports.take(
                AllocatedPort(value=port.value, host_ip=network.ip)
                for port in (*network.reserved_ports, *network.dynamic_ports)
            )
        taken = mbits.copy()
        for use in self._use.bandwidth:
            taken[use.device] += use.mbits
        return grant_task_network(self._node, ports, taken, ask, start)

    def _devices(self) -> _Devices | Shortage:
        by_task: dict[str, list[DeviceGrant]] = {}
        matched = total = 0.0
        if not self._ask.devices:
            return by_task, DeviceAffinity(matched, total)
        in_use = DevicesInUse(self._node, self._use.devices)
        for task_name, request in self._ask.devices:
            offer = in_use.grant(request, self._matcher)
            if isinstance(offer, str) and self._make_room is not None:
                left = self._make_room.clear_device(request, in_use)
                if left is not None:
                    self._use = left
                    in_use = DevicesInUse(self._node, left.devices)
                    for granted in by_task.values():
                        for earlier in granted:
                            in_use.take(earlier)
                    offer = in_use.grant(request, self._matcher)
            if isinstance(offer, str):
                return Shortage(f"devices: {offer}")
            by_task.setdefault(task_name, []).append(offer.grant)
            matched += offer.affinity.matched
            total += offer.affinity.total
        return by_task, DeviceAffinity(matched, total)


def _with_host_networks(network: NetworkResource, node: Node) -> NetworkResource | None:
    static = _resolved(network.reserved_ports, node)
    dynamic = _resolved(network.dynamic_ports, node)
    if static is None or dynamic is None:
        return None
    return msgspec.structs.replace(network, reserved_ports=static, dynamic_ports=dynamic)


def _resolved(ports: tuple[Port, ...], node: Node) -> tuple[Port, ...] | None:
    resolved = []
    for port in ports:
        alias = resolve_target(port.host_network, node) if port.host_network else ""
        if alias is None:
            return None
        same = alias == port.host_network
        resolved.append(port if same else msgspec.structs.replace(port, host_network=alias))
    return tuple(resolved)


def _grant_cores(node: Node, use: UseSum, ask: GroupAsk) -> dict[str, tuple[int, ...]] | None:
    if not ask.cores:
        return {}
    held = {core for taken in use.cores for core in taken.cores}
    free = [core for core in usable_cores(node) if core not in held]
    granted: dict[str, tuple[int, ...]] = {}
    for task_name, count in ask.cores.items():
        if len(free) < count:
            return None
        granted[task_name], free = tuple(free[:count]), free[count:]
    return granted


def _with_choices(
    task: AllocatedTaskResources,
    cores: tuple[int, ...],
    devices: list[DeviceGrant] | tuple[()],
    node: Node,
) -> AllocatedTaskResources:
    cpu = (
        AllocatedCpu(cpu_shares=len(cores) * core_speed(node), reserved_cores=cores)
        if cores
        else task.cpu
    )
    return msgspec.structs.replace(task, cpu=cpu, devices=tuple(devices))
