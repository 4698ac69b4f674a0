"""Evictions: worked examples W16, W17, W19 to W24, W30 and their scenarios."""

import msgspec
import pytest

from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.engine.rank.evict_devices import evict_for_device
from scheduler.engine.rank.evict_networks import (
    Bandwidth,
    bandwidth_cost,
    evict_for_network,
)
from scheduler.engine.rank.evict_resources import evict_for_resources
from scheduler.engine.rank.victim import Amount, Candidate, distance, preemption_score
from scheduler.state.node_use import use_of
from scheduler.structs.constraint import Constraint
from scheduler.structs.device import DeviceGrant, DeviceGroup, DeviceInstance, RequestedDevice
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    Resources,
)
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.scheduler.engine.patterns import Patterns
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node


def victim(
    name, priority, cpu=0, memory=0, disk=0, *, evictable=True, networks=(), devices=(), **more
):
    task = AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=cpu),
        memory=AllocatedMemory(memory_mb=memory),
        devices=devices,
    )
    alloc = make_allocation(
        id=name,
        job_priority=priority,
        allocated_resources=AllocatedResources(
            tasks={"main": task},
            shared=AllocatedSharedResources(disk_mb=disk, networks=networks),
        ),
    )
    return Candidate(alloc, use_of(alloc), evictable, **more)


def names(candidates):
    return None if candidates is None else [candidate.alloc.id for candidate in candidates]


@pytest.mark.parametrize(
    ("capacity", "ask", "candidates", "expected"),
    [
        pytest.param(
            (3900, 7936, 98304),
            (1000, 256, 0),
            [
                victim("A", 100, 1800, 2256, 4096, evictable=False),
                victim("B", 30, 1500, 256, 5120),
                victim("C", 30, 600, 256, 5120),
            ],
            ["B"],
            id="T73-W19-superset-cut",
        ),
        pytest.param(
            (4000, 8000, 50000),
            (1000, 1000, 300),
            [
                victim("P20", 20, 500, 500, 300),
                victim("P30", 30, 3000, 4000, 300),
                victim("P65", 65, 500, 3500, 300, evictable=False),
            ],
            ["P30"],
            id="W20-lowest-priority-first-then-cut",
        ),
        pytest.param(
            (1000, 1000, 1000),
            (500, 500, 500),
            [
                victim("x", 30, 500, 500, 500, max_parallel=1, evicted_before=2),
                victim("y", 30, 500, 400, 400),
            ],
            ["y"],
            id="T74-W21-a-job-that-lost-enough-is-spared",
        ),
        pytest.param(
            (950, 1792, 98304),
            (900, 1700, 150),
            [victim("j1", 30, 500, 1024, 150), victim("j2", 50, 350, 512, 150)],
            ["j2", "j1"],
            id="T73-W22-both-needed",
        ),
        pytest.param(
            (1000, 1000, 1000),
            (500, 500, 0),
            [victim("high", 100, 1000, 1000, 0, evictable=False)],
            None,
            id="T71-only-high-priorities",
        ),
        pytest.param(
            (1000, 1000, 1000),
            (900, 900, 0),
            [
                victim("low", 20, 200, 200, 0),
                victim("high", 100, 800, 800, 0, evictable=False),
            ],
            None,
            id="T71-too-little-to-evict",
        ),
    ],
)
def test_victims_for_resources(capacity, ask, candidates, expected):
    remaining = Amount(*capacity)
    for candidate in candidates:
        remaining = remaining.minus(Amount.of(candidate.use))
    assert names(evict_for_resources(Amount(*ask), remaining, candidates)) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ((2048, 512, 4096), 0.0),
        ((1024, 400, 1024), 0.9275513799784894),
        ((8192, 200, 1024), 3.15179915137767),
        ((2048, 500, 4096), 0.0234375),
    ],
)
def test_w30_distance(used, expected):
    assert distance(Amount(2048, 512, 4096), Amount(*used)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("most", "before", "expected"), [(1, 0, 0), (1, 1, 50), (1, 2, 100), (3, 3, 50), (0, 9, 0)]
)
def test_w21_penalty(most, before, expected):
    assert victim("a", 1, max_parallel=most, evicted_before=before).penalty == expected


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [
        ([20], 0.9999405074518432),
        ([30, 50], 0.9999310954887585),
        ([50, 50], 0.9999309630741529),
        ([90], 0.9999167517334658),
        ([20, 20, 20], 0.9999399336076413),
        ([50], 0.9999312936346494),
    ],
)
def test_w16_preemption_score(priorities, expected):
    victims = [make_allocation(job_priority=priority) for priority in priorities]
    assert preemption_score(victims) == pytest.approx(expected, abs=1e-9)


def network(mbits=0, *ports, device="eth0"):
    return (
        NetworkResource(
            device=device, mbits=mbits, reserved_ports=tuple(Port(value=port) for port in ports)
        ),
    )


W23 = [
    victim("H", 100, networks=network(150), evictable=False),
    victim("L1", 30, networks=network(500)),
    victim("L2", 30, networks=network(320)),
]


@pytest.mark.parametrize(
    ("ask", "free", "candidates", "expected"),
    [
        pytest.param(network(320)[0], 30, W23, ["L2"], id="T73-W23-bandwidth"),
        pytest.param(
            network(0, 80)[0],
            0,
            [victim("a", 30, networks=network(0, 80)), victim("b", 30, networks=network(0, 81))],
            ["a"],
            id="holder-of-a-static-port",
        ),
        pytest.param(
            network(0, 80)[0],
            0,
            [
                victim("a", 90, networks=network(0, 80), evictable=False),
                victim("b", 30, networks=network(0, 81)),
            ],
            None,
            id="T72-port-of-a-high-priority",
        ),
        pytest.param(
            network(0, 80)[0],
            0,
            [
                victim("a", 90, networks=network(0, 80, device="eth0"), evictable=False),
                victim("b", 30, networks=network(0, 81, device="eth0")),
                victim("c", 30, networks=network(0, 80, device="eth1")),
            ],
            ["c"],
            id="T72-only-on-the-device-where-the-port-is-free",
        ),
        pytest.param(
            network(400, 80)[0],
            0,
            [
                victim("holder", 40, networks=network(500, 80)),
                victim("other", 30, networks=network(500)),
            ],
            ["holder"],
            id="T73-holder-frees-the-bandwidth-too",
        ),
        pytest.param(network(2000)[0], 0, W23, None, id="more-than-the-device-has"),
        pytest.param(network(0)[0], 0, [victim("a", 30)], None, id="nobody-has-a-network"),
    ],
)
def test_victims_for_a_network(ask, free, candidates, expected):
    bandwidths = {"eth0": Bandwidth(1000, free), "eth1": Bandwidth(1000, 1000)}
    assert names(evict_for_network(ask, bandwidths, candidates)) == expected


def test_w23_what_frees_too_little_bandwidth_costs_its_distance_and_its_penalty():
    asked = network(320)[0]
    costly = victim("L2", 30, networks=network(300), max_parallel=1, evicted_before=1)
    first = victim("L1", 30, networks=network(500))
    assert bandwidth_cost(asked, network(300)[0], costly) == pytest.approx(50.0625, abs=1e-9)
    found = evict_for_network(asked, {"eth0": Bandwidth(1000, 30)}, [costly, first])
    assert names(found) == ["L1"]


def gpus(name, *ids):
    return (DeviceGrant(vendor="nvidia", type="gpu", name=name, device_ids=ids),)


def gpu_group(name, count, type_="gpu"):
    return DeviceGroup(
        vendor="nvidia",
        type=type_,
        name=name,
        instances=tuple(DeviceInstance(id=f"{name}-{n}") for n in range(count)),
    )


def ids(name, first, count):
    return [f"{name}-{n}" for n in range(first, first + count)]


GROUPS = [gpu_group("G1", 4), gpu_group("G2", 5), gpu_group("F", 2, "fpga")]


@pytest.mark.parametrize(
    ("wanted", "candidates", "expected"),
    [
        pytest.param(
            4,
            [
                victim("a", 30, devices=gpus("G1", *ids("G1", 0, 2))),
                victim("b", 40, devices=gpus("G1", *ids("G1", 2, 2))),
                victim("c", 30, devices=gpus("G2", *ids("G2", 0, 2))),
                victim("d", 30, devices=gpus("G2", *ids("G2", 2, 2))),
                victim("e", 30, devices=gpus("G2", *ids("G2", 4, 1))),
            ],
            ["c", "d"],
            id="T73-W24-distinct-priorities-add-up-to-less",
        ),
        pytest.param(
            6,
            [
                victim("a", 30, devices=gpus("G1", *ids("G1", 0, 4))),
                victim("c", 30, devices=gpus("G2", *ids("G2", 0, 5))),
            ],
            None,
            id="T75-more-than-any-group-has",
        ),
        pytest.param(
            5,
            [
                victim("a", 90, devices=gpus("G2", *ids("G2", 0, 1)), evictable=False),
                victim(
                    "f",
                    30,
                    devices=(
                        DeviceGrant(vendor="nvidia", type="fpga", name="F", device_ids=("F-0",)),
                    ),
                ),
            ],
            None,
            id="evicting-another-type-would-not-help",
        ),
        pytest.param(
            4,
            [
                victim(
                    "f",
                    10,
                    devices=(
                        DeviceGrant(vendor="nvidia", type="fpga", name="F", device_ids=("F-0",)),
                    ),
                ),
                victim("a", 30, devices=gpus("G1", *ids("G1", 0, 4))),
                victim("b", 90, devices=gpus("G2", *ids("G2", 0, 2)), evictable=False),
            ],
            ["a"],
            id="T75-users-of-another-type-are-left-alone",
        ),
    ],
)
def test_victims_for_devices(wanted, candidates, expected):
    in_use = DevicesInUse(
        msgspec.structs.replace(
            make_node(),
            node_resources=msgspec.structs.replace(
                make_node().node_resources, devices=tuple(GROUPS)
            ),
        ),
        [use for candidate in candidates for use in candidate.use.devices],
    )
    request = RequestedDevice(name="gpu", count=wanted)
    found = evict_for_device(request, GROUPS, in_use, candidates, Patterns())
    assert names(found) == expected


def low_job(number, priority, **fields):
    return make_job(id=f"low-{number}", priority=priority, **fields)


def low_alloc(job, number, cpu, memory, **fields):
    return victim(f"low-{number}", job.priority, cpu, memory, **fields).alloc.changed(
        job_id=job.id, node_id=make_node(1).id
    )


def test_w17_a_node_scores_as_if_over_full_after_evicting():
    low, middle = low_job(1, 30), low_job(2, 50)
    allocs = [low_alloc(low, 1, 2000, 4000), low_alloc(middle, 2, 2000, 4000)]
    job = job_of(group_of(3000, 6000), priority=100)
    scene = Scene([plain_node(1)], job, allocs, others=[low, middle])
    assert scene.select() is None
    found = scene.select(preempt=True)
    assert sorted(alloc.id for alloc in found.preempted) == ["low-1", "low-2"]
    assert found.scores == pytest.approx(
        {
            "binpack": 1.0,
            "job-anti-affinity": 0.0,
            "node-reschedule-penalty": 0.0,
            "node-affinity": 0.0,
            "preemption": 0.9999310954887585,
        },
        abs=1e-9,
    )
    assert found.norm_score == pytest.approx(0.9999655477443792, abs=1e-9)


@pytest.mark.parametrize(
    ("priority", "is_found"),
    [
        pytest.param(35, False, id="T71-gap-of-five"),
        pytest.param(39, False, id="gap-of-nine"),
        pytest.param(40, True, id="gap-of-ten"),
    ],
)
def test_only_clearly_lower_priorities_are_evicted(priority, is_found):
    low = low_job(1, 30)
    job = job_of(group_of(3000, 6000), priority=priority)
    scene = Scene([plain_node(1)], job, [low_alloc(low, 1, 4000, 8000)], others=[low])
    assert (scene.select(preempt=True) is not None) is is_found


def test_of_two_nodes_the_lower_net_priority_is_evicted():
    low, middle = low_job(1, 20), low_job(2, 50)
    allocs = [
        low_alloc(middle, 1, 4000, 8000),
        low_alloc(low, 2, 4000, 8000).changed(node_id=make_node(2).id),
    ]
    job = job_of(group_of(3000, 6000), priority=100)
    scene = Scene([plain_node(1), plain_node(2)], job, allocs, others=[low, middle])
    found = scene.select(preempt=True)
    assert (found.node.name, [alloc.id for alloc in found.preempted]) == ("node-2", ["low-2"])


def test_t73_a_node_gives_up_who_holds_the_port_and_who_holds_the_room():
    low = low_job(1, 30)
    allocs = [
        low_alloc(low, 1, 300, 500, networks=network(0, 80)).changed(id="port"),
        low_alloc(low, 2, 1800, 3500).changed(id="cpu"),
        low_alloc(low, 3, 1800, 3500).changed(id="memory"),
        low_alloc(low, 4, 10, 10).changed(id="small"),
    ]
    job = job_of(group_of(3900, 7500, networks=(port_80(),)), priority=100)
    scene = Scene([plain_node(1)], job, allocs, others=[low])
    found = scene.select(preempt=True)
    assert sorted(alloc.id for alloc in found.preempted) == ["cpu", "memory", "port"]


def port_80():
    return NetworkResource(
        mode="host", reserved_ports=(Port(label="http", value=80, host_network="default"),)
    )


@pytest.mark.parametrize("cpu", [3000, 9000], ids=["held-by-others", "more-than-the-node-has"])
def test_a_node_whose_port_can_be_freed_but_not_its_cpu_lacks_cpu(cpu):
    low, high = low_job(1, 30), low_job(2, 95)
    held = (
        msgspec.structs.replace(network(0, 80)[0], ip=plain_node(1).node_resources.networks[0].ip),
    )
    allocs = [
        low_alloc(low, 1, 300, 500, networks=held),
        low_alloc(high, 2, 1800, 3500),
    ]
    job = job_of(group_of(cpu, 500, networks=(port_80(),)), priority=100)
    scene = Scene([plain_node(1)], job, allocs, others=[low, high])
    only = {"only_node_id": make_node(1).id}
    found = []
    for options in ({}, {"preempt": True}, {}, {"preempt": True, **only}):
        assert scene.select(**options) is None
        found.append(scene.context.metrics.dimension_exhausted)
    port, room = {"network: reserved port collision http=80": 1}, {"cpu": 1}
    assert found == [port, room, port, room]


def test_t74_a_group_gives_up_no_more_than_may_leave_at_a_time():
    migrate = MigrateStrategy(max_parallel=1)
    crowd = low_job(1, 30, task_groups=(make_task_group(migrate=migrate),))
    other = low_job(2, 30, task_groups=(make_task_group(migrate=migrate),))
    allocs = [
        low_alloc(crowd, 1, 2000, 4000),
        low_alloc(crowd, 2, 1000, 2000),
        low_alloc(other, 3, 1000, 2000),
    ]
    job = job_of(group_of(1000, 2000, count=2), priority=100)
    scene = Scene([plain_node(1)], job, allocs, others=[crowd, other])
    scene.context.add_preemption(allocs[0])
    scene.context.add_placement(
        make_allocation(job, id="new", create_index=0).changed(
            allocated_resources=allocs[0].allocated_resources
        )
    )
    found = scene.select(preempt=True)
    assert [alloc.id for alloc in found.preempted] == ["low-3"]


def gpu_scene(requests, users, *, others):
    node = plain_node(1)
    node = msgspec.structs.replace(
        node,
        node_resources=msgspec.structs.replace(node.node_resources, devices=(gpu_group("G1", 4),)),
    )
    task = make_task(resources=Resources(cpu=100, memory_mb=100, devices=requests))
    job = job_of(make_task_group(tasks=(task,), count=2), priority=100)
    return Scene([node], job, users, others=others)


def test_t76_each_victim_is_evicted_once():
    low = low_job(1, 30)
    users = [low_alloc(low, n, 100, 100, devices=gpus("G1", f"G1-{n}")) for n in range(4)]
    scene = gpu_scene((RequestedDevice(name="gpu", count=2),), users, others=[low])
    evicted = [alloc.id for _ in range(2) for alloc in scene.place(preempt=True).preempted]
    assert sorted(evicted) == ["low-0", "low-1", "low-2", "low-3"]


def test_t77_two_requests_of_one_task_get_different_instances():
    low = low_job(1, 30)
    users = [low_alloc(low, 1, 100, 100, devices=gpus("G1", *ids("G1", 0, 4)))]
    requests = (RequestedDevice(name="gpu", count=1), RequestedDevice(name="gpu", count=2))
    found = gpu_scene(requests, users, others=[low]).select(preempt=True)
    given = [
        instance for grant in found.resources.tasks["web"].devices for instance in grant.device_ids
    ]
    assert (len(given), len(set(given))) == (3, 3)
    assert [alloc.id for alloc in found.preempted] == ["low-1"]


def test_t78_with_nothing_to_evict_the_reason_stays():
    high = low_job(1, 95)
    users = [low_alloc(high, 1, 100, 100, devices=gpus("G1", *ids("G1", 0, 4)))]
    scene = gpu_scene((RequestedDevice(name="gpu", count=1),), users, others=[high])
    assert scene.select(preempt=True) is None
    assert scene.context.metrics.dimension_exhausted == {"devices: no devices match request": 1}


def test_a_filtered_node_is_never_cleared():
    low = low_job(1, 10)
    never = Constraint(l_target="${node.class}", r_target="none", operand="=")
    job = job_of(group_of(3000, 6000, constraints=(never,)), priority=100)
    scene = Scene([plain_node(1)], job, [low_alloc(low, 1, 4000, 8000)], others=[low])
    assert scene.select(preempt=True) is None
    assert scene.context.metrics.constraint_filtered == {"${node.class} = none": 1}
