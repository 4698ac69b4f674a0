"""Granting a network to a single task, the older form of group networks (placement.md 8.5).

In: a node, its taken ports and bandwidth, the ask. Out: the granted network, or what is missing.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network

import msgspec

from scheduler.engine.measure.ports_in_use import PORT_SPACE, PortsInUse
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.node import Node


def grant_task_network(
    node: Node, ports: PortsInUse, mbits_taken: Mapping[str, int], ask: NetworkResource, start: int
) -> NetworkResource | str:
    """The first address of the first device that has all that is asked; nothing is taken.

    When there is none, the last reason met is given.
    """
    reason = "no networks available"
    for network in node.node_resources.networks:
        if not network.device:
            continue
        if mbits_taken.get(network.device, 0) + ask.mbits > network.mbits:
            reason = "bandwidth exceeded"
            continue
        for address in _addresses(network.cidr):
            granted = _grant_on(ports, ask, address, start)
            if not isinstance(granted, str):
                return msgspec.structs.replace(
                    ask, device=network.device, ip=address, dynamic_ports=granted
                )
            reason = granted
            if not ports.has_taken(address):
                # Every further address is as empty as this one.
                break
    return reason


def _addresses(cidr: str) -> Iterator[str]:
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        return
    yield from map(str, network)


def _grant_on(
    ports: PortsInUse, ask: NetworkResource, address: str, start: int
) -> tuple[Port, ...] | str:
    """The dynamic ports with their values."""
    for port in ask.reserved_ports:
        if not 0 <= port.value < PORT_SPACE:
            return f"invalid port {port.value} (out of range)"
        if ports.is_taken(address, port.value):
            return f"reserved port collision {port.label}={port.value}"
    excluded = {port.value for port in ask.reserved_ports}
    granted = []
    for port in ask.dynamic_ports:
        value = ports.free_dynamic_port(address, excluded, start)
        if value is None:
            return "dynamic port selection failed"
        excluded.add(value)
        to = value if port.to == -1 else port.to
        granted.append(msgspec.structs.replace(port, value=value, to=to))
    return tuple(granted)
