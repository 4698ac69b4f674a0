"""Devices such as GPUs: what tasks ask for, what a node has, what an allocation was given."""

from scheduler.structs.constraint import Affinity, Constraint
from scheduler.structs.wire import Wire, wire_names


class RequestedDevice(Wire, frozen=True):
    """A task's ask: `name` is `type`, `vendor/type` or `vendor/type/name`."""

    name: str = ""
    count: int = 1
    constraints: tuple[Constraint, ...] = ()
    affinities: tuple[Affinity, ...] = ()


class DeviceAttribute(Wire, frozen=True):
    """A typed attribute value; exactly one of the first four is set."""

    float_: float | None = None
    int_: int | None = None
    string: str | None = None
    bool_: bool | None = None
    unit: str = ""


class DeviceLocality(Wire, frozen=True, rename=wire_names(pci_bus_id="PciBusID")):
    """Where an instance sits in the machine."""

    pci_bus_id: str = ""


class DeviceInstance(Wire, frozen=True):
    """One piece of hardware."""

    id: str = ""
    healthy: bool = True
    health_description: str = ""
    locality: DeviceLocality | None = None


class DeviceGroup(Wire, frozen=True):
    """Equal instances of one vendor, type and name on a node."""

    vendor: str = ""
    type: str = ""
    name: str = ""
    instances: tuple[DeviceInstance, ...] = ()
    attributes: dict[str, DeviceAttribute] = {}


class DeviceGrant(Wire, frozen=True, rename=wire_names(device_ids="DeviceIDs")):
    """The instances of one group given to a task."""

    vendor: str = ""
    type: str = ""
    name: str = ""
    device_ids: tuple[str, ...] = ()
