"""Drivers that other packages bring, and those that are named only to say that they are not there.

In: the entry points of the group `bivouac.drivers` of this Python, and what an agent has for them.
Out: a driver for each. One that cannot be had is a driver too, which says why on its node's page.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from cluster.agent.drivers.driver import (
    Abilities,
    Driver,
    Ended,
    Handle,
    InsideFailed,
    InsideProcess,
    Launch,
    StartError,
    Streams,
    TaskReading,
    unhealthy,
)
from cluster.agent.drivers.kept_process import FindGroups
from cluster.agent.drivers.process_table import ProcessTable
from cluster.jobspec.driver_options import REFUSED_DRIVERS
from scheduler.structs.node import DriverInfo

GROUP = "bivouac.drivers"
#: What a driver must have; `takes_mounts` may be left out.
_PARTS = (
    "name", "abilities", "describe", "prepare", "start", "recover", "stop", "signal",
    "run_inside", "measure", "forget",
)  # fmt: skip


@dataclass(frozen=True)
class DriverMeans:
    """What an agent has for the drivers of packages: each entry point is called with it, once."""

    #: Nanoseconds since 1970.
    wall: Callable[[], int]
    #: The control groups of the machine, for `KeptProcesses`.
    find_groups: FindGroups


class AbsentDriver:
    """A name that no task can be run by, and why."""

    abilities = Abilities()

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def describe(self, now: int) -> DriverInfo:
        """Not offered, for this reason."""
        return unhealthy(self._reason, now)

    def prepare(self, launch: Launch) -> Handle:
        """Always refused: the scheduler places nothing here, this is the second line."""
        raise StartError(f'driver "{self.name}": {self._reason}')

    async def start(self, launch: Launch, handle: Handle, ended: Ended) -> None:
        """Never asked for: nothing can be prepared."""
        raise StartError(self._reason)

    async def recover(self, handle: Handle, ended: Ended) -> bool:
        """Of what another version started nothing is known here."""
        return False

    async def stop(self, handle: Handle, timeout_s: float, signal: str) -> None:
        """There is nothing to be stopped."""

    async def signal(self, handle: Handle, signal: str) -> None:
        """There is nobody to be told."""
        raise ValueError(self._reason)

    async def run_inside(
        self, handle: Handle, argv: Sequence[str], streams: Streams
    ) -> InsideProcess:
        """There is nothing to be beside of."""
        raise InsideFailed(self._reason)

    def measure(self, handle: Handle, processes: ProcessTable) -> TaskReading | None:
        """Nothing runs here."""

    def forget(self, handle: Handle) -> None:
        """There is nothing to be forgotten."""


def absent_drivers() -> list[Driver]:
    """The reference's drivers that are refused by name."""
    return [AbsentDriver(name, reason) for name, reason in REFUSED_DRIVERS.items()]


def drivers_of_packages(
    means: DriverMeans, taken: Collection[str], points: Iterable[EntryPoint] | None = None
) -> list[Driver]:
    """One driver for each entry point; `taken`: names that are ours and stay so."""
    found: dict[str, Driver] = {}
    for point in sorted(entry_points(group=GROUP) if points is None else points):
        if point.name in taken:
            continue
        if point.name in found:
            reason = f"two packages bring a driver of this name; one is {point.value}"
            found[point.name] = AbsentDriver(point.name, reason)
        else:
            found[point.name] = _made(point, means)
    return list(found.values())


def _made(point: EntryPoint, means: DriverMeans) -> Driver:
    try:
        driver: Driver = point.load()(means)
    except Exception as problem:
        reason = f"{point.value} cannot be loaded: {type(problem).__name__}: {problem}"
        return AbsentDriver(point.name, reason)
    missing = [part for part in _PARTS if not hasattr(driver, part)]
    if missing:
        return AbsentDriver(point.name, f"{point.value} lacks {', '.join(missing)}")
    if driver.name != point.name:
        return AbsentDriver(point.name, f'{point.value} calls itself "{driver.name}"')
    return driver
