"""NVIDIA's graphics cards, as their driver's library tells of them (NVML, by `nvidia-ml-py`).

In: the library, where driver and package are there; without either, no devices. Out: devices by
their UUIDs. Functions: docs.nvidia.com/deploy/nvml-api.
"""

import contextlib
import importlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cluster.agent.devices.found import FoundDevice, Told
from scheduler.structs.device import DeviceAttribute

logger = logging.getLogger(__name__)
_MIB = 1024 * 1024
#: Megabytes a second of one lane, by the generation of PCI Express.
_LANE = {1: 250, 2: 500, 3: 985, 4: 1969, 5: 3938, 6: 7563}
#: Files that all cards share.
_SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")


class NvidiaDevices:
    """The cards of one machine."""

    variable = "NVIDIA_VISIBLE_DEVICES"

    def __init__(self, exists: Callable[[str], bool] = lambda file: Path(file).exists()) -> None:
        self._exists = exists
        self._library: Any = None

    def look(self) -> list[FoundDevice]:
        """By their numbers; none where the library cannot be asked."""
        library = self._ready()
        if library is None:
            return []
        try:
            handles = [
                library.nvmlDeviceGetHandleByIndex(number)
                for number in range(library.nvmlDeviceGetCount())
            ]
            return [self._device(library, handle) for handle in handles]
        except library.NVMLError as problem:
            logger.warning("NVML: %s", problem)
            # A driver that was loaded anew needs a new beginning.
            self._let_go()
            return []

    def measure(self, device: FoundDevice) -> Told | None:
        """Memory, load, temperature, power."""
        library = self._ready()
        if library is None:
            return None
        try:
            handle = library.nvmlDeviceGetHandleByUUID(device.id.encode())
            memory = library.nvmlDeviceGetMemoryInfo(handle)
        except library.NVMLError:
            return None
        summary: Told = {
            "Desc": "Memory in use of all there is",
            "Unit": "MiB",
            "IntNumeratorVal": memory.used // _MIB,
            "IntDenominatorVal": memory.total // _MIB,
        }
        found = {"Memory state": summary, **dict(_readings(library, handle))}
        return {"Summary": summary, "Stats": {"Attributes": found}}

    def _device(self, library: Any, handle: Any) -> FoundDevice:
        number = library.nvmlDeviceGetMinorNumber(handle)
        files = (f"/dev/nvidia{number}", *_SHARED)
        return FoundDevice(
            vendor="nvidia",
            type="gpu",
            name=_text(library.nvmlDeviceGetName(handle)),
            id=_text(library.nvmlDeviceGetUUID(handle)),
            pci_bus_id=_text(library.nvmlDeviceGetPciInfo(handle).busId),
            attributes=dict(_attributes(library, handle)),
            files=tuple(file for file in files if self._exists(file)),
        )

    def _ready(self) -> Any:
        """The library, begun; None where there is no driver or no package."""
        if self._library is None:
            try:
                library = importlib.import_module("pynvml")
            except ImportError:
                return None
            try:
                library.nvmlInit()
            except library.NVMLError:
                return None
            self._library = library
        return self._library

    def _let_go(self) -> None:
        with contextlib.suppress(self._library.NVMLError):
            self._library.nvmlShutdown()
        self._library = None


def _attributes(library: Any, handle: Any) -> Iterator[tuple[str, DeviceAttribute]]:
    """As the reference names them; what a card does not tell is left out."""
    told = _Telling(library, handle)
    if version := told.of(library.nvmlSystemGetDriverVersion, is_of_card=False):
        yield "driver_version", DeviceAttribute(string=_text(version))
    if memory := told.of(library.nvmlDeviceGetMemoryInfo):
        yield "memory", DeviceAttribute(int_=memory.total // _MIB, unit="MiB")
    if bar1 := told.of(library.nvmlDeviceGetBAR1MemoryInfo):
        yield "bar1", DeviceAttribute(int_=bar1.bar1Total // _MIB, unit="MiB")
    if limit := told.of(library.nvmlDeviceGetPowerManagementLimit):
        yield "power", DeviceAttribute(int_=limit // 1000, unit="W")
    for name, clock in (("cores_clock", library.NVML_CLOCK_GRAPHICS),
                        ("memory_clock", library.NVML_CLOCK_MEM)):  # fmt: skip
        if speed := told.of(library.nvmlDeviceGetMaxClockInfo, clock):
            yield name, DeviceAttribute(int_=speed, unit="MHz")
    generation = told.of(library.nvmlDeviceGetMaxPcieLinkGeneration)
    width = told.of(library.nvmlDeviceGetMaxPcieLinkWidth)
    if width and generation in _LANE:
        yield "pci_bandwidth", DeviceAttribute(int_=_LANE[generation] * width, unit="MB/s")
    for name, asked in (("display_state", library.nvmlDeviceGetDisplayMode),
                        ("persistence_mode", library.nvmlDeviceGetPersistenceMode)):  # fmt: skip
        if (state := told.of(asked)) is not None:
            yield name, DeviceAttribute(string="Enabled" if state else "Disabled")


def _readings(library: Any, handle: Any) -> Iterator[tuple[str, Told]]:
    told = _Telling(library, handle)
    if (load := told.of(library.nvmlDeviceGetUtilizationRates)) is not None:
        yield "GPU utilization", {"Desc": "", "Unit": "%", "IntNumeratorVal": load.gpu}
        yield "Memory utilization", {"Desc": "", "Unit": "%", "IntNumeratorVal": load.memory}
    sensor = library.NVML_TEMPERATURE_GPU
    if (heat := told.of(library.nvmlDeviceGetTemperature, sensor)) is not None:
        yield "Temperature", {"Desc": "", "Unit": "C", "IntNumeratorVal": heat}
    if (power := told.of(library.nvmlDeviceGetPowerUsage)) is not None:
        yield "Power usage", {"Desc": "", "Unit": "W", "IntNumeratorVal": power // 1000}


class _Telling:
    """Asks one card for what it may not be able to tell."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def of(self, asked: Callable[..., Any], *words: object, is_of_card: bool = True) -> Any:
        try:
            return asked(*((self._handle, *words) if is_of_card else words))
        except self._library.NVMLError:
            return None


def _text(told: str | bytes) -> str:
    return told.decode(errors="replace") if isinstance(told, bytes) else told
