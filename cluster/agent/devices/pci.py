"""Graphics cards and accelerators as the kernel shows them below `/sys/bus/pci`.

In: that directory. Out: devices with the files that the kernel's drivers made for their users; one
without such a file is told as unhealthy. No library reads more of it than the kernel writes there.
Files: kernel.org `ABI/testing/sysfs-bus-pci`, `gpu/amdgpu` (memory, load); classes and names:
pci-ids.ucw.cz.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

from cluster.agent.devices.found import FoundDevice, Told
from scheduler.structs.device import DeviceAttribute

PLACE = Path("/sys/bus/pci/devices")
#: Lists of names, where distributions put them.
NAMES = (Path("/usr/share/misc/pci.ids"), Path("/usr/share/hwdata/pci.ids"))
#: Beginnings of class numbers: display controllers, processing accelerators, co-processors.
_TYPES = {"03": "gpu", "12": "accelerator", "0b40": "coprocessor"}
_VENDORS = {"1002": "amd", "10de": "nvidia", "8086": "intel"}
#: What makes cards into devices of the source of its own.
_OF_NVML = "nvidia"
_MIB = 1024 * 1024


class PciDevices:
    """What one machine has."""

    variable = "PCI_VISIBLE_DEVICES"

    def __init__(self, place: Path = PLACE, names: tuple[Path, ...] = NAMES) -> None:
        self._place = place
        self._names = names

    def look(self) -> list[FoundDevice]:
        """By their addresses."""
        places = sorted(self._place.iterdir()) if self._place.is_dir() else []
        found = (self._device(place) for place in places)
        return [device for device in found if device is not None]

    def measure(self, device: FoundDevice) -> Told | None:
        """Memory and load, of drivers that tell them."""
        place = self._place / device.id
        whole, used = (_number(place / f"mem_info_vram_{name}") for name in ("total", "used"))
        load = _number(place / "gpu_busy_percent")
        stats: Told = {}
        if load is not None:
            stats["GPU utilization"] = {"Desc": "", "Unit": "%", "IntNumeratorVal": load}
        if whole is None or used is None:
            return {"Summary": {}, "Stats": {"Attributes": stats}} if stats else None
        memory = {
            "Desc": "Memory in use of all there is",
            "Unit": "MiB",
            "IntNumeratorVal": used // _MIB,
            "IntDenominatorVal": whole // _MIB,
        }
        return {"Summary": memory, "Stats": {"Attributes": {**stats, "Memory state": memory}}}

    def _device(self, place: Path) -> FoundDevice | None:
        number = _hex(place / "class")
        kind = next((kind for start, kind in _TYPES.items() if number.startswith(start)), "")
        driver = _target(place / "driver")
        if not kind or driver == _OF_NVML:
            return None
        vendor, model = _hex(place / "vendor"), _hex(place / "device")
        files = tuple(_files(place))
        return FoundDevice(
            vendor=_VENDORS.get(vendor, vendor),
            type=kind,
            name=_name(vendor, model, self._names) or f"{vendor}:{model}",
            id=place.name,
            pci_bus_id=place.name,
            attributes=dict(_attributes(place, vendor, model, driver)),
            files=files,
            fault="" if files else _fault(driver),
        )


def _attributes(
    place: Path, vendor: str, model: str, driver: str
) -> Iterator[tuple[str, DeviceAttribute]]:
    yield "vendor_id", DeviceAttribute(string=vendor)
    yield "device_id", DeviceAttribute(string=model)
    if driver:
        yield "driver", DeviceAttribute(string=driver)
    if (node := _number(place / "numa_node")) is not None and node >= 0:
        yield "numa_node", DeviceAttribute(int_=node)
    if (memory := _number(place / "mem_info_vram_total")) is not None:
        yield "memory", DeviceAttribute(int_=memory // _MIB, unit="MiB")


def _files(place: Path) -> Iterator[str]:
    """What its driver made for users; the whole device where it is to be passed on."""
    for kind, below in (("drm", "dri"), ("accel", "accel")):
        for node in sorted((place / kind).glob("*")):
            if node.name.startswith(("card", "renderD", "accel")):
                yield f"/dev/{below}/{node.name}"
    if _target(place / "driver") == "vfio-pci" and (group := _target(place / "iommu_group")):
        yield "/dev/vfio/vfio"
        yield f"/dev/vfio/{group}"


def _fault(driver: str) -> str:
    if not driver:
        return "no driver of this machine has taken it"
    return f"its driver {driver} made no file for users"


def _hex(file: Path) -> str:
    """A number as the kernel writes it, without what says that it is one."""
    try:
        return file.read_text().strip().removeprefix("0x")
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _target(link: Path) -> str:
    """The last name of where a link leads; "": there is none."""
    try:
        return link.readlink().name
    except OSError:
        return ""


@functools.lru_cache(maxsize=64)
def _name(vendor: str, model: str, lists: tuple[Path, ...]) -> str:
    """What the list of names calls it; "" where there is no list, or it is not in it."""
    for file in lists:
        try:
            with file.open(encoding="utf-8", errors="replace") as lines:
                return _listed(vendor, model, lines)
        except OSError:
            continue
    return ""


def _listed(vendor: str, model: str, lines: Iterator[str]) -> str:
    is_inside = False
    for line in lines:
        if line.startswith(("#", "\t\t")):
            continue
        if not line.startswith("\t"):
            is_inside = line.startswith(f"{vendor}  ")
        elif is_inside and line.startswith(f"\t{model}  "):
            return line.strip().partition("  ")[2]
    return ""
