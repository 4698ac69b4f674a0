"""Measures what the tasks of a node and its machine use: each ten seconds, and when asked.

In: allocations and their drivers. Out: the newest usage, and the past hour in small rings. Between
two rows nothing is measured unless somebody asks. A simulated node has no sampler: it has nothing
that could be measured.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from cluster.agent.alloc_host import AllocHost
from cluster.agent.drivers.driver import CgroupReading, Driver, Handle, TaskReading
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.task_usage import (
    CoreTimes,
    TaskUsage,
    core_shares,
    throttled_share,
    usage_between,
)
from cluster.agent.usage_ring import UsageRing, UsageRow
from cluster.operations.usage_rows import STEP_S
from scheduler.ports import Clock

logger = logging.getLogger(__name__)
SECOND = 1_000_000_000
#: Looks closer together than this tell the same: shares of shorter spans are noise.
FRESH_S = 1.0
_MIB = 1 << 20
Key = tuple[str, str]


@dataclass(slots=True)
class TaskTrack:
    """One task over the looks at it."""

    ring: UsageRing = field(default_factory=UsageRing)
    #: The newest usage; kept when the task has ended.
    usage: TaskUsage | None = None
    is_running: bool = False
    #: The run that was looked at; another one has counters of its own.
    task_id: str = ""
    reading: TaskReading | None = None
    read_at: float = 0.0
    #: At the last row of the ring.
    row_reading: TaskReading | None = None
    row_at: float = 0.0
    newest_row: UsageRow | None = None


@dataclass(slots=True)
class MachineTrack:
    """The machine over the looks at it."""

    ring: UsageRing = field(default_factory=UsageRing)
    cores: list[CoreTimes] = field(default_factory=list)
    shares: list[tuple[float, float, float]] = field(default_factory=list)
    row_cores: list[CoreTimes] = field(default_factory=list)


class UsageSampler:
    """The measurements of one real node."""

    def __init__(self, host: AllocHost, clock: Clock, core_mhz: float) -> None:
        """`core_mhz`: of one core, by which shares become megahertz."""
        self.host = host
        self.clock = clock
        self.core_mhz = core_mhz
        self.tasks: dict[Key, TaskTrack] = {}
        self.machine = MachineTrack(cores=core_times())
        #: Nothing is known before, ns.
        self.since = clock.now()
        self._looked_at = float("-inf")
        self._has_row = False
        self._lock = asyncio.Lock()

    async def run(self) -> None:
        """Serve until cancelled: a row at each place of the grid."""
        while True:
            past = self.clock.now() / SECOND % STEP_S
            await asyncio.sleep(STEP_S - past)
            try:
                await self.row()
            except (psutil.Error, OSError):
                # The next row may be had; the tasks are not to suffer from it.
                logger.exception("cannot measure")

    def used(self) -> tuple[int, int] | None:
        """MHz and MiB of all running tasks together, by the newest row; None before the first.

        A task of which only one look is known counts with its memory alone.
        """
        if not self._has_row:
            return None
        rows = [
            track.newest_row
            for track in self.tasks.values()
            if track.is_running and track.newest_row is not None
        ]
        return (
            round(sum(row.cpu_ticks or 0.0 for row in rows)),
            round(sum(row.memory_bytes for row in rows) / _MIB),
        )

    async def look(self) -> None:
        """Measure anew, unless that was done just now."""
        async with self._lock:
            if self.clock.monotonic() - self._looked_at >= FRESH_S:
                await self._look()

    async def row(self) -> None:
        """Measure, and note a row of everything."""
        async with self._lock:
            await self._look()
            at = round(self.clock.now() / SECOND)
            for track in self.tasks.values():
                if track.is_running and track.reading is not None:
                    track.newest_row = self._row_of(track, track.reading)
                    track.ring.add(at, track.newest_row)
            self._has_row = True
            self.machine.ring.add(at, self._machine_row())

    async def _look(self) -> None:
        now = self.clock.monotonic()
        keys = {
            (alloc_id, name): handle
            for alloc_id, entry in self.host.entries.items()
            for name, handle in entry.handles.items()
        }
        for gone in self.tasks.keys() - keys.keys():
            if gone[0] not in self.host.entries:
                del self.tasks[gone]
        running = {
            key: handle
            for key, handle in keys.items()
            if self.host.entries[key[0]].runner.tasks[key[1]].state.state == "running"
        }
        asked = [(key, self.host.drivers[each.driver], each) for key, each in running.items()]
        readings = await asyncio.to_thread(_read, asked)
        for key, handle in keys.items():
            self._note(key, handle, readings.get(key), now)
        cores = core_times()
        self.machine.shares = core_shares(self.machine.cores, cores)
        self.machine.cores = cores
        self._looked_at = now

    def _note(self, key: Key, handle: Handle, reading: TaskReading | None, now: float) -> None:
        track = self.tasks.get(key)
        if reading is None:
            if track is not None:
                track.is_running = False
            return
        if track is None:
            track = self.tasks[key] = TaskTrack()
        if track.task_id != handle.task_id:
            self._begin(track, key, handle.task_id, reading, now)
        track.usage = usage_between(
            track.reading, reading, seconds=now - track.read_at, at=self.clock.now()
        )
        track.reading, track.read_at, track.is_running = reading, now, True

    def _begin(
        self, track: TaskTrack, key: Key, task_id: str, reading: TaskReading, now: float
    ) -> None:
        """Another run, with counters of its own: from its start, where this agent was there."""
        track.task_id = task_id
        track.reading = track.row_reading = None
        started = self.host.entries[key[0]].runner.tasks[key[1]].state.started_at
        if started >= self.since:
            nothing = TaskReading(cgroup=CgroupReading() if reading.cgroup else None)
            track.reading = track.row_reading = nothing
            track.read_at = track.row_at = now - (self.clock.now() - started) / SECOND

    def _row_of(self, track: TaskTrack, reading: TaskReading) -> UsageRow:
        before = track.row_reading
        usage = usage_between(
            before, reading, seconds=track.read_at - track.row_at, at=self.clock.now()
        )
        row = UsageRow(
            cpu_ticks=None if before is None else usage.cpu.percent / 100 * self.core_mhz,
            memory_bytes=held(usage),
            throttled_percent=throttled_share(before, reading),
        )
        track.row_reading, track.row_at = reading, track.read_at
        return row

    def _machine_row(self) -> UsageRow:
        before, after = self.machine.row_cores, self.machine.cores
        self.machine.row_cores = after
        memory = psutil.virtual_memory()
        busy = sum(100.0 - idle for _, _, idle in core_shares(before, after))
        return UsageRow(
            cpu_ticks=busy / 100 * self.core_mhz if before else None,
            memory_bytes=memory.total - memory.available,
        )


def held(usage: TaskUsage) -> int:
    """Bytes that count against a task's memory: what its group charges, else what is resident."""
    return usage.cgroup.usage if usage.cgroup else usage.rss


def core_times() -> list[CoreTimes]:
    """The counters of each core; what waits for a disk is idle."""
    found = []
    for times in psutil.cpu_times(percpu=True):
        waits = getattr(times, "iowait", 0.0)
        # Time of guests is part of the user's already.
        guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        found.append(
            CoreTimes(
                user=times.user + getattr(times, "nice", 0.0),
                system=times.system,
                idle=times.idle + waits,
                every=sum(times) - guests,
            )
        )
    return found


def _read(asked: Sequence[tuple[Key, Driver, Handle]]) -> dict[Key, TaskReading]:
    """One pass over the processes for all tasks; a driver that fails tells nothing this time."""
    found: dict[Key, TaskReading] = {}
    if not asked:
        return found
    table = ProcessTable()
    for key, driver, handle in asked:
        try:
            reading = driver.measure(handle, table)
        except (psutil.Error, OSError):
            logger.exception("cannot measure", extra={"task": handle.task_id})
            continue
        if reading is not None:
            found[key] = reading
    return found
