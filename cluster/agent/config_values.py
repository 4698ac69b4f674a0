"""What the values of a configuration file come to: options of `runagent`, and what has no option.

In: a `ConfigFile`. Out: `FileSettings`, or `BadConfigFile` with every value that makes none.
"""

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

from cluster.agent.config_file import BadConfigFile, ConfigFile, FoundValue
from cluster.agent.host_volumes import BadVolume, declared_volume
from cluster.agent.networks.lists import NetworkSettings
from scheduler.engine.measure.ports_in_use import parse_ports
from scheduler.structs.network import HostNetwork
from scheduler.structs.node import (
    NodeDisk,
    NodeMemory,
    ReservedCpu,
    ReservedNetworks,
    ReservedResources,
)

_SECOND = 1_000_000_000
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_MAX_CORE = 4096
#: As the kernel takes names of interfaces.
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")
#: Addresses that a bridge cannot do without: its own, the two ends, one for an allocation.
_FEWEST_ADDRESSES = 4


class DrainOnShutdown(msgspec.Struct, frozen=True):
    """An agent that is told to end drains its node first; spans in ns."""

    deadline: int = 3600 * _SECOND
    ignore_system_jobs: bool = False


class FileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration file, understood."""

    #: By the names that options of `runagent` have once they are parsed.
    options: dict[str, object] = {}
    log_level: str = ""
    reserved: ReservedResources = ReservedResources()
    host_networks: tuple[HostNetwork, ...] = ()
    #: 0: as usual.
    min_dynamic_port: int = 0
    max_dynamic_port: int = 0
    drain_on_shutdown: DrainOnShutdown | None = None
    network: NetworkSettings = msgspec.field(default_factory=NetworkSettings)


def settings_from(config: ConfigFile) -> FileSettings:
    """The settings that a file describes. Raises BadConfigFile."""
    reading = _Reading(config)
    settings = FileSettings(
        options=reading.options(),
        log_level=reading.log_level(),
        reserved=reading.reserved(),
        host_networks=reading.host_networks(),
        min_dynamic_port=reading.whole("client.min_dynamic_port"),
        max_dynamic_port=reading.whole("client.max_dynamic_port"),
        drain_on_shutdown=reading.drain(),
        network=reading.network(),
    )
    reading.check()
    if reading.problems:
        raise BadConfigFile(reading.problems)
    return settings


class _Reading:
    def __init__(self, config: ConfigFile) -> None:
        self.config = config
        self.problems: list[str] = []

    def whole(self, path: str) -> int:
        value = self.config.value(path)
        return value if isinstance(value, int) else 0

    def text(self, path: str) -> str:
        return str(self.config.value(path) or "")

    def bad(self, path: str, reason: str) -> None:
        self.problems.append(f"{self.config.place(path)}: {path}: {reason}")

    def options(self) -> dict[str, object]:
        found: dict[str, object] = {
            each.key.option: self._as_option(each)
            for each in self.config.found.values()
            if each.key.option
        }
        volumes = [self._volume(name) for name in self._names("client", "host_volume")]
        return found | ({"host_volume": volumes} if volumes else {})

    def _as_option(self, each: FoundValue) -> object:
        if each.key.kind == "span" and isinstance(each.value, int):
            return str(each.value / _SECOND)
        if each.key.path == "plugin.docker.config.gc.image":
            return not each.value
        if each.key.path == "client.servers" and isinstance(each.value, list):
            return self._server(each.value)
        if each.key.path == "client.network_interface":
            return self._address_of(str(each.value))
        return str(each.value) if isinstance(each.value, int | str) and not isinstance(
            each.value, bool
        ) else each.value  # fmt: skip

    def _server(self, servers: list[object]) -> str:
        if len(servers) != 1:
            reason = f"one address is expected, there are {len(servers)}; several servers"
            self.bad("client.servers", f"{reason} stand behind one address")
            return ""
        parts = urlsplit(str(servers[0]))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            reason = f"must look like https://host:port, not {servers[0]!r}"
            self.bad("client.servers", reason)
        return str(servers[0])

    def _address_of(self, interface: str) -> str:
        addresses = addresses_of_interface(interface)
        if not addresses:
            self.bad("client.network_interface", f"there is no interface {interface!r} with an"
                     " address on this machine")  # fmt: skip
        return addresses[0] if addresses else ""

    def _names(self, *block: str) -> list[str]:
        """The names that blocks of a kind were given, as they come."""
        size = len(block)
        return sorted(
            {s[size] for s in self.config.blocks if len(s) == size + 1 and s[:size] == block}
        )

    def _volume(self, name: str) -> str:
        block = ("client", "host_volume", name)
        path = self.config.found.get((*block, "path"))
        read_only = self.config.found.get((*block, "read_only"))
        told = f"{name}={path.value if path else ''}"
        told += ":ro" if read_only is not None and read_only.value else ""
        if path is None:
            self.problems.append(f"client.host_volume.{name}: `path` is missing")
            return told
        try:
            declared_volume(told)
        except BadVolume as problem:
            self.problems.append(f"{path.place}: client.host_volume.{name}.path: {problem}")
        return told

    def host_networks(self) -> tuple[HostNetwork, ...]:
        return tuple(self._network(name) for name in self._names("client", "host_network"))

    def _network(self, name: str) -> HostNetwork:
        def told(key: str) -> str:
            found = self.config.found.get(("client", "host_network", name, key))
            return "" if found is None else str(found.value)

        network = HostNetwork(
            name=name,
            cidr=told("cidr"),
            interface=told("interface"),
            reserved_ports=told("reserved_ports"),
        )
        whole = f"client.host_network.{name}"
        try:
            _networks_in(network.cidr)
        except ValueError:
            self.problems.append(f"{whole}.cidr: {network.cidr!r} is no network like 10.0.0.0/8")
            return network
        if not addresses_of_network(network):
            self.problems.append(f"{whole}: no address of this machine is in it")
        if network.reserved_ports and parse_ports(network.reserved_ports) is None:
            self.problems.append(f"{whole}.reserved_ports: expected a list like 22,8000-8010")
        return network

    def network(self) -> NetworkSettings:
        """Networks of allocations beside the host's."""
        usual = NetworkSettings()
        path, lists = self.text("client.cni_path"), self.text("client.cni_config_dir")
        name = self.text("client.bridge_network_name") or usual.bridge_name
        if not _INTERFACE.fullmatch(name):
            self.bad("client.bridge_network_name", f"{name!r} is no name of an interface")
        subnet = self.text("client.bridge_network_subnet") or usual.bridge_subnet
        if not _is_large(ipaddress.IPv4Network, subnet):
            text = f"{subnet!r} is no IPv4 network like 172.26.64.0/20"
            self.bad("client.bridge_network_subnet", text)
        subnet_ipv6 = self.text("client.bridge_network_subnet_ipv6")
        if subnet_ipv6 and not _is_large(ipaddress.IPv6Network, subnet_ipv6):
            text = f"{subnet_ipv6!r} is no IPv6 network like fd00:a110:c8::/112"
            self.bad("client.bridge_network_subnet_ipv6", text)
        every = self.config.value("client.bind_wildcard_default_host_network")
        return NetworkSettings(
            plugin_directories=tuple(map(Path, filter(None, path.split(":"))))
            or usual.plugin_directories,
            list_directory=Path(lists) if lists else usual.list_directory,
            bridge_name=name,
            bridge_subnet=subnet,
            bridge_subnet_ipv6=subnet_ipv6,
            hairpin=bool(self.config.value("client.bridge_network_hairpin_mode")),
            binds_every_address=every is not False and not self._names("client", "host_network"),
        )

    def reserved(self) -> ReservedResources:
        ports = self.text("client.reserved.reserved_ports")
        if ports and parse_ports(ports) is None:
            self.bad("client.reserved.reserved_ports", f"expected a list like 22,80-90: {ports!r}")
        return ReservedResources(
            cpu=ReservedCpu(
                cpu_shares=self.whole("client.reserved.cpu"), reserved_cpu_cores=self._cores()
            ),
            memory=NodeMemory(memory_mb=self.whole("client.reserved.memory")),
            disk=NodeDisk(disk_mb=self.whole("client.reserved.disk")),
            networks=ReservedNetworks(reserved_host_ports=ports),
        )

    def _cores(self) -> tuple[int, ...]:
        text = self.text("client.reserved.cores")
        if not text:
            return ()
        cores: set[int] = set()
        for part in text.split(","):
            match = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if not first <= last < _MAX_CORE:
                self.bad("client.reserved.cores", f"expected a list like 0-1,3: {text!r}")
                return ()
            cores.update(range(first, last + 1))
        unknown = sorted(cores - set(range(psutil.cpu_count() or 1)))
        if unknown:
            self.bad("client.reserved.cores", f"this machine has no core {unknown[0]}")
        return tuple(sorted(cores))

    def log_level(self) -> str:
        level = self.text("log_level").upper()
        if level and level not in _LEVELS:
            self.bad("log_level", f"must be one of {', '.join(_LEVELS)}")
        return level

    def drain(self) -> DrainOnShutdown | None:
        if ("client", "drain_on_shutdown") not in self.config.blocks:
            return None
        told = self.config.value("client.drain_on_shutdown.deadline")
        return DrainOnShutdown(
            deadline=told if isinstance(told, int) else DrainOnShutdown().deadline,
            ignore_system_jobs=bool(
                self.config.value("client.drain_on_shutdown.ignore_system_jobs")
            ),
        )

    def check(self) -> None:
        """What concerns several values."""
        if self.config.value("client.enabled") is False:
            self.bad("client.enabled", "this is an agent: it cannot be off")
        low, high = self.whole("client.min_dynamic_port"), self.whole("client.max_dynamic_port")
        if (low or 20000) > (high or 32000):
            name = "client.max_dynamic_port" if high else "client.min_dynamic_port"
            self.bad(name, f"the first port {low or 20000} is above the last, {high or 32000}")


def addresses_of_interface(name: str) -> list[str]:
    """Of one interface, IPv4 first; addresses of its link alone only where it has no others."""
    entries = psutil.net_if_addrs().get(name, [])
    found = [entry.address.partition("%")[0] for entry in entries if _is_address(entry.address)]
    wide = [address for address in found if not ipaddress.ip_address(address).is_link_local]
    return sorted(wide or found, key=lambda address: ":" in address)


def addresses_of_network(network: HostNetwork) -> list[tuple[str, str]]:
    """Interfaces and addresses of this machine that belong to a network of its configuration."""
    parts = _networks_in(network.cidr)
    found: list[tuple[str, str]] = []
    for device in sorted(psutil.net_if_addrs()):
        if network.interface and device != network.interface:
            continue
        addresses = addresses_of_interface(device)
        found += [(device, each) for each in addresses if not parts or _is_in(parts, each)]
    return found if network.cidr or network.interface else []


def _networks_in(cidr: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Those of a list with commas between. Raises ValueError."""
    texts = (text.strip() for text in cidr.split(",") if text.strip())
    return [ipaddress.ip_network(text, strict=False) for text in texts]


def _is_in(parts: list[ipaddress.IPv4Network | ipaddress.IPv6Network], address: str) -> bool:
    return any(ipaddress.ip_address(address) in part for part in parts)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_large(kind: type[ipaddress.IPv4Network | ipaddress.IPv6Network], subnet: str) -> bool:
    """Whether a text is a network of that kind that a bridge can have."""
    try:
        return kind(subnet).num_addresses >= _FEWEST_ADDRESSES
    except ValueError:
        return False
