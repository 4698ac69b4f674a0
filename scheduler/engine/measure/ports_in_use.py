"""The taken ports of one node, and the granting of new ones (placement.md 8.5).

In: a node, the ports its allocations hold, a group's network. Out: granted ports, or the text of
what is missing. Which allocations count is the caller's to say.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import msgspec

from scheduler.state.node_use import PortUse
from scheduler.structs.network import AllocatedPort, NetworkResource, NodeNetworkAddress, Port
from scheduler.structs.node import Node

PORT_SPACE = 65536
_DEFAULT_RANGE = (20000, 32000)
DEFAULT_ALIAS = "default"


@lru_cache(maxsize=4096)
def parse_ports(text: str) -> frozenset[int] | None:
    """The ports of a list such as `22,80,8000-8010`; None when it is not one."""
    ports: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not _is_number(first) or ("-" in part and not _is_number(last)):
            return None
        low, high = int(first), int(last or first)
        if not 1 <= low <= high < PORT_SPACE:
            return None
        ports.update(range(low, high + 1))
    return frozenset(ports)


def port_shape(node: Node) -> str:
    """Equal for nodes that grant the same asks while none of their ports is held."""
    resources = node.node_resources
    addresses = [address for network in resources.node_networks for address in network.addresses]
    ips = [address.address for address in addresses]
    parts = (
        node.reserved_resources.networks.reserved_host_ports,
        resources.min_dynamic_port,
        resources.max_dynamic_port,
        [(item.alias, item.reserved_ports, ips.index(item.address)) for item in addresses],
    )
    return repr(parts)


class PortsInUse:
    """Which ports are taken on which address of one node."""

    def __init__(self, node: Node, uses: Iterable[PortUse] = ()) -> None:
        self._node = node
        self._reserved: dict[str, frozenset[int]] = {}
        self._taken: dict[str, set[int]] = {}
        self._addresses: dict[str, list[NodeNetworkAddress]] = {}
        self.is_valid = self._reserve()
        #: The first use that collides, None when all is well.
        self.collision: PortUse | None = None
        for use in uses:
            if not self._take(use) and self.collision is None:
                self.collision = use

    def grant(
        self, network: NetworkResource, start: int
    ) -> tuple[tuple[AllocatedPort, ...], NetworkResource] | str:
        """Grant every port of a group network, or say why not; nothing is taken either way.

        Host networks are resolved already. Dynamic ports are searched upwards from `start`,
        counted from the low end of the node's range and wrapping around.
        """
        granted: list[AllocatedPort] = []
        for port in network.reserved_ports:
            static = self._grant_static(port)
            if isinstance(static, str):
                return static
            granted.append(static)
        for port in network.dynamic_ports:
            dynamic = self._grant_dynamic(port, network.reserved_ports, granted, start)
            if isinstance(dynamic, str):
                return dynamic
            granted.append(dynamic)
        return tuple(granted), self._as_network(network, granted)

    def take(self, ports: Iterable[AllocatedPort]) -> None:
        """Mark granted ports as taken."""
        for port in ports:
            self._taken.setdefault(port.host_ip, set()).add(port.value)

    def is_taken(self, address: str, port: int) -> bool:
        """Whether a port of an address is reserved or held."""
        return port in self._reserved.get(address, ()) or port in self._taken.get(address, ())

    def has_taken(self, address: str) -> bool:
        """Whether anything at all is reserved or held on an address."""
        return address in self._reserved or address in self._taken

    def free_dynamic_port(self, address: str, excluded: Collection[int], start: int) -> int | None:
        """The first free port of the node's range from `start`, wrapping around."""
        low, high = self._dynamic_range()
        span = high - low + 1
        candidates = (low + (start + step) % span for step in range(span))
        return next(
            (
                value
                for value in candidates
                if value not in excluded and not self.is_taken(address, value)
            ),
            None,
        )

    def _reserve(self) -> bool:
        everywhere = parse_ports(self._node.reserved_resources.networks.reserved_host_ports)
        resources = self._node.node_resources
        if everywhere is None:
            return False
        for network in resources.networks:
            if network.device:
                self._reserved[network.ip] = everywhere
        for node_network in resources.node_networks:
            for address in node_network.addresses:
                self._addresses.setdefault(address.alias, []).append(address)
                own = parse_ports(address.reserved_ports)
                if own is None:
                    return False
                before = self._reserved.get(address.address, everywhere)
                self._reserved[address.address] = before | own if own else before
        return True

    def _take(self, use: PortUse) -> bool:
        if not 0 <= use.value < PORT_SPACE:
            return False
        free = use.ignore_collision or not self.is_taken(use.host_ip, use.value)
        self._taken.setdefault(use.host_ip, set()).add(use.value)
        return free

    def _grant_static(self, port: Port) -> AllocatedPort | str:
        if not 0 <= port.value < PORT_SPACE:
            return f"invalid port {port.value} (out of range)"
        alias = port.host_network or DEFAULT_ALIAS
        addresses = self._addresses.get(alias, ())
        for address in addresses:
            if port.ignore_collision or not self.is_taken(address.address, port.value):
                return _granted(port, port.value, port.to, address.address)
        if addresses:
            return f"reserved port collision {port.label}={port.value}"
        return f"no addresses available for {alias} network"

    def _grant_dynamic(
        self, port: Port, static: Sequence[Port], granted: Sequence[AllocatedPort], start: int
    ) -> AllocatedPort | str:
        alias = port.host_network or DEFAULT_ALIAS
        addresses = self._addresses.get(alias, ())
        excluded = {other.value for other in granted}
        excluded.update(
            other.value for other in static if (other.host_network or DEFAULT_ALIAS) == alias
        )
        for address in addresses:
            value = self.free_dynamic_port(address.address, excluded, start)
            if value is not None:
                return _granted(port, value, value if port.to == -1 else port.to, address.address)
        if addresses:
            return "dynamic port selection failed"
        return f"no addresses available for {alias} network"

    def _dynamic_range(self) -> tuple[int, int]:
        resources = self._node.node_resources
        low = resources.min_dynamic_port or _DEFAULT_RANGE[0]
        high = resources.max_dynamic_port or _DEFAULT_RANGE[1]
        return low, min(high, PORT_SPACE - 1)

    def _as_network(
        self, network: NetworkResource, granted: Iterable[AllocatedPort]
    ) -> NetworkResource:
        by_label = {port.label: port for port in granted}
        dynamic = tuple(
            msgspec.structs.replace(
                port, value=by_label[port.label].value, to=by_label[port.label].to
            )
            for port in network.dynamic_ports
        )
        return msgspec.structs.replace(network, dynamic_ports=dynamic, ip=self._host_ip())

    def _host_ip(self) -> str:
        resources = self._node.node_resources
        if not resources.node_networks:
            return next((net.ip for net in reversed(resources.networks) if net.mode == "host"), "")
        return next(
            (
                network.addresses[0].address
                for network in resources.node_networks
                if network.mode == "host" and network.addresses
            ),
            "",
        )


def _granted(port: Port, value: int, to: int, address: str) -> AllocatedPort:
    return AllocatedPort(
        label=port.label,
        value=value,
        to=to,
        host_ip=address,
        ignore_collision=port.ignore_collision,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
