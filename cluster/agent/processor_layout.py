"""How the processors of this machine are laid out (node-agent.md 3): NUMA nodes, kinds of cores.

In: what the kernel tells below `/sys/devices`. Out: attributes of a Node; none where it tells
nothing. Files: kernel.org `admin-guide/abi-stable.html` (system/node), `cpu_core` and `cpu_atom`
of hybrid processors.
"""

import contextlib
import re
from pathlib import Path

from cluster.agent.core_shares import cores_in

DEVICES = Path("/sys/devices")
#: Kinds of cores, by what the kernel calls them.
_KINDS = {"performance": "cpu_core", "efficiency": "cpu_atom"}


def processor_layout(devices: Path = DEVICES) -> dict[str, str]:
    """The attributes, each a text."""
    return {**_numa(devices / "system" / "node"), **_kinds(devices)}


def _numa(nodes: Path) -> dict[str, str]:
    found = {}
    for place in nodes.glob("node*"):
        number = re.fullmatch(r"node(\d+)", place.name)
        with contextlib.suppress(OSError):
            if number:
                found[int(number[1])] = (place / "cpulist").read_text().strip()
    if not found:
        return {}
    cores = {f"numa.node{number}.cores": text for number, text in sorted(found.items())}
    return {"numa.node.count": str(len(found)), **cores}


def _kinds(devices: Path) -> dict[str, str]:
    """Only of processors that have both."""
    cores = {name: cores_in(devices / place / "cpus") for name, place in _KINDS.items()}
    if not all(cores.values()):
        return {}
    found = {f"cpu.numcores.{name}": str(len(numbers)) for name, numbers in cores.items()}
    for name, numbers in cores.items():
        place = devices / f"system/cpu/cpu{min(numbers)}/cpufreq/base_frequency"
        with contextlib.suppress(OSError, ValueError):
            found[f"cpu.frequency.{name}"] = str(int(place.read_text()) // 1000)
    return found
