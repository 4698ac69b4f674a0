"""What must hold whatever happens (safety), and what must hold once faults stop (liveness)."""

from collections import Counter
from collections.abc import Hashable, Iterable

import msgspec

from scheduler.broker.places import BrokerStats
from scheduler.engine.measure.ports_in_use import parse_ports
from scheduler.state.node_use import use_of
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus
from tests.namespace_sums import counted_sums, kept_sums
from tests.simulation.world import World

#: A port of an address, a core or an instance of a device.
Thing = tuple[Hashable, ...]


def check_safety(world: World) -> None:
    """No node holds more than it has, nor gives one thing twice or what it keeps for itself.

    No job runs a name twice or more than it ever asked for.
    """
    store = world.store
    for node in store.nodes():
        live = [a for a in store.allocations_by_node(node.id) if not a.is_terminal]
        uses = [use_of(alloc) for alloc in live]
        assert sum(use.cpu for use in uses) <= node.node_resources.cpu.cpu_shares
        assert sum(use.memory_mb for use in uses) <= node.node_resources.memory.memory_mb
        held = Counter(thing for alloc in live for thing in _held(alloc))
        assert not [thing for thing, count in held.items() if count > 1], node.name
        assert not held.keys() & _kept(node), node.name
        assert {thing for thing in held if thing[0] != "port"} <= _owned(node), node.name
    for job in store.jobs():
        live = [a for a in store.allocations_by_job(job.key) if not a.is_terminal]
        names = Counter(alloc.name for alloc in live)
        assert not [name for name, count in names.items() if count > 1], names
        assert len(live) <= max(_wanted(version) for version in store.job_versions(job.key))
    assert kept_sums(store) == counted_sums(store.allocations())
    indexes = [frame.index for frame in store.frames_since(0, limit=1_000_000)]
    assert indexes == list(range(1, store.index + 1))


def check_liveness(world: World) -> None:
    """Everything settled: every job runs as asked, nothing waits for anybody."""
    store = world.store
    for job in store.jobs():
        live = [a for a in store.allocations_by_job(job.key) if not a.is_terminal]
        assert len(live) == _wanted(job), job.id
    assert world.leader.broker.stats() == BrokerStats()
    assert [e for e in store.evaluations() if e.status is EvalStatus.PENDING] == []


def is_settled(world: World) -> bool:
    """Nothing is left to be done."""
    is_quiet = world.leader.broker.stats() == BrokerStats()
    return is_quiet and all(e.status is not EvalStatus.PENDING for e in world.store.evaluations())


def check_lives(world: World, *, leader_crashed: bool) -> None:
    """Every evaluation's steps count up from one and end with its status.

    A leader that crashes takes the steps of its last second with it.
    """
    for evaluation in world.store.evaluations():
        steps = world.store.lifecycle(evaluation.id)
        assert [step.number for step in steps] == list(range(1, len(steps) + 1))
        if evaluation.is_terminal and not leader_crashed:
            assert steps[-1].step.value == evaluation.status.value


def check_nodes_blameless(world: World) -> None:
    """No node that lives was ever written down as anything but ready."""
    frames = world.store.frames_since(0, limit=1_000_000)
    nodes = [event.value for frame in frames for event in frame.events]
    statuses = {node.status for node in nodes if isinstance(node, Node)}
    assert statuses == {NodeStatus.READY}


def event_log(world: World) -> bytes:
    """Everything that was ever written, byte for byte."""
    return msgspec.msgpack.encode(list(world.store.frames_since(0, limit=1_000_000)))


def _held(alloc: Allocation) -> Iterable[Thing]:
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
    assert everywhere is not None
    ports = {
        ("port", address.address, port)
        for network in node.node_resources.node_networks
        for address in network.addresses
        for port in everywhere | (parse_ports(address.reserved_ports) or frozenset())
    }
    return ports | {("core", core) for core in kept.cpu.reserved_cpu_cores}


def _owned(node: Node) -> set[Thing]:
    """The cores and devices that the node has to give."""
    given = node.node_resources
    return {("core", core) for core in given.cpu.reservable_cpu_cores} | {
        ("device", group.vendor, group.type, group.name, instance.id)
        for group in given.devices
        for instance in group.instances
    }


def _wanted(job: Job) -> int:
    return 0 if job.stop else sum(group.count for group in job.task_groups)
