"""Which plugins make a network, what they are given, and what their result says.

In: the owner's settings, an allocation's ports. Out: the list of plugins for `bridge` or for
`cni/<name>`, port mappings, the network status that the server is told.
"""

import ipaddress
import json
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from cluster.agent.networks.cni import CniError, Json
from scheduler.structs.allocation import NetworkStatus
from scheduler.structs.network import AllocatedPort, DNSConfig

#: Without one of these there is no bridge.
BRIDGE_PLUGINS = ("bridge", "firewall", "host-local", "loopback", "portmap")
#: Beside the reference's own place those of Debian, and of Fedora.
USUAL_PLACES = (Path("/opt/cni/bin"), Path("/usr/lib/cni"), Path("/usr/libexec/cni"))
ADMIN_CHAIN = "BIVOUAC-ADMIN"
CNI_MODE = "cni/"
_SUFFIXES = (".conf", ".conflist", ".json")


def usual_directories() -> tuple[Path, ...]:
    """Where plugins are looked for: in CNI_PATH, where that says anything."""
    return (
        tuple(map(Path, filter(None, os.environ.get("CNI_PATH", "").split(":")))) or USUAL_PLACES
    )


class NetworkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the node's owner says of networks beside the host's."""

    plugin_directories: tuple[Path, ...] = msgspec.field(default_factory=usual_directories)
    list_directory: Path = Path("/opt/cni/config")
    bridge_name: str = "bivouac"
    bridge_subnet: str = "172.26.64.0/20"
    #: "": allocations have IPv4 addresses alone.
    bridge_subnet_ipv6: str = ""
    hairpin: bool = False
    #: Mapped ports are those of every address of the node, not of the granted one alone.
    binds_every_address: bool = True
    #: Where the plugins note which addresses are taken.
    address_directory: Path = Path("/run/cni")


def is_own(mode: str) -> bool:
    """Whether a group with this network mode has a network of its own."""
    return mode not in ("", "host")


def subnets(settings: NetworkSettings) -> tuple[tuple[str, str], ...]:
    """Those of the bridge, each with what stands for everywhere else."""
    four, six = settings.bridge_subnet, settings.bridge_subnet_ipv6
    return ((four, "0.0.0.0/0"), (six, "::/0")) if six else ((four, "0.0.0.0/0"),)


def has_ipv6(network: Json) -> bool:
    """Whether a list gives out IPv6 addresses."""
    given = [(plugin.get("ipam") or {}).get("ranges") or () for plugin in network["plugins"]]
    every = [each for ranges in given for one in ranges for each in one]
    return any(":" in str(each.get("subnet")) for each in every if isinstance(each, dict))


def bridge_list(settings: NetworkSettings) -> Json:
    """The plugins of the mode `bridge` (node-agent-2.md 8.3)."""
    return {
        "cniVersion": "0.4.0",
        "name": settings.bridge_name,
        "plugins": [
            {"type": "loopback"},
            {
                "type": "bridge",
                "bridge": settings.bridge_name,
                "ipMasq": True,
                "isGateway": True,
                "forceAddress": True,
                "hairpinMode": settings.hairpin,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": subnet}] for subnet, _ in subnets(settings)],
                    "routes": [{"dst": everywhere} for _, everywhere in subnets(settings)],
                    "dataDir": str(settings.address_directory),
                },
            },
            {
                "type": "firewall",
                "backend": "iptables",
                "iptablesAdminChainName": ADMIN_CHAIN,
            },
            {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
        ],
    }


def lists_in(directory: Path) -> dict[str, Json]:
    """The lists that the owner wrote, by name; of one name the first file counts."""
    found: dict[str, Json] = {}
    files = sorted(directory.iterdir()) if directory.is_dir() else []
    for file in files:
        told = _read(file) if file.suffix in _SUFFIXES else None
        if told is not None:
            found.setdefault(str(told["name"]), told)
    return found


def list_for(mode: str, settings: NetworkSettings) -> Json | None:
    """The list of that mode; None for one without plugins. Raises CniError."""
    if mode == "none":
        return None
    if mode == "bridge":
        return bridge_list(settings)
    name = mode.removeprefix(CNI_MODE)
    found = lists_in(settings.list_directory)
    if not mode.startswith(CNI_MODE) or not found:
        raise CniError(f"no CNI network config found in {settings.list_directory}")
    if name not in found:
        raise CniError(f'CNI network config not found for name "{name}"')
    return found[name]


def port_mappings(
    ports: Iterable[AllocatedPort], settings: NetworkSettings
) -> list[dict[str, int | str]]:
    """Every granted port, for tcp and udp both."""
    mappings: list[dict[str, int | str]] = []
    for port in ports:
        inside = port.to if port.to > 0 else port.value
        for protocol in ("tcp", "udp"):
            mapping: dict[str, int | str] = {
                "hostPort": port.value, "containerPort": inside, "protocol": protocol,
            }  # fmt: skip
            if not settings.binds_every_address:
                mapping["hostIP"] = port.host_ip
            mappings.append(mapping)
    return mappings


def status_of(result: Json) -> NetworkStatus:
    """Where the namespace is reached, by the plugins' result. Raises CniError."""
    interfaces = [each for each in result.get("interfaces") or () if isinstance(each, dict)]
    if not interfaces:
        raise CniError("failed to configure network: no interfaces found")
    names = [str(each.get("name", "")) for each in interfaces]
    for position in sorted(range(len(names)), key=names.__getitem__):
        found = _addresses(result, position) if interfaces[position].get("sandbox") else {}
        if found and names[position] != "lo":
            return NetworkStatus(
                interface_name=names[position],
                address=found.get(4, ""),
                address_ipv6=found.get(6, ""),
                dns=_resolver(result),
            )
    raise CniError("failed to configure network: no interface with an address")


def _addresses(result: Json, position: int) -> dict[int, str]:
    """The first address of each version on that interface."""
    found: dict[int, str] = {}
    for each in result.get("ips") or ():
        if each.get("interface") == position:
            address = ipaddress.ip_interface(str(each.get("address"))).ip
            found.setdefault(address.version, str(address))
    return found


def _resolver(result: Json) -> DNSConfig | None:
    told = result.get("dns") or {}
    if not any(told.get(key) for key in ("nameservers", "search", "options")):
        return None
    return DNSConfig(
        servers=tuple(told.get("nameservers") or ()),
        searches=tuple(told.get("search") or ()),
        options=tuple(told.get("options") or ()),
    )


def _read(file: Path) -> Json | None:
    """The list in a file; a single plugin counts as a list of one. None for anything else."""
    try:
        told = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(told, dict) or not told.get("name"):
        return None
    if isinstance(told.get("plugins"), list) and told["plugins"]:
        return told
    if told.get("type"):
        plugin = {key: value for key, value in told.items() if key not in ("name", "cniVersion")}
        return {
            "cniVersion": told.get("cniVersion", "0.4.0"),
            "name": told["name"],
            "plugins": [plugin],
        }
    return None
