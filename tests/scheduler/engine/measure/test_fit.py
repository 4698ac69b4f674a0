"""Whether allocations fit on a node."""

import msgspec
import pytest

from scheduler.engine.measure.ask import ask_of
from scheduler.engine.measure.fit import (
    allocations_fit,
    core_speed,
    exceeds_max_allocs,
    first_misfit,
    usable_cores,
)
from scheduler.state.node_use import CoreUse, DeviceUse, PortUse, UseSum, add_use, use_of
from scheduler.structs.device import DeviceGroup, DeviceInstance
from scheduler.structs.node import (
    NodeCpu,
    NodeDisk,
    NodeMemory,
    ReservedCpu,
    ReservedNetworks,
    ReservedResources,
)
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
    Resources,
    TaskLifecycle,
)
from tests.builders import make_allocation, make_node, make_task, make_task_group

NODE = msgspec.structs.replace(
    make_node(1),
    reserved_resources=ReservedResources(
        cpu=ReservedCpu(cpu_shares=1000, reserved_cpu_cores=(0,)),
        memory=NodeMemory(memory_mb=1024),
        disk=NodeDisk(disk_mb=5000),
        networks=ReservedNetworks(reserved_host_ports="22"),
    ),
)
FULL = UseSum(cpu=3000, memory_mb=7168, disk_mb=100 * 1024 - 5000, alloc_count=1)
GPU = DeviceUse(vendor="nvidia", type="gpu", name="t4", instance_id="g1")


def use(**fields):
    return msgspec.structs.replace(FULL, **fields)


def cores(*sets):
    return tuple(CoreUse(alloc_id=str(n), cores=tuple(held)) for n, held in enumerate(sets))


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param(FULL, None, id="T39-equality-fits"),
        pytest.param(use(cpu=3001), "cpu", id="T39-cpu"),
        pytest.param(use(memory_mb=7169), "memory", id="T39-memory"),
        pytest.param(use(memory_max_mb=80_000), None, id="T42-maxima-do-not-limit"),
        pytest.param(use(disk_mb=100 * 1024), "disk", id="disk"),
        pytest.param(use(cpu=9999, memory_mb=99_999), "cpu", id="cpu-comes-before-memory"),
        pytest.param(use(cores=cores([1], [2])), None, id="cores-apart"),
        pytest.param(use(cpu=9999, cores=cores([1, 2], [2])), "cores", id="T41-core-held-twice"),
        pytest.param(use(cores=cores([0])), "cores", id="core-the-node-keeps"),
        pytest.param(use(cores=cores([9])), "cores", id="core-the-node-lacks"),
        pytest.param(use(cpu=9999, cores=cores([9])), "cpu", id="cpu-comes-before-unknown-cores"),
    ],
)
def test_the_first_misfit_is_named(held, expected):
    assert first_misfit(NODE, held) == expected
    assert allocations_fit(NODE, held) == expected


def test_t42_maxima_add_up_beside_what_is_reserved():
    asked = Resources(cpu=10, memory_mb=100, memory_max_mb=4000)
    group = make_task_group(tasks=(make_task(resources=asked),))
    one = ask_of(group, oversubscription=True).use
    both = add_use(one, one)
    assert (both.memory_mb, both.memory_max_mb) == (200, 8000)
    assert allocations_fit(NODE, both) is None


def test_t41_a_task_with_cores_of_its_own_adds_cpu_but_shares_memory_by_phase():
    def task(name, cpu, memory_mb, reserved=(), lifecycle=None):
        resources = AllocatedTaskResources(
            cpu=AllocatedCpu(cpu_shares=cpu, reserved_cores=reserved),
            memory=AllocatedMemory(memory_mb=memory_mb),
        )
        return name, resources, lifecycle

    tasks = [
        task("before", 2000, 1000, (1,), TaskLifecycle(hook="prestart")),
        task("main", 1000, 2000, (2,)),
    ]
    alloc = make_allocation(
        allocated_resources=AllocatedResources(
            tasks={name: resources for name, resources, _ in tasks},
            task_lifecycles={name: lifecycle for name, _, lifecycle in tasks},
        )
    )
    use = use_of(alloc)
    assert (use.cpu, use.memory_mb) == (3000, 2000)
    assert [held.cores for held in use.cores] == [(1, 2)]


def port(value, **fields):
    return PortUse(value=value, host_ip=NODE.node_resources.networks[0].ip, **fields)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param(use(ports=(port(80), port(81))), None, id="ports-apart"),
        pytest.param(
            use(ports=(port(80), port(80))),
            "reserved alloc port collision: port 80 on 10.0.0.2",
            id="port-held-twice",
        ),
        pytest.param(
            use(ports=(port(80), port(80, ignore_collision=True))), None, id="T55-ignored"
        ),
        pytest.param(
            use(ports=(port(22),)),
            "reserved alloc port collision: port 22 on 10.0.0.2",
            id="port-the-node-keeps",
        ),
        pytest.param(use(devices=(GPU, GPU)), "device oversubscribed", id="T44-device-held-twice"),
        pytest.param(
            use(devices=(msgspec.structs.replace(GPU, instance_id="?"),) * 2),
            None,
            id="instance-the-node-does-not-know",
        ),
        pytest.param(use(cpu=9999, devices=(GPU, GPU)), "cpu", id="resources-come-first"),
    ],
)
def test_the_applier_also_looks_at_ports_and_devices(held, expected):
    group = DeviceGroup(
        vendor="nvidia", type="gpu", name="t4", instances=(DeviceInstance(id="g1"),)
    )
    node = msgspec.structs.replace(
        NODE, node_resources=msgspec.structs.replace(NODE.node_resources, devices=(group,))
    )
    assert allocations_fit(node, held) == expected
    assert first_misfit(node, held) in {None, "cpu"}


def test_t51_unreadable_reserved_ports_fit_nothing():
    node = msgspec.structs.replace(
        NODE,
        reserved_resources=ReservedResources(networks=ReservedNetworks(reserved_host_ports="x")),
    )
    assert allocations_fit(node, FULL) == "reserved node port collision: invalid reserved ports"


@pytest.mark.parametrize(
    ("limit", "count", "expected"), [(0, 99, False), (2, 2, False), (2, 3, True)]
)
def test_t43_a_limit_on_allocations(limit, count, expected):
    assert exceeds_max_allocs(make_node(node_max_allocs=limit), count) is expected


@pytest.mark.parametrize(
    ("cpu", "expected", "speed"),
    [
        pytest.param(NodeCpu(cpu_shares=4000), (), 0, id="none-listed"),
        pytest.param(NodeCpu(cpu_shares=4000, total_cpu_cores=2), (0, 1), 2000, id="counted"),
        pytest.param(
            NodeCpu(cpu_shares=4001, total_cpu_cores=8, reservable_cpu_cores=(5, 3)),
            (3, 5),
            2000,
            id="listed",
        ),
    ],
)
def test_cores_of_a_node(cpu, expected, speed):
    node = msgspec.structs.replace(
        NODE, node_resources=msgspec.structs.replace(NODE.node_resources, cpu=cpu)
    )
    assert (usable_cores(node), core_speed(node)) == (expected, speed)
