"""Ports and networks: what a group asks for, and what an allocation was given."""

from scheduler.structs.wire import Wire, wire_names


class Port(Wire, frozen=True):
    """One port of a network ask, or of a legacy network grant."""

    label: str = ""
    #: The static port asked for, or the one granted; 0 when dynamic and not yet granted.
    value: int = 0
    #: Inside the allocation's network namespace: 0 unset, -1 the same as `value`.
    to: int = 0
    host_network: str = ""
    ignore_collision: bool = False


class DNSConfig(Wire, frozen=True):
    """Resolver settings of a group network."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class CNIConfig(Wire, frozen=True):
    """Arguments handed to a CNI plugin chain."""

    args: dict[str, str] = {}


class NetworkResource(Wire, frozen=True, rename=wire_names(mbits="MBits")):
    """A network as asked for by a group, offered by a node, or granted."""

    mode: str = ""
    device: str = ""
    cidr: str = ""
    ip: str = ""
    hostname: str = ""
    mbits: int = 0
    dns: DNSConfig | None = None
    reserved_ports: tuple[Port, ...] = ()
    dynamic_ports: tuple[Port, ...] = ()
    cni: CNIConfig | None = None


class AllocatedPort(Wire, frozen=True):
    """One granted port of an allocation on one host address."""

    label: str = ""
    value: int = 0
    to: int = 0
    host_ip: str = ""
    ignore_collision: bool = False


class NodeNetworkAddress(Wire, frozen=True):
    """An address of a node that group ports can be granted on, by its alias."""

    family: str = "ipv4"
    alias: str = ""
    address: str = ""
    #: Ports never granted, as `22,80,8000-8010`.
    reserved_ports: str = ""
    gateway: str = ""


class NodeNetwork(Wire, frozen=True):
    """A network device of a node."""

    mode: str = ""
    device: str = ""
    mac_address: str = ""
    speed: int = 0
    addresses: tuple[NodeNetworkAddress, ...] = ()


class HostNetwork(Wire, frozen=True):
    """A named network of the node's configuration."""

    name: str = ""
    cidr: str = ""
    interface: str = ""
    reserved_ports: str = ""
