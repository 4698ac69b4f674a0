"""What this machine has: attributes, resources, addresses (node-agent.md 3).

In: the machine. Out: the attributes and resources of a Node. A value that cannot be found is left
out.
"""

import contextlib
import functools
import os
import platform
import shutil
import signal
import socket
from pathlib import Path

import psutil

from cluster.agent.artifacts import landlock
from cluster.agent.control_groups import version_here
from cluster.agent.processor_layout import processor_layout
from cluster.versions import REFERENCE_VERSION
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress
from scheduler.structs.node import NodeCpu, NodeDisk, NodeMemory, NodeResources

MEGABYTE = 1024 * 1024
DEFAULT_MHZ = 1000
#: Megabits per second of an interface that does not tell its speed.
DEFAULT_SPEED = 1000
MIN_DYNAMIC_PORT = 20000
MAX_DYNAMIC_PORT = 32000

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_UNSIGNALABLE = frozenset({"SIGRTMIN", "SIGRTMAX", "SIGCLD", "SIGPOLL"})
#: What tasks can be sent; a job that names another signal waits for a node that has it. By every
#: name, as the reference tells them: SIGIOT is SIGABRT.
SIGNALS = ",".join(
    sorted(
        name for name in signal.Signals.__members__
        if name.startswith("SIG") and name not in _UNSIGNALABLE
    )
)  # fmt: skip


def attributes_of_machine(alloc_dir: Path) -> dict[str, str]:
    """The machine in words: every value is text."""
    attributes = {**_cpu(), **processor_layout(), **_host(), **_storage(alloc_dir)}
    attributes["memory.totalbytes"] = str(psutil.virtual_memory().total)
    attributes["nomad.version"] = REFERENCE_VERSION
    attributes["nomad.service_discovery"] = "true"
    if address := default_address():
        attributes["unique.network.ip-address"] = address
    return {key: value for key, value in attributes.items() if value}


def resources_of_machine(alloc_dir: Path, address: str) -> NodeResources:
    """The machine in numbers; `address` is the one tasks are reached at."""
    device = _device_of(address)
    cores = psutil.cpu_count() or 1
    return NodeResources(
        cpu=NodeCpu(
            cpu_shares=cores * _megahertz(),
            total_cpu_cores=cores,
            reservable_cpu_cores=tuple(range(cores)),
        ),
        memory=NodeMemory(memory_mb=psutil.virtual_memory().total // MEGABYTE),
        disk=NodeDisk(disk_mb=shutil.disk_usage(_existing(alloc_dir)).total // MEGABYTE),
        networks=(
            NetworkResource(
                mode="host",
                device=device,
                cidr=f"{address}/32",
                ip=address,
                mbits=speed_of(device),
            ),
        ),
        node_networks=(
            NodeNetwork(
                mode="host",
                device=device,
                speed=speed_of(device),
                addresses=(
                    NodeNetworkAddress(
                        family="ipv6" if ":" in address else "ipv4",
                        alias="default",
                        address=address,
                    ),
                ),
            ),
        ),
        min_dynamic_port=MIN_DYNAMIC_PORT,
        max_dynamic_port=MAX_DYNAMIC_PORT,
    )


def default_address() -> str:
    """The address of the interface with the default route; loopback when there is none."""
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        # Nothing is sent: connecting a datagram socket only chooses the route.
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return "127.0.0.1"


def _cpu() -> dict[str, str]:
    cores = psutil.cpu_count() or 1
    machine = platform.machine()
    return {
        "cpu.arch": _ARCHITECTURES.get(machine, machine),
        "cpu.modelname": _model(),
        "cpu.frequency": str(_megahertz()),
        "cpu.numcores": str(cores),
    }


def _host() -> dict[str, str]:
    release = _release()
    return {
        "kernel.name": platform.system().lower(),
        "kernel.version": platform.release(),
        "kernel.arch": platform.machine(),
        "os.name": release.get("ID", platform.system().lower()),
        "os.version": release.get("VERSION_ID", ""),
        "os.signals": SIGNALS,
        "os.cgroups.version": str(version_here() or ""),
        **({"kernel.landlock": f"v{landlock.version()}"} if landlock.version() else {}),
        "unique.hostname": socket.gethostname(),
    }


def _storage(alloc_dir: Path) -> dict[str, str]:
    place = _existing(alloc_dir)
    return {
        "unique.storage.volume": volume_of(place),
        "unique.storage.bytestotal": str(shutil.disk_usage(place).total),
    }


def volume_of(place: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The device that holds a directory; the directory, where the system tells none."""
    found = (Path("/"), "")
    with contextlib.suppress(OSError):
        for line in mounts.read_text().splitlines():
            device, mounted = line.split()[:2]
            point = Path(mounted.replace("\\040", " "))
            # Of several at one place the last one is seen.
            is_nearer = len(point.parts) >= len(found[0].parts)
            if is_nearer and place.resolve().is_relative_to(point):
                found = (point, device)
    return found[1] or str(place)


def _existing(path: Path) -> Path:
    """The directory, or the nearest one above it that exists."""
    return next(place for place in (path, *path.resolve().parents) if place.exists())


def _release() -> dict[str, str]:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release()
    return {}


def _model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@functools.cache
def _megahertz() -> int:
    """The nominal frequency where known, else that of the first look: a node keeps its size."""
    limit = Path("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency")
    with contextlib.suppress(OSError, ValueError):
        return int(limit.read_text()) // 1000
    with contextlib.suppress(OSError, RuntimeError):
        frequency = psutil.cpu_freq()
        if frequency is not None:
            return int(frequency.max or frequency.current) or DEFAULT_MHZ
    return DEFAULT_MHZ


def _device_of(address: str) -> str:
    for device, addresses in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in addresses):
            return device
    return "lo"


def core_speed(total_mhz: int) -> int:
    """MHz of one core; of a node said to have `total_mhz`, its part."""
    return total_mhz // (psutil.cpu_count() or 1) if total_mhz else _megahertz()


def speed_of(device: str) -> int:
    """Megabits per second of an interface."""
    stats = psutil.net_if_stats().get(device)
    return (stats.speed if stats else 0) or DEFAULT_SPEED


def process_environment() -> dict[str, str]:
    """The agent's own environment, which tasks without an image start from."""
    return dict(os.environ)
