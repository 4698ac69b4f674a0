"""Granting ports."""

import msgspec
import pytest

from scheduler.engine.measure.ports_in_use import PortsInUse, parse_ports
from scheduler.state.node_use import PortUse
from scheduler.structs.network import (
    AllocatedPort,
    NetworkResource,
    NodeNetwork,
    NodeNetworkAddress,
    Port,
)
from scheduler.structs.node import Node, NodeResources, ReservedNetworks, ReservedResources


def node_with(*addresses, reserved="", low=20000, high=32000):
    return Node(
        id="n",
        node_resources=NodeResources(
            networks=(NetworkResource(mode="host", device="eth0", ip="192.168.0.1"),),
            node_networks=(NodeNetwork(mode="host", device="eth0", addresses=addresses),),
            min_dynamic_port=low,
            max_dynamic_port=high,
        ),
        reserved_resources=ReservedResources(
            networks=ReservedNetworks(reserved_host_ports=reserved)
        ),
    )


def address(ip, alias="default", reserved=""):
    return NodeNetworkAddress(alias=alias, address=ip, reserved_ports=reserved)


ONE = node_with(address("10.0.0.1"))
TWO = node_with(address("10.0.0.1"), address("10.0.0.2"))


def ask(*ports, dynamic=()):
    return NetworkResource(mode="host", reserved_ports=ports, dynamic_ports=dynamic)


def static(label, value, **fields):
    return Port(label=label, value=value, host_network="default", **fields)


def dynamic(label, to=0, alias="default"):
    return Port(label=label, to=to, host_network=alias)


def granted(node, network, *uses, start=0):
    found = PortsInUse(node, uses).grant(network, start)
    return found if isinstance(found, str) else [(p.host_ip, p.value) for p in found[0]]


@pytest.mark.parametrize(
    ("node", "network", "uses", "expected"),
    [
        pytest.param(ONE, ask(static("a", 80)), [], [("10.0.0.1", 80)], id="static"),
        pytest.param(
            TWO,
            ask(static("static", 7000)),
            [PortUse(host_ip="10.0.0.1", value=7000)],
            [("10.0.0.2", 7000)],
            id="T53-second-address",
        ),
        pytest.param(
            TWO,
            ask(static("static", 7000)),
            [PortUse(host_ip="10.0.0.1", value=7000), PortUse(host_ip="10.0.0.2", value=7000)],
            "reserved port collision static=7000",
            id="T53-taken-on-both",
        ),
        pytest.param(
            node_with(address("10.0.0.1"), low=9000, high=9000),
            ask(dynamic=(dynamic("a"),)),
            [],
            [("10.0.0.1", 9000)],
            id="T54-range-of-one",
        ),
        pytest.param(
            node_with(address("10.0.0.1"), low=9000, high=9000),
            ask(dynamic=(dynamic("a"), dynamic("b"))),
            [],
            "dynamic port selection failed",
            id="T54-two-asks-for-one-port",
        ),
        pytest.param(
            node_with(address("10.0.0.1"), low=9000, high=9001),
            ask(dynamic=(dynamic("a"), dynamic("b"))),
            [],
            [("10.0.0.1", 9000), ("10.0.0.1", 9001)],
            id="T54-two-asks-for-two-ports",
        ),
        pytest.param(
            ONE,
            ask(static("a", 80, ignore_collision=True)),
            [PortUse(host_ip="10.0.0.1", value=80)],
            [("10.0.0.1", 80)],
            id="T55-collision-ignored",
        ),
        pytest.param(
            ONE,
            ask(static("a", 80)),
            [PortUse(host_ip="10.0.0.1", value=80, ignore_collision=True)],
            "reserved port collision a=80",
            id="T55-a-holder-that-ignores-still-holds",
        ),
        pytest.param(
            node_with(address("10.0.0.1"), address("10.0.0.2"), reserved="80"),
            ask(static("a", 80)),
            [],
            "reserved port collision a=80",
            id="T56-reserved-everywhere",
        ),
        pytest.param(
            node_with(address("10.0.0.1", reserved="80"), address("10.0.0.2")),
            ask(static("a", 80)),
            [],
            [("10.0.0.2", 80)],
            id="T56-reserved-on-one-address",
        ),
        pytest.param(
            node_with(address("10.0.0.1", reserved="80-82"), reserved="81,90"),
            ask(static("a", 91)),
            [],
            [("10.0.0.1", 91)],
            id="T51-overlapping-reservations",
        ),
        pytest.param(
            ONE,
            ask(dynamic=(dynamic("a", alias="public"),)),
            [],
            "no addresses available for public network",
            id="no-such-alias",
        ),
        pytest.param(
            ONE, ask(static("a", 65536)), [], "invalid port 65536 (out of range)", id="high"
        ),
        pytest.param(
            node_with(address("10.0.0.1"), low=9000, high=9001),
            ask(static("s", 9000), dynamic=(dynamic("d"),)),
            [],
            [("10.0.0.1", 9000), ("10.0.0.1", 9001)],
            id="dynamic-avoids-the-static-ports-of-its-ask",
        ),
    ],
)
def test_ports_are_granted(node, network, uses, expected):
    assert granted(node, network, *uses) == expected


def test_a_search_wraps_around_the_range():
    node = node_with(address("10.0.0.1"), low=9000, high=9002)
    held = PortUse(host_ip="10.0.0.1", value=9002)
    assert granted(node, ask(dynamic=(dynamic("a"),)), held, start=2) == [("10.0.0.1", 9000)]


def test_the_granted_network_names_ports_and_address():
    network = ask(static("s", 80), dynamic=(dynamic("d", to=-1),))
    ports, given = PortsInUse(ONE).grant(network, 5)
    assert ports == (
        AllocatedPort(label="s", value=80, to=0, host_ip="10.0.0.1"),
        AllocatedPort(label="d", value=20005, to=20005, host_ip="10.0.0.1"),
    )
    assert given == msgspec.structs.replace(
        network,
        ip="10.0.0.1",
        dynamic_ports=(Port(label="d", value=20005, to=20005, host_network="default"),),
    )


def test_nothing_is_taken_before_it_is_said():
    ports = PortsInUse(ONE)
    first, _ = ports.grant(ask(static("a", 80)), 0)
    assert not ports.is_taken("10.0.0.1", 80)
    ports.take(first)
    assert ports.is_taken("10.0.0.1", 80)


@pytest.mark.parametrize(
    ("uses", "collides"),
    [
        pytest.param([80, 81], None, id="apart"),
        pytest.param([80, 80], 80, id="T51-held-twice"),
        pytest.param([70000], 70000, id="out-of-range"),
        pytest.param([22], 22, id="reserved-by-the-node"),
    ],
)
def test_a_collision_of_holders_is_found(uses, collides):
    node = node_with(address("10.0.0.1"), reserved="22")
    found = PortsInUse(node, [PortUse(host_ip="10.0.0.1", value=value) for value in uses])
    assert (found.collision.value if found.collision else None) == collides


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("22", {22}),
        ("22, 80-82", {22, 80, 81, 82}),
        ("0", None),
        ("5-4", None),
        ("65536", None),
        ("a", None),
        ("1-", None),
        ("-3", None),
    ],
)
def test_port_lists_are_read(text, expected):
    assert parse_ports(text) == (None if expected is None else frozenset(expected))


def test_t51_an_unreadable_list_makes_the_node_invalid():
    assert not PortsInUse(node_with(address("10.0.0.1"), reserved="x")).is_valid
    assert not PortsInUse(node_with(address("10.0.0.1", reserved="0"))).is_valid
