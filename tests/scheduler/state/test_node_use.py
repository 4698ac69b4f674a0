"""What allocations take of a node."""

import pytest

from scheduler.state.node_use import (
    CoreUse,
    DeviceUse,
    NodeUse,
    PortUse,
    UseSum,
    add_use,
    changed_use,
    node_use_of,
    subtract_use,
    sum_uses,
    use_of,
)
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.device import DeviceGrant
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    TaskLifecycle,
)
from tests.builders import make_allocation

PRESTART = TaskLifecycle(hook="prestart")
SIDECAR = TaskLifecycle(hook="prestart", sidecar=True)
POSTSTART = TaskLifecycle(hook="poststart")
POSTSTOP = TaskLifecycle(hook="poststop")


def task(cpu, memory, memory_max=0, cores=(), **fields):
    return AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=cpu, reserved_cores=cores),
        memory=AllocatedMemory(memory_mb=memory, memory_max_mb=memory_max),
        **fields,
    )


def alloc_of(tasks, lifecycles=None, shared=None, **fields):
    return make_allocation(
        id="a",
        allocated_resources=AllocatedResources(
            tasks=tasks,
            task_lifecycles=lifecycles or {},
            shared=shared or AllocatedSharedResources(),
        ),
        **fields,
    )


@pytest.mark.parametrize(
    ("tasks", "lifecycles", "expected"),
    [
        pytest.param(
            {
                "prepare": task(1000, 500),
                "proxy": task(200, 100),
                "main": task(500, 800),
                "warm": task(100, 50),
                "clean": task(900, 2000),
            },
            {"prepare": PRESTART, "proxy": SIDECAR, "warm": POSTSTART, "clean": POSTSTOP},
            (1200, 2000, 2000),
            id="W15-each-dimension-takes-its-largest-phase",
        ),
        pytest.param(
            {"prepare": task(5000, 500, cores=(1, 2)), "main": task(500, 800)},
            {"prepare": PRESTART},
            (5500, 800, 800),
            id="T41-cores-of-a-prestart-task-are-held-throughout",
        ),
        pytest.param(
            {"one": task(100, 1000, 4000), "two": task(100, 1000, 4000)},
            {},
            (200, 2000, 8000),
            id="T42-memory-maxima-add-up",
        ),
        pytest.param(
            {"one": task(100, 1000), "two": task(100, 1000, 1500)},
            {"one": None, "two": None},
            (200, 2000, 2500),
            id="no-maximum-counts-as-the-reservation",
        ),
    ],
)
def test_tasks_are_added_up_by_phase(tasks, lifecycles, expected):
    use = use_of(alloc_of(tasks, lifecycles))
    assert (use.cpu, use.memory_mb, use.memory_max_mb) == expected


def test_ports_devices_and_cores_carry_the_allocation():
    use = use_of(
        alloc_of(
            {
                "main": task(
                    0,
                    10,
                    cores=(3, 1),
                    devices=(
                        DeviceGrant(vendor="v", type="gpu", name="n", device_ids=("x", "y")),
                    ),
                )
            },
            shared=AllocatedSharedResources(
                disk_mb=7,
                ports=(AllocatedPort(label="http", value=80, host_ip="10.0.0.1"),),
                networks=(NetworkResource(ip="10.0.0.1", reserved_ports=(Port(value=81),)),),
            ),
        )
    )
    assert use == UseSum(
        cpu=0,
        memory_mb=10,
        memory_max_mb=10,
        disk_mb=7,
        alloc_count=1,
        ports=(PortUse(host_ip="10.0.0.1", value=80, alloc_id="a"),),
        devices=(
            DeviceUse(vendor="v", type="gpu", name="n", instance_id="x", alloc_id="a"),
            DeviceUse(vendor="v", type="gpu", name="n", instance_id="y", alloc_id="a"),
        ),
        cores=(CoreUse(alloc_id="a", cores=(1, 3)),),
    )


def test_without_group_ports_those_of_networks_count():
    networks = (
        NetworkResource(ip="10.0.0.1", dynamic_ports=(Port(value=9000),)),
        NetworkResource(ip="10.0.0.9", reserved_ports=(Port(value=1),)),
    )
    use = use_of(
        alloc_of(
            {"main": task(1, 1, networks=networks)},
            shared=AllocatedSharedResources(
                networks=(NetworkResource(ip="10.0.0.1", reserved_ports=(Port(value=80),)),)
            ),
        )
    )
    assert [(port.host_ip, port.value) for port in use.ports] == [
        ("10.0.0.1", 80),
        ("10.0.0.1", 9000),
    ]


@pytest.mark.parametrize(
    ("desired", "client", "is_held", "is_planned"),
    [
        pytest.param(DesiredStatus.RUN, ClientStatus.RUNNING, True, True, id="runs"),
        pytest.param(DesiredStatus.RUN, ClientStatus.UNKNOWN, True, True, id="unknown"),
        pytest.param(
            DesiredStatus.STOP, ClientStatus.RUNNING, True, False, id="T40-still-stopping"
        ),
        pytest.param(DesiredStatus.EVICT, ClientStatus.PENDING, True, False, id="evicted"),
        pytest.param(DesiredStatus.RUN, ClientStatus.FAILED, False, False, id="T40-failed"),
        pytest.param(DesiredStatus.STOP, ClientStatus.LOST, False, False, id="lost"),
    ],
)
def test_the_two_sums_of_a_node_differ_in_who_counts(desired, client, is_held, is_planned):
    alloc = make_allocation(desired_status=desired, client_status=client)
    use = node_use_of("n", [alloc])
    assert use == NodeUse(
        node_id="n",
        held=use_of(alloc) if is_held else UseSum(),
        planned=use_of(alloc) if is_planned else UseSum(),
    )
    assert changed_use(NodeUse(node_id="n"), None, alloc) == use


def test_a_change_that_moves_no_sum_gives_back_the_same_use():
    alloc = make_allocation(client_status=ClientStatus.RUNNING)
    use = node_use_of("n", [alloc])
    assert changed_use(use, alloc, alloc.changed(desired_description="why")) is use


def test_sums_are_undone_by_subtraction():
    one = use_of(make_allocation(number=0))
    two = use_of(make_allocation(number=1))
    assert subtract_use(add_use(one, two), two) == one
    assert sum_uses([one, two]) == add_use(one, two)
