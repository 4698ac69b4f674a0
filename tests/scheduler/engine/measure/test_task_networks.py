"""Networks of single tasks."""

import pytest

from scheduler.engine.measure.ports_in_use import PortsInUse
from scheduler.engine.measure.task_networks import grant_task_network
from scheduler.state.node_use import PortUse
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.node import Node, NodeResources

NODE = Node(
    id="n",
    node_resources=NodeResources(
        networks=(
            NetworkResource(
                mode="host", device="eth0", cidr="10.0.0.4/31", ip="10.0.0.4", mbits=100
            ),
        ),
        min_dynamic_port=9000,
        max_dynamic_port=9001,
    ),
)
STATIC = NetworkResource(mbits=50, reserved_ports=(Port(label="http", value=80),))
DYNAMIC = NetworkResource(mbits=50, dynamic_ports=(Port(label="http", to=-1),))


def grant(ask, *held, mbits=0, node=NODE):
    ports = PortsInUse(node, [PortUse(host_ip=ip, value=value) for ip, value in held])
    return grant_task_network(node, ports, {"eth0": mbits}, ask, 0)


@pytest.mark.parametrize(
    ("ask", "held", "address", "ports"),
    [
        pytest.param(STATIC, [], "10.0.0.4", [], id="first-address"),
        pytest.param(STATIC, [("10.0.0.4", 80)], "10.0.0.5", [], id="T57-next-address"),
        pytest.param(DYNAMIC, [("10.0.0.4", 9000)], "10.0.0.4", [9001], id="next-port"),
    ],
)
def test_a_network_is_granted(ask, held, address, ports):
    granted = grant(ask, *held)
    assert (granted.device, granted.ip, granted.mbits) == ("eth0", address, 50)
    assert [(port.value, port.to) for port in granted.dynamic_ports] == [(p, p) for p in ports]


@pytest.mark.parametrize(
    ("ask", "held", "mbits", "reason"),
    [
        pytest.param(STATIC, [], 51, "bandwidth exceeded", id="T57-bandwidth"),
        pytest.param(
            STATIC,
            [("10.0.0.4", 80), ("10.0.0.5", 80)],
            0,
            "reserved port collision http=80",
            id="taken-everywhere",
        ),
        pytest.param(
            DYNAMIC,
            [(ip, port) for ip in ("10.0.0.4", "10.0.0.5") for port in (9000, 9001)],
            0,
            "dynamic port selection failed",
            id="range-used-up",
        ),
    ],
)
def test_a_network_is_not_granted(ask, held, mbits, reason):
    assert grant(ask, *held, mbits=mbits) == reason


def test_without_a_device_there_is_no_network():
    assert grant(STATIC, node=Node(id="n")) == "no networks available"
