"""Rows of placement asked of whole selects: ports, cores, devices, and what is planned already."""

import msgspec
import pytest

from scheduler.engine.measure.ask import ask_of
from scheduler.engine.stack import SelectOptions
from scheduler.structs.constraint import Affinity, Constraint, Spread, SpreadTarget
from scheduler.structs.device import DeviceAttribute, DeviceGroup, DeviceInstance, RequestedDevice
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import NodeCpu
from scheduler.structs.resources import AllocatedSharedResources, Resources
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node, sized

STRANGER = make_job(id="stranger")


def held(node, cpu, memory_mb, number=0, **fields):
    """An allocation of another job that takes this much of the node."""
    alloc = make_allocation(STRANGER, number, node_id=node.id)
    resources = ask_of(group_of(cpu, memory_mb), oversubscription=False).resources
    return alloc.changed(**{"allocated_resources": resources, **fields})


def with_cores(node, *cores):
    """The node with these reservable cores of 1000 MHz."""
    node = sized(node, 0, 8000)
    cpu = NodeCpu(cpu_shares=1000 * len(cores), reservable_cpu_cores=cores)
    return msgspec.structs.replace(
        node, node_resources=msgspec.structs.replace(node.node_resources, cpu=cpu)
    )


def test_t05_a_preferred_node_that_cannot_run_it_is_passed_over():
    nodes = [plain_node(1), plain_node(2, drivers={}, attributes={})]
    scene = Scene(nodes, job_of())
    options = SelectOptions(preferred_node_ids=(nodes[1].id,), alloc_name="web.web[0]")
    before = msgspec.structs.asdict(options)
    found = scene.stack.select(scene.group, options)
    assert found.node == nodes[0]
    assert msgspec.structs.asdict(options) == before


ESCAPED = Constraint(l_target="${node.unique.name}", operand="=", r_target="nobody")
NEVER = Constraint(l_target="${meta.x}", operand="=", r_target="nothing")
REMEMBERED = "computed class ineligible"


@pytest.mark.parametrize(
    ("of_job", "of_group", "labels"),
    [
        pytest.param((NEVER,), (), [NEVER.label, REMEMBERED], id="T06-the-job-forbids"),
        pytest.param((), (NEVER,), [NEVER.label, REMEMBERED], id="T06-the-group-forbids"),
        pytest.param((ESCAPED,), (), [ESCAPED.label] * 2, id="T06-the-job-escapes"),
        pytest.param((), (ESCAPED,), [ESCAPED.label] * 2, id="T06-the-group-escapes"),
        pytest.param((), (), [None, None], id="T06-eligible"),
    ],
)
def test_a_class_is_remembered_unless_a_constraint_escapes_it(of_job, of_group, labels):
    group = group_of(count=2, constraints=of_group)
    scene = Scene([plain_node(1), plain_node(2)], job_of(group, constraints=of_job))
    for label in labels:
        assert (scene.select() is None) is (label is not None)
        expected = {label: 2} if label else {}
        assert scene.context.metrics.constraint_filtered == expected


def test_t38_what_is_planned_to_be_evicted_vanishes():
    node = plain_node(1, 1000, 1000)
    victim = held(node, 1000, 1000)
    scene = Scene([node], job_of(group_of(1000, 1000)), [victim], others=[STRANGER])
    assert scene.select() is None
    scene.context.add_preemption(victim)
    assert scene.context.proposed_allocs(node.id) == []
    assert scene.select() is not None


def test_t47_planned_allocations_fill_a_node_and_half_of_another():
    nodes = [plain_node(1, 2048, 2048), plain_node(2, 2048, 2048)]
    task = make_task(resources=Resources(cpu=1024, memory_mb=924, secrets_mb=100))
    job = job_of(make_task_group(tasks=(task,), count=1))
    scene = Scene(nodes, job, others=[STRANGER])
    scene.context.add_placement(held(nodes[0], 2048, 2048, 1, create_index=0))
    scene.context.add_placement(held(nodes[1], 1024, 1024, 2, create_index=0))
    assert scene.select().node == nodes[1]
    assert {name: row["binpack"] for name, row in scene.scores().items()} == {"node-2": 1.0}


def test_t50_a_node_whose_cores_are_all_taken_is_exhausted_and_another_gives_its_own():
    full, free = with_cores(make_node(1), 0), with_cores(make_node(2), 1)
    taken = held(full, 0, 100)
    task = taken.allocated_resources.tasks["web"]
    cpu = msgspec.structs.replace(task.cpu, cpu_shares=1000, reserved_cores=(0,))
    taken = taken.changed(
        allocated_resources=msgspec.structs.replace(
            taken.allocated_resources, tasks={"web": msgspec.structs.replace(task, cpu=cpu)}
        )
    )
    one_core = make_task(resources=Resources(cores=1, memory_mb=100))
    scene = Scene(
        [full, free], job_of(make_task_group(tasks=(one_core,))), [taken], others=[STRANGER]
    )
    found = scene.select()
    assert (found.node, found.resources.tasks["web"].cpu.reserved_cores) == (free, (1,))
    assert scene.context.metrics.dimension_exhausted == {"cores": 1}


def asking(*ports, mode="host", dynamic=()):
    network = NetworkResource(mode=mode, reserved_ports=ports, dynamic_ports=dynamic)
    return group_of(10, 10, networks=(network,))


def test_t51_allocations_that_collide_exhaust_their_node():
    node = plain_node(1)
    address = node.node_resources.networks[0].ip
    shared = AllocatedSharedResources(
        ports=(AllocatedPort(label="a", value=8080, host_ip=address),)
    )
    twins = [
        held(node, 10, 10, number).changed(
            allocated_resources=msgspec.structs.replace(
                held(node, 10, 10).allocated_resources, shared=shared
            )
        )
        for number in (1, 2)
    ]
    group = asking(Port(label="http", value=80, host_network="default"))
    scene = Scene([node], job_of(group), twins, others=[STRANGER])
    assert scene.select() is None
    assert scene.context.metrics.dimension_exhausted == {"network: port collision": 1}


@pytest.mark.parametrize(
    ("meta", "is_found", "dimensions"),
    [
        pytest.param({"net": "default"}, True, {}, id="T52-resolved"),
        pytest.param({}, False, {}, id="T52-absent"),
        pytest.param(
            {"net": "lan"},
            False,
            {"network: no addresses available for lan network": 1},
            id="T52-no-such-alias",
        ),
    ],
)
def test_a_host_network_may_be_named_by_the_node(meta, is_found, dimensions):
    # Mode `none` keeps the check of aliases out of the way: the grant itself is asked.
    group = asking(mode="none", dynamic=(Port(label="http", host_network="${meta.net}"),))
    scene = Scene([plain_node(1, meta=meta)], job_of(group))
    found = scene.select()
    assert (found is not None) is is_found
    assert scene.context.metrics.dimension_exhausted == dimensions
    if found is not None:
        (port,) = found.resources.shared.ports
        assert port.host_ip == found.node.node_resources.networks[0].ip


@pytest.mark.parametrize(
    ("last", "dimensions"),
    [
        pytest.param(9001, {}, id="T56-two-ports-for-two"),
        pytest.param(9000, {"network: dynamic port selection failed": 1}, id="T56-one-port"),
    ],
)
def test_a_port_of_the_group_is_never_given_to_a_task_too(last, dimensions):
    node = plain_node(1)
    (network,) = node.node_resources.networks
    device = msgspec.structs.replace(network, cidr=f"{network.ip}/32", mbits=100)
    resources = msgspec.structs.replace(
        node.node_resources, networks=(device,), min_dynamic_port=9000, max_dynamic_port=last
    )
    node = msgspec.structs.replace(node, node_resources=resources)
    of_task = NetworkResource(mbits=1, dynamic_ports=(Port(label="b"),))
    task = make_task(resources=Resources(cpu=10, memory_mb=10, networks=(of_task,)))
    of_group = NetworkResource(
        mode="host", dynamic_ports=(Port(label="a", host_network="default"),)
    )
    scene = Scene([node], job_of(make_task_group(tasks=(task,), networks=(of_group,))))
    found = scene.select()
    assert scene.context.metrics.dimension_exhausted == dimensions
    if found is not None:
        (port,) = found.resources.tasks["web"].networks[0].dynamic_ports
        given = {found.resources.shared.ports[0].value, port.value}
        assert given == {9000, 9001}


def with_gpus(node, count=4):
    group = DeviceGroup(
        vendor="nvidia",
        type="gpu",
        name="t4",
        instances=tuple(DeviceInstance(id=f"t4-{n}") for n in range(count)),
        attributes={"speed": DeviceAttribute(int_=9)},
    )
    return msgspec.structs.replace(
        node, node_resources=msgspec.structs.replace(node.node_resources, devices=(group,))
    )


def wish(operand, weight):
    """Matched by an operand that holds for a speed of 9."""
    return Affinity(l_target="${device.attr.speed}", operand=operand, r_target="5", weight=weight)


def gpus(count=1, *affinities):
    return RequestedDevice(name="gpu", count=count, affinities=affinities)


def with_devices(cpu, memory_mb, *requests, count=1):
    task = make_task(resources=Resources(cpu=cpu, memory_mb=memory_mb, devices=requests))
    return job_of(make_task_group(tasks=(task,), count=count))


@pytest.mark.parametrize(
    ("requests", "devices", "norm"),
    [
        pytest.param(
            (gpus(1, wish(">", 60), wish("<", 40)), gpus(1, wish(">", -20)), gpus()),
            0.3333333333333333,
            0.4098103748942505,
            id="W29-weights-of-three-requests",
        ),
        pytest.param(
            (gpus(2, wish(">", 50)),),
            1.0,
            (0.48628741645516765 + 1) / 2,
            id="T58-all-that-was-wished-for",
        ),
    ],
)
def test_devices_score_by_what_was_wished_for(requests, devices, norm):
    node = with_gpus(plain_node(1))
    job = with_devices(500, 1000, *requests)
    found = Scene([node], job, [held(node, 500, 1000)], others=[STRANGER]).select()
    assert list(found.scores)[:2] == ["binpack", "devices"]
    assert found.scores["devices"] == pytest.approx(devices, abs=1e-9)
    assert found.norm_score == pytest.approx(norm, abs=1e-9)


def test_t58_planned_instances_are_taken():
    scene = Scene([with_gpus(plain_node(1), 3)], with_devices(10, 10, gpus(2), count=2))
    (grant,) = scene.place().resources.tasks["web"].devices
    assert grant.device_ids == ("t4-0", "t4-1")
    assert scene.place() is None
    assert scene.context.metrics.dimension_exhausted == {"devices: no devices match request": 1}


@pytest.mark.parametrize(
    ("datacenter", "boost", "norm"),
    [
        pytest.param("dc1", 0.625, 0.5556437082275838, id="W10c-dc1"),
        pytest.param("dc2", 0.5, 0.4931437082275838, id="W10c-dc2"),
    ],
)
def test_a_spread_enters_the_mean(datacenter, boost, norm):
    spread = Spread(
        attribute="${node.datacenter}",
        weight=100,
        spread_target=(SpreadTarget(value="dc1", percent=80),),
    )
    job = job_of(group_of(500, 1000, count=10, spreads=(spread,)))
    node, elsewhere = plain_node(1, datacenter=datacenter), plain_node(2, datacenter="dc1")
    placed = [make_allocation(job, number, node_id=elsewhere.id) for number in (1, 2)]
    scene = Scene([node, elsewhere], job, [*placed, held(node, 500, 1000)], others=[STRANGER])
    scene.select()
    columns = scene.scores()["node-1"]
    assert columns["allocation-spread"] == pytest.approx(boost, abs=1e-9)
    assert columns["norm"] == pytest.approx(norm, abs=1e-9)
