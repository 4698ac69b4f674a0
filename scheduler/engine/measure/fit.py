"""Does a set of allocations fit on a node (placement.md 8.4, evaluations.md 9.4)?

In: a node and the sum of what its allocations take. Out: the first dimension that does not fit, or
None. The engine asks before it places, the applier before it commits; both get the same answer.
"""

from collections.abc import Iterable

from scheduler.engine.measure.ports_in_use import PortsInUse
from scheduler.state.node_table import capacity_of
from scheduler.state.node_use import CoreUse, UseSum
from scheduler.structs.node import Node


def exceeds_max_allocs(node: Node, alloc_count: int) -> bool:
    """Whether this many allocations are more than the node takes."""
    return 0 < node.node_max_allocs < alloc_count


def first_misfit(node: Node, use: UseSum) -> str | None:
    """`cores`, `cpu`, `memory` or `disk`, whichever is exceeded first; equality fits.

    Ports, devices and the limit on allocations are not looked at.
    """
    cpu, memory_mb, disk_mb = capacity_of(node)
    taken = _all_cores(use.cores)
    if taken is None:
        return "cores"
    if use.cpu > cpu:
        return "cpu"
    if use.cores:
        usable = capacity_cores(node)
        if usable and not taken <= usable:
            return "cores"
    if use.memory_mb > memory_mb:
        return "memory"
    return "disk" if use.disk_mb > disk_mb else None


def allocations_fit(node: Node, use: UseSum) -> str | None:
    """The applier's question: `first_misfit`, then port collisions, then devices given twice.

    The limit on allocations is a matter of its own, see `exceeds_max_allocs`: there it fails the
    whole plan (evaluations.md 9.4).
    """
    return first_misfit(node, use) or _port_misfit(node, use) or _device_misfit(node, use)


def usable_cores(node: Node) -> tuple[int, ...]:
    """The cores that tasks can have whole, in ascending order."""
    cpu = node.node_resources.cpu
    if cpu.reservable_cpu_cores:
        return tuple(sorted(cpu.reservable_cpu_cores))
    return tuple(range(cpu.total_cpu_cores)) if cpu.cpu_shares else ()


def core_speed(node: Node) -> int:
    """MHz of one core, all cores being alike; 0 without cores."""
    count = len(usable_cores(node))
    return node.node_resources.cpu.cpu_shares // count if count else 0


def capacity_cores(node: Node) -> frozenset[int]:
    """Usable cores that the node does not keep for itself."""
    return frozenset(usable_cores(node)).difference(node.reserved_resources.cpu.reserved_cpu_cores)


def _all_cores(uses: Iterable[CoreUse]) -> set[int] | None:
    taken: set[int] = set()
    for use in uses:
        if not taken.isdisjoint(use.cores):
            return None
        taken.update(use.cores)
    return taken


def _port_misfit(node: Node, use: UseSum) -> str | None:
    ports = PortsInUse(node, use.ports)
    if not ports.is_valid:
        return "reserved node port collision: invalid reserved ports"
    if ports.collision is not None:
        taken = ports.collision
        return f"reserved alloc port collision: port {taken.value} on {taken.host_ip}"
    return None


def _device_misfit(node: Node, use: UseSum) -> str | None:
    if not use.devices:
        return None
    healthy = {
        (group.vendor, group.type, group.name, instance.id)
        for group in node.node_resources.devices
        for instance in group.instances
        if instance.healthy
    }
    seen: set[tuple[str, str, str, str]] = set()
    for device in use.devices:
        instance = (device.vendor, device.type, device.name, device.instance_id)
        if instance in seen:
            return "device oversubscribed"
        if instance in healthy:
            seen.add(instance)
    return None
