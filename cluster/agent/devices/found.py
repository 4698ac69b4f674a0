"""One device as a source found it, and devices as a node tells of them (node-agent-2.md 12).

In: what sources found. Out: groups of equal devices, with what all of a group have in common.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from scheduler.structs.device import (
    DeviceAttribute,
    DeviceGroup,
    DeviceInstance,
    DeviceLocality,
)

#: JSON of the public API.
Told = dict[str, object]


@dataclass(frozen=True)
class FoundDevice:
    """One piece of hardware that a task may have."""

    vendor: str
    type: str
    name: str
    #: Unlike that of any other device of the machine, and the same after a start of it.
    id: str
    pci_bus_id: str = ""
    attributes: dict[str, DeviceAttribute] = field(default_factory=dict)
    #: Files below /dev that its users open.
    files: tuple[str, ...] = ()
    #: Why nobody can use it now; "": somebody can.
    fault: str = ""

    @property
    def group(self) -> tuple[str, str, str]:
        """What it is called by."""
        return self.vendor, self.type, self.name


class DeviceSource(Protocol):
    """Where devices are found."""

    #: What a task is told by which of them are its own: their ids, with commas between.
    variable: str

    def look(self) -> list[FoundDevice]:
        """Those there are now, in the same order each time. Blocks; raises nothing."""

    def measure(self, device: FoundDevice) -> Told | None:
        """What it does now, as `InstanceStats` of the public API without its time. Blocks."""


def device_groups(devices: Iterable[FoundDevice]) -> tuple[DeviceGroup, ...]:
    """Equal devices together; an attribute that they do not share is not the group's."""
    found: dict[tuple[str, str, str], list[FoundDevice]] = defaultdict(list)
    for device in devices:
        found[device.group].append(device)
    return tuple(
        DeviceGroup(
            vendor=vendor,
            type=kind,
            name=name,
            instances=tuple(map(_instance, members)),
            attributes=_shared(members),
        )
        for (vendor, kind, name), members in found.items()
    )


def _instance(device: FoundDevice) -> DeviceInstance:
    return DeviceInstance(
        id=device.id,
        healthy=not device.fault,
        health_description=device.fault,
        locality=DeviceLocality(pci_bus_id=device.pci_bus_id) if device.pci_bus_id else None,
    )


def _shared(members: list[FoundDevice]) -> dict[str, DeviceAttribute]:
    first, *others = members
    return {
        name: value
        for name, value in first.attributes.items()
        if all(each.attributes.get(name) == value for each in others)
    }
