"""Tries whether this machine can make bridge networks, by making one that nobody sees.

In: the directories of the plugins, `:` between them, and whether there are IPv6 addresses. Out:
nothing where it can; else what was refused, on the standard output, and exit code 1. Run as a
process of its own: it leaves the machine's network for one that ends with it, and bridge, rules
and ports with that.
"""

import sys
import tempfile
from pathlib import Path

from cluster.agent.networks import namespaces
from cluster.agent.networks.cni import Attachment, CniError, Plugins
from cluster.agent.networks.forwarding import let_through
from cluster.agent.networks.lists import (
    BRIDGE_PLUGINS,
    NetworkSettings,
    bridge_list,
    port_mappings,
    status_of,
)
from scheduler.structs.network import AllocatedPort

#: Addresses that are never seen outside.
_IPV6 = "fd00:a110:c8::/112"


def main(directories: str, *, has_ipv6: bool) -> int:
    """Attach a namespace to a bridge, with a port, and take both away again."""
    plugins = Plugins(tuple(map(Path, directories.split(":"))))
    with tempfile.TemporaryDirectory(prefix="bivouac-probe-") as place:
        try:
            for name in BRIDGE_PLUGINS:
                plugins.find(name)
            namespaces.leave_network()
            _try(plugins, Path(place), _IPV6 if has_ipv6 else "")
        except (OSError, CniError) as problem:
            sys.stdout.write(str(problem))
            return 1
    return 0


def _try(plugins: Plugins, place: Path, subnet_ipv6: str) -> None:
    settings = NetworkSettings(
        bridge_name="bivouac-probe",
        bridge_subnet_ipv6=subnet_ipv6,
        address_directory=place / "addresses",
    )
    held = place / "netns" / "probe"
    namespaces.make(held)
    try:
        ports = port_mappings([AllocatedPort(label="p", value=20000, to=80)], settings)
        end = Attachment("bivouac-probe", str(held), capabilities={"portMappings": ports})
        let_through(settings)
        network = bridge_list(settings)
        result = plugins.add(network, end)
        status_of(result)
        plugins.delete(network, end, result)
    finally:
        namespaces.remove(held)
        namespaces.let_go(held.parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], has_ipv6="ipv6" in sys.argv[2:]))
