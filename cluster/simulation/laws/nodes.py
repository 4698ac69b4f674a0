"""What must hold of nodes after each write."""

from collections import Counter
from collections.abc import Iterator

from cluster.simulation.laws.law import Laws, Written
from scheduler.engine.measure.ports_in_use import parse_ports
from scheduler.state.node_use import UseSum, node_use_of, use_of
from scheduler.state.nouns import ALLOCATIONS, NODE_USES, NODES
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import Node, NodeEligibility, NodeStatus

#: A port of an address, a core or an instance of a device.
Thing = tuple[object, ...]
LAWS: Laws[Written] = Laws()


@LAWS.add("room", "no node gives more CPU, memory or disk than it has, nor a thing twice")
def _room(look: Written) -> Iterator[str]:
    for node_id in sorted(_changed_nodes(look)):
        node = look.record.node(node_id)
        if node is None:
            continue
        live = [a for a in look.record.allocations_by_node(node_id) if not a.is_terminal]
        uses = [use_of(alloc) for alloc in live]
        given, kept = node.node_resources, node.reserved_resources
        for name, taken, room in (
            ("CPU", sum(use.cpu for use in uses), given.cpu.cpu_shares - kept.cpu.cpu_shares),
            (
                "memory",
                sum(use.memory_mb for use in uses),
                given.memory.memory_mb - kept.memory.memory_mb,
            ),
            (
                "disk",
                sum(use.disk_mb for use in uses),
                given.disk.disk_mb - kept.disk.disk_mb,
            ),
        ):
            if taken > room:
                yield f"{node.name} gives {taken} of {room} {name}"
        held = Counter(thing for alloc in live for thing in _held(alloc))
        yield from (f"{node.name} gives {it} twice" for it, count in held.items() if count > 1)
        yield from (f"{node.name} gives {it}, which it keeps" for it in held if it in _kept(node))
        has = _owned(node)
        for thing in held:
            if thing[0] != "port" and thing not in has:
                yield f"{node.name} gives {thing}, which it does not have"


@LAWS.add("node-use", "the sums kept beside a node are those of its allocations")
def _node_use(look: Written) -> Iterator[str]:
    for node_id in sorted(_changed_nodes(look)):
        stored = look.record.get(NODE_USES, node_id)
        counted = node_use_of(node_id, look.record.allocations_by_node(node_id))
        for name, kept, real in (
            ("held", stored.held if stored else UseSum(), counted.held),
            ("planned", stored.planned if stored else UseSum(), counted.planned),
        ):
            if _plain(kept) != _plain(real):
                yield f"{node_id[-4:]}: {name} is kept as {_plain(kept)}, counted {_plain(real)}"


@LAWS.add("usable", "nothing is placed on a node that is not ready, closed or draining")
def _usable(look: Written) -> Iterator[str]:
    for before, alloc in look.of(ALLOCATIONS):
        if before is not None or alloc is None:
            continue
        node = look.record.node(alloc.node_id)
        if node is None:
            yield f"{alloc.name} is placed on a node that is gone"
        elif node.status is not NodeStatus.READY:
            yield f"{alloc.name} is placed on {node.name}, which is {node.status}"
        elif node.scheduling_eligibility is not NodeEligibility.ELIGIBLE:
            yield f"{alloc.name} is placed on {node.name}, which is closed"
        elif node.drain_strategy is not None:
            yield f"{alloc.name} is placed on {node.name}, which is draining"


@LAWS.add("closed-while-draining", "a node that drains takes nothing new")
def _closed(look: Written) -> Iterator[str]:
    for _, node in look.of(NODES):
        if node is None or node.drain_strategy is None:
            continue
        if node.scheduling_eligibility is NodeEligibility.ELIGIBLE:
            yield f"{node.name} drains and is eligible"


def _changed_nodes(look: Written) -> set[str]:
    rows = (row for pair in look.of(ALLOCATIONS) for row in pair if row is not None)
    return {alloc.node_id for alloc in rows}


def _plain(use: UseSum) -> tuple[object, ...]:
    """Without the order in which they came."""
    return (
        use.cpu,
        use.memory_mb,
        use.disk_mb,
        use.alloc_count,
        sorted((port.host_ip, port.value, port.alloc_id) for port in use.ports),
        sorted((each.name, each.instance_id, each.alloc_id) for each in use.devices),
        sorted((each.alloc_id, each.cores) for each in use.cores),
    )


def _held(alloc: Allocation) -> Iterator[Thing]:
    """What the allocation has for itself alone."""
    given = alloc.allocated_resources
    for port in given.shared.ports:
        yield "port", port.host_ip, port.value
    for task in given.tasks.values():
        for core in task.cpu.reserved_cores:
            yield "core", core
        for grant in task.devices:
            for device_id in grant.device_ids:
                yield "device", grant.vendor, grant.type, grant.name, device_id


def _kept(node: Node) -> set[Thing]:
    """What the node keeps for itself."""
    kept = node.reserved_resources
    everywhere = parse_ports(kept.networks.reserved_host_ports)
    assert everywhere is not None, "it was checked when the node was registered"
    ports: set[Thing] = {
        ("port", address.address, port)
        for network in node.node_resources.node_networks
        for address in network.addresses
        for port in everywhere | (parse_ports(address.reserved_ports) or frozenset())
    }
    return ports | {("core", core) for core in kept.cpu.reserved_cpu_cores}


def _owned(node: Node) -> set[Thing]:
    """The cores and devices that the node has to give."""
    given = node.node_resources
    cores: set[Thing] = {("core", core) for core in given.cpu.reservable_cpu_cores}
    return cores | {
        ("device", group.vendor, group.type, group.name, instance.id)
        for group in given.devices
        for instance in group.instances
    }
