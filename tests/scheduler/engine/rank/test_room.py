"""Room for ports: nodes of one shape are asked once, those whose ports are held one by one."""

import msgspec

from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import ReservedNetworks, ReservedResources
from scheduler.structs.resources import AllocatedSharedResources
from tests.builders import make_allocation, make_job
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node

HTTP = NetworkResource(
    mode="host", reserved_ports=(Port(label="http", value=80, host_network="default"),)
)
STRANGER = make_job(id="stranger")


def test_each_node_answers_for_its_own_ports():
    kept = ReservedResources(networks=ReservedNetworks(reserved_host_ports="80"))
    broken = ReservedResources(networks=ReservedNetworks(reserved_host_ports="?"))
    holder = plain_node(4)
    address = holder.node_resources.networks[0].ip
    alloc = make_allocation(STRANGER, node_id=holder.id)
    alloc = alloc.changed(
        allocated_resources=msgspec.structs.replace(
            alloc.allocated_resources,
            shared=AllocatedSharedResources(
                ports=(AllocatedPort(label="web", value=80, host_ip=address),)
            ),
        )
    )
    nodes = [
        plain_node(1),
        plain_node(2),
        plain_node(3, reserved_resources=kept),
        holder,
        plain_node(5, reserved_resources=broken),
        plain_node(6, cpu=100),
        plain_node(7, cpu=100, reserved_resources=kept),
    ]
    scene = Scene(nodes, job_of(group_of(networks=(HTTP,), count=3)), [alloc], others=[STRANGER])
    assert {scene.place().node.name, scene.place().node.name} == {"node-1", "node-2"}
    assert scene.place() is None
    assert scene.context.metrics.dimension_exhausted == {
        "network: reserved port collision http=80": 5,
        "network: invalid node": 1,
        "cpu": 1,
    }


def test_granted_dynamic_ports_differ_on_one_node():
    dynamic = NetworkResource(
        mode="host", dynamic_ports=(Port(label="http", host_network="default"),)
    )
    scene = Scene([plain_node(1)], job_of(group_of(networks=(dynamic,), count=5)))
    values = [scene.place().resources.shared.ports[0].value for _ in range(5)]
    assert len(set(values)) == 5
    assert all(20_000 <= value <= 32_000 for value in values)
