"""What an allocation would be given on one node: ports, devices, cores (placement.md 8.5 to 8.7).

In: a node, what is taken of it, a group's ask. Out: a Grant, or the text of what ran out. Whether
CPU, memory and disk suffice is `measure.fit`'s question.
"""

from typing import NamedTuple

import msgspec

from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.measure.device_match import DeviceAffinity
from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.engine.measure.fit import core_speed, usable_cores
from scheduler.engine.measure.ports_in_use import PortsInUse
from scheduler.ports import PatternMatcher
from scheduler.state.node_use import UseSum, use_of_resources
from scheduler.structs.device import DeviceGrant
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.node import Node
from scheduler.structs.node_target import resolve_target
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedResources,
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


def grant(
    node: Node, use: UseSum, ask: GroupAsk, matcher: PatternMatcher, port_start: int
) -> Grant | Shortage:
    """Choose ports, then devices, then cores; the first that runs out decides the dimension."""
    if ask.is_plain:
        return Grant(ask.resources, ask.use, DeviceAffinity(0.0, 0.0))
    shared = ask.resources.shared
    ports = PortsInUse(node, use.ports)
    if not ports.is_valid:
        return Shortage("network: invalid node")
    if ports.collision is not None:
        return Shortage("network: port collision")
    if ask.network is not None:
        network = _with_host_networks(ask.network, node)
        if network is None:
            return Shortage(UNCOUNTED)
        granted = ports.grant(network, port_start)
        if isinstance(granted, str):
            return Shortage(f"network: {granted}")
        ports.take(granted[0])
        shared = msgspec.structs.replace(shared, ports=granted[0], networks=(granted[1],))
    devices = _grant_devices(node, use, ask, matcher)
    if isinstance(devices, Shortage):
        return devices
    cores = _grant_cores(node, use, ask)
    if cores is None:
        return Shortage("cores")
    by_task, affinity = devices
    tasks = {
        name: _with_choices(task, cores.get(name, ()), by_task.get(name, ()), node)
        for name, task in ask.resources.tasks.items()
    }
    resources = msgspec.structs.replace(ask.resources, tasks=tasks, shared=shared)
    return Grant(resources, use_of_resources(resources), affinity)


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


def _grant_devices(
    node: Node, use: UseSum, ask: GroupAsk, matcher: PatternMatcher
) -> _Devices | Shortage:
    by_task: dict[str, list[DeviceGrant]] = {}
    matched = total = 0.0
    devices = DevicesInUse(node, use.devices) if ask.devices else None
    for task_name, request in ask.devices:
        assert devices is not None, "made above when anything is asked"
        offer = devices.grant(request, matcher)
        if isinstance(offer, str):
            return Shortage(f"devices: {offer}")
        by_task.setdefault(task_name, []).append(offer.grant)
        matched += offer.affinity.matched
        total += offer.affinity.total
    return by_task, DeviceAffinity(matched, total)


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
