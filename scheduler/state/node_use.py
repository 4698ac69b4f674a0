"""How much of each node is taken, kept exact by every write that changes an allocation.

Two sums: *held* (not client-terminal; what a scheduler sees, placement.md 7) and *planned*
(neither server- nor client-terminal; what the applier checks, evaluations.md 9.3). The arithmetic
on them is here too; whether a sum fits a node is `engine.measure.fit`'s to say.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from scheduler.structs.allocation import Allocation
from scheduler.structs.network import NetworkResource
from scheduler.structs.resources import AllocatedResources, AllocatedTaskResources, TaskLifecycle
from scheduler.structs.wire import Wire


class PortUse(Wire, frozen=True, gc=False):
    """One port taken on one host address by one allocation."""

    host_ip: str = ""
    value: int = 0
    alloc_id: str = ""
    ignore_collision: bool = False


class DeviceUse(Wire, frozen=True, gc=False):
    """One device instance taken by one allocation."""

    vendor: str = ""
    type: str = ""
    name: str = ""
    instance_id: str = ""
    alloc_id: str = ""


class CoreUse(Wire, frozen=True, gc=False):
    """Cores that belong to one allocation alone."""

    alloc_id: str = ""
    cores: tuple[int, ...] = ()


class BandwidthUse(Wire, frozen=True, gc=False):
    """Bandwidth of one device taken by one allocation."""

    device: str = ""
    mbits: int = 0
    alloc_id: str = ""


class UseSum(Wire, frozen=True):
    """The resources of a set of allocations (placement.md 8.2)."""

    #: MHz
    cpu: int = 0
    memory_mb: int = 0
    memory_max_mb: int = 0
    disk_mb: int = 0
    alloc_count: int = 0
    ports: tuple[PortUse, ...] = ()
    devices: tuple[DeviceUse, ...] = ()
    cores: tuple[CoreUse, ...] = ()
    bandwidth: tuple[BandwidthUse, ...] = ()


class NodeUse(Wire, frozen=True):
    """What is taken of one node."""

    node_id: str
    held: UseSum = UseSum()
    planned: UseSum = UseSum()


def shared(use: NodeUse) -> NodeUse:
    """The same with one sum for both, as they mostly are equal; a row decodes into two."""
    if use.planned is use.held or use.planned != use.held:
        return use
    return NodeUse(node_id=use.node_id, held=use.held, planned=use.held)


Item = TypeVar("Item", PortUse, DeviceUse, CoreUse, BandwidthUse)


def use_of(alloc: Allocation) -> UseSum:
    """What one allocation takes, whatever its status."""
    return use_of_resources(alloc.allocated_resources, alloc.id)


def use_of_resources(resources: AllocatedResources, alloc_id: str = "") -> UseSum:
    """What an allocation that is given `resources` takes (placement.md 8.2).

    Per dimension the largest of three phases counts (before, beside and after the main tasks);
    a task with cores of its own holds its CPU through all of them.
    """
    fixed_cpu = 0
    cores: list[int] = []
    phases = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    for name, task in resources.tasks.items():
        cpu = task.cpu.cpu_shares
        if task.cpu.reserved_cores:
            fixed_cpu += cpu
            cores.extend(task.cpu.reserved_cores)
            cpu = 0
        memory_mb = task.memory.memory_mb
        memory_max_mb = task.memory.memory_max_mb or memory_mb
        for phase in _phases_of(resources.task_lifecycles.get(name)):
            sums = phases[phase]
            sums[0] += cpu
            sums[1] += memory_mb
            sums[2] += memory_max_mb
    before, beside, after = phases
    return UseSum(
        cpu=fixed_cpu + max(before[0], beside[0], after[0]),
        memory_mb=max(before[1], beside[1], after[1]),
        memory_max_mb=max(before[2], beside[2], after[2]),
        disk_mb=resources.shared.disk_mb,
        alloc_count=1,
        ports=tuple(_ports_of(resources, alloc_id)),
        devices=tuple(_devices_of(resources.tasks.values(), alloc_id)),
        cores=(CoreUse(alloc_id=alloc_id, cores=tuple(sorted(set(cores)))),) if cores else (),
        bandwidth=tuple(_bandwidth_of(resources, alloc_id)),
    )


def add_use(total: UseSum, use: UseSum) -> UseSum:
    """The sum of two sets that have no allocation in common."""
    return UseSum(
        cpu=total.cpu + use.cpu,
        memory_mb=total.memory_mb + use.memory_mb,
        memory_max_mb=total.memory_max_mb + use.memory_max_mb,
        disk_mb=total.disk_mb + use.disk_mb,
        alloc_count=total.alloc_count + use.alloc_count,
        ports=total.ports + use.ports,
        devices=total.devices + use.devices,
        cores=total.cores + use.cores,
        bandwidth=total.bandwidth + use.bandwidth,
    )


def with_more(use: NodeUse, more: UseSum) -> NodeUse:
    """A node's sums with more in both."""
    planned = add_use(use.planned, more)
    held = planned if use.held is use.planned else add_use(use.held, more)
    return NodeUse(node_id=use.node_id, held=held, planned=planned)


def subtract_use(total: UseSum, use: UseSum) -> UseSum:
    """`total` without `use`, which was added to it before."""
    return UseSum(
        cpu=total.cpu - use.cpu,
        memory_mb=total.memory_mb - use.memory_mb,
        memory_max_mb=total.memory_max_mb - use.memory_max_mb,
        disk_mb=total.disk_mb - use.disk_mb,
        alloc_count=total.alloc_count - use.alloc_count,
        ports=_without(total.ports, use.ports),
        devices=_without(total.devices, use.devices),
        cores=_without(total.cores, use.cores),
        bandwidth=_without(total.bandwidth, use.bandwidth),
    )


def sum_uses(uses: Iterable[UseSum]) -> UseSum:
    """The sum of sets that have no allocation in common, in time linear in their size."""
    parts = list(uses)
    return UseSum(
        cpu=sum(use.cpu for use in parts),
        memory_mb=sum(use.memory_mb for use in parts),
        memory_max_mb=sum(use.memory_max_mb for use in parts),
        disk_mb=sum(use.disk_mb for use in parts),
        alloc_count=sum(use.alloc_count for use in parts),
        ports=tuple(port for use in parts for port in use.ports),
        devices=tuple(device for use in parts for device in use.devices),
        cores=tuple(core for use in parts for core in use.cores),
        bandwidth=tuple(taken for use in parts for taken in use.bandwidth),
    )


def node_use_of(node_id: str, allocs: Iterable[Allocation]) -> NodeUse:
    """Both sums of a node from all its allocations, terminal ones included."""
    live = [(alloc, use_of(alloc)) for alloc in allocs if not alloc.is_client_terminal]
    return NodeUse(
        node_id=node_id,
        held=sum_uses(use for _, use in live),
        planned=sum_uses(use for alloc, use in live if not alloc.is_server_terminal),
    )


def changed_use(use: NodeUse, before: Allocation | None, after: Allocation | None) -> NodeUse:
    """A node's sums after one of its allocations changed, appeared or went.

    Returns `use` itself when neither sum moves, so that a caller sees there is nothing to store.
    """
    held_before, planned_before = _parts(before)
    held_after, planned_after = _parts(after)
    held = _moved(use.held, held_before, held_after)
    planned = _moved(use.planned, planned_before, planned_after)
    if held is use.held and planned is use.planned:
        return use
    return NodeUse(node_id=use.node_id, held=held, planned=planned)


def _phases_of(lifecycle: TaskLifecycle | None) -> tuple[int, ...]:
    if lifecycle is None or lifecycle.hook == "poststart":
        return (1,)
    if lifecycle.hook == "prestart":
        return (0, 1) if lifecycle.sidecar else (0,)
    return (2,) if lifecycle.hook == "poststop" else (1,)


def _ports_of(resources: AllocatedResources, alloc_id: str) -> Iterator[PortUse]:
    if resources.shared.ports:
        for port in resources.shared.ports:
            yield PortUse(
                host_ip=port.host_ip,
                value=port.value,
                alloc_id=alloc_id,
                ignore_collision=port.ignore_collision,
            )
        return
    for network in resources.shared.networks:
        yield from _ports_of_network(network, alloc_id)
    for task in resources.tasks.values():
        if task.networks:
            yield from _ports_of_network(task.networks[0], alloc_id)


def _ports_of_network(network: NetworkResource, alloc_id: str) -> Iterator[PortUse]:
    for port in (*network.reserved_ports, *network.dynamic_ports):
        yield PortUse(
            host_ip=network.ip,
            value=port.value,
            alloc_id=alloc_id,
            ignore_collision=port.ignore_collision,
        )


def _bandwidth_of(resources: AllocatedResources, alloc_id: str) -> Iterator[BandwidthUse]:
    mbits: dict[str, int] = {}
    for task in resources.tasks.values():
        for network in task.networks:
            if network.mbits:
                mbits[network.device] = mbits.get(network.device, 0) + network.mbits
    for device, taken in mbits.items():
        yield BandwidthUse(device=device, mbits=taken, alloc_id=alloc_id)


def _devices_of(tasks: Iterable[AllocatedTaskResources], alloc_id: str) -> Iterator[DeviceUse]:
    for task in tasks:
        for grant in task.devices:
            for instance_id in grant.device_ids:
                yield DeviceUse(
                    vendor=grant.vendor,
                    type=grant.type,
                    name=grant.name,
                    instance_id=instance_id,
                    alloc_id=alloc_id,
                )


def _without(items: tuple[Item, ...], gone: tuple[Item, ...]) -> tuple[Item, ...]:
    if not gone:
        return items
    dropped = set(gone)
    return tuple(item for item in items if item not in dropped)


def _parts(alloc: Allocation | None) -> tuple[UseSum | None, UseSum | None]:
    """What an allocation adds to each of the two sums."""
    if alloc is None or alloc.is_client_terminal:
        return None, None
    use = use_of(alloc)
    return use, None if alloc.is_server_terminal else use


def _moved(total: UseSum, before: UseSum | None, after: UseSum | None) -> UseSum:
    if before == after:
        return total
    if before is not None:
        total = subtract_use(total, before)
    return total if after is None else add_use(total, after)
