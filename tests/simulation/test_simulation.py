"""The control plane through bad days, by seed; a seed that failed once stays in seeds.txt."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.structs.allocation import Allocation
from scheduler.structs.device import DeviceGrant, DeviceGroup, DeviceInstance, RequestedDevice
from scheduler.structs.job import Job
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import Node, ReservedNetworks, ReservedResources
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    Resources,
)
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.simulation.checkers import (
    check_liveness,
    check_lives,
    check_nodes_blameless,
    check_safety,
    event_log,
    is_settled,
)
from tests.simulation.faults import Cluster, Faults
from tests.simulation.world import World

pytestmark = pytest.mark.simulation

SEEDS = [int(line) for line in (Path(__file__).parent / "seeds.txt").read_text().split()]
BAD_DAYS = {
    "perfect": Faults(),
    "lost-messages": Faults(lose_message=0.1),
    "crashing-workers": Faults(crash_worker=0.1, stale_snapshot=0.5),
    "crashing-applier": Faults(crash_applier=0.2, stale_snapshot=0.5),
    "crashing-leader": Faults(crash_leader=0.05),
    "vanishing-nodes": Faults(lose_node=0.02, stale_snapshot=0.5),
    "silences": Faults(silence=0.1),
    "everything": Faults(0.05, 0.05, 0.02, 0.05, 0.01, 0.5),
}


#: Jobs that share a static port ask for so few that all of them find a node.
FEW = 3
GPU = RequestedDevice(name="gpu")


def service(number: int, count: int) -> Job:
    """Each asks for a port of its node's choice; beside it for a static one, a core or a GPU."""
    ports = NetworkResource(mode="host", dynamic_ports=(Port(label="http"),))
    task = make_task()
    match number % 3:
        case 0:
            ports = replace(ports, reserved_ports=(Port(label="admin", value=8080),))
            count = min(count, FEW)
        case 1:
            task = make_task(resources=Resources(cores=1, memory_mb=256))
        case 2:
            task = make_task(resources=Resources(cpu=500, memory_mb=256, devices=(GPU,)))
    group = make_task_group(count=count, networks=(ports,), tasks=(task,))
    return make_job(id=f"job-{number}", task_groups=(group,))


def machine(number: int) -> Node:
    """Two GPUs, and few ports to choose from, of which the node keeps some for itself."""
    plain = make_node(number)
    gpus = DeviceGroup(
        vendor="acme",
        type="gpu",
        name="x1",
        instances=(DeviceInstance(id="gpu-0"), DeviceInstance(id="gpu-1")),
    )
    return replace(
        plain,
        node_resources=replace(
            plain.node_resources,
            devices=(gpus,),
            min_dynamic_port=20_000,
            max_dynamic_port=20_015,
        ),
        reserved_resources=ReservedResources(
            networks=ReservedNetworks(reserved_host_ports="22,20000-20003")
        ),
    )


def live_through(seed: int, faults: Faults) -> Cluster:
    """Forty steps with jobs coming and changing, then quiet until everything has settled."""
    cluster = Cluster(seed, faults)
    world = cluster.world
    world.put_nodes(*(machine(number) for number in range(1, 9)))
    for step in range(40):
        if step % 4 == 0:
            world.put_job(service(step // 4 % 6, int(world.chance.integers(1, 7))))
        cluster.step(float(world.chance.choice([0.1, 1.0, 3.0])))
        check_safety(world)
    cluster.faults = Faults()
    for step in range(400):
        cluster.step(2.0)
        if step > 30 and is_settled(world):
            break
    check_safety(world)
    return cluster


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("faults", BAD_DAYS.values(), ids=BAD_DAYS)
def test_every_job_settles_after_a_bad_day(seed: int, faults: Faults) -> None:
    cluster = live_through(seed, faults)
    check_liveness(cluster.world)
    check_lives(cluster.world, leader_crashed=faults.crash_leader > 0)
    if not faults.lose_node:
        check_nodes_blameless(cluster.world)


def test_the_same_seed_writes_the_same_log() -> None:
    logs = [event_log(live_through(3, BAD_DAYS["everything"]).world) for _ in range(2)]
    assert logs[0] == logs[1]


def test_every_kind_of_thing_is_held_in_the_end() -> None:
    store = live_through(1, Faults()).world.store
    live = [alloc for alloc in store.allocations() if not alloc.is_terminal]
    tasks = [task for alloc in live for task in alloc.allocated_resources.tasks.values()]
    ports = {port.label for alloc in live for port in alloc.allocated_resources.shared.ports}
    assert ports == {"http", "admin"}
    assert any(task.cpu.reserved_cores for task in tasks)
    assert any(task.devices for task in tasks)


def holding(number: int, *ports: int, **task: object) -> Allocation:
    address = machine(1).node_resources.node_networks[0].addresses[0].address
    shared = AllocatedSharedResources(
        ports=tuple(AllocatedPort(value=port, host_ip=address) for port in ports)
    )
    given = AllocatedResources(tasks={"web": AllocatedTaskResources(**task)}, shared=shared)
    return make_allocation(service(0, 6), number, allocated_resources=given)


def gpu(name: str) -> DeviceGrant:
    return DeviceGrant(vendor="acme", type="gpu", name="x1", device_ids=(name,))


@pytest.mark.parametrize(
    "held",
    [
        pytest.param((holding(0, 8080), holding(1, 8080)), id="port-twice"),
        pytest.param((holding(0, 22),), id="port-of-the-node"),
        pytest.param(
            (
                holding(0, cpu=AllocatedCpu(reserved_cores=(2,))),
                holding(1, cpu=AllocatedCpu(reserved_cores=(2, 3))),
            ),
            id="core-twice",
        ),
        pytest.param((holding(0, cpu=AllocatedCpu(reserved_cores=(9,))),), id="no-such-core"),
        pytest.param(
            (holding(0, devices=(gpu("gpu-1"),)), holding(1, devices=(gpu("gpu-1"),))),
            id="device-twice",
        ),
        pytest.param((holding(0, devices=(gpu("gpu-7"),)),), id="no-such-device"),
    ],
)
def test_what_is_given_twice_or_kept_is_seen(held: tuple[Allocation, ...]) -> None:
    world = World(1)
    world.put_nodes(machine(1))
    check_safety(world)
    world.store.write(
        WriteKind.PLAN_RESULT,
        lambda change: [change.put_allocation(alloc) for alloc in held],
        now=world.clock.now(),
    )
    with pytest.raises(AssertionError, match=r"port|core|device|node-1"):
        check_safety(world)
