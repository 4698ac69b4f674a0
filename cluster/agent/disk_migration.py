"""Fetches the data of the allocation before from another node, before its replacement begins.

In: an allocation whose group says `ephemeral_disk { migrate }`. Out: its data in place, or a
sentence in the history of its tasks and an empty disk (node-agent-2.md 9.2).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from cluster.agent import task_events as events
from cluster.agent.agent_state import Storage
from cluster.agent.disk_archive import ArchiveRefused, unpacked
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.server_link import CallFailed
from cluster.agent.task_launch import TaskLauncher
from scheduler.ports import Clock

logger = logging.getLogger(__name__)
#: The data of the allocation that this one replaces, from the server; None: nobody is to be asked.
FetchData = Callable[[str], AsyncIterator[bytes]]
#: Allocations whose data comes at the same time.
AT_ONCE = 2
#: Seconds between two lines about how far it is.
TELL_EVERY_S = 5.0


class DataHost(Protocol):
    """Whoever asks for data, and is told of progress."""

    changed: Callable[[str], None]
    fetch_data: FetchData | None


class DiskMigration:
    """The data on its way to one node."""

    def __init__(
        self, host: DataHost, storage: Storage, launcher: TaskLauncher, clock: Clock
    ) -> None:
        self._host = host
        self._storage = storage
        self._limits = launcher.limits
        self._clock = clock
        self._turn = asyncio.Semaphore(AT_ONCE)

    def is_due(self, entry: HostedAlloc) -> bool:
        """Whether the allocation before ran elsewhere, and its data shall come along."""
        runner = entry.runner
        before = self._storage.directories(runner.alloc.previous_allocation)
        return (
            runner.group.ephemeral_disk.migrate
            and bool(runner.alloc.previous_allocation)
            and before is not None
            and not before.root.exists()
            and self._host.fetch_data is not None
        )

    async def run(self, entry: HostedAlloc, go_on: Callable[[HostedAlloc], None]) -> None:
        """Fetch the data, then have the allocation begin, with it or without."""
        copy = self._storage.directories(entry.runner.alloc.previous_allocation)
        assert copy is not None, "is_due was asked first"
        try:
            async with self._turn:
                size = await asyncio.wait_for(self._fetch(entry), self._limits.timeout_s)
        except (ArchiveRefused, CallFailed, OSError, TimeoutError) as problem:
            why = str(problem) or f"it took longer than {self._limits.timeout_s:.0f} s"
            logger.warning("data of %s: %s", entry.runner.alloc.previous_allocation, why)
            await asyncio.to_thread(copy.remove)
            self._tell(entry, f"Its data could not be had: {why}. The disk is empty.")
        else:
            self._tell(entry, f"The data of the allocation before is here: {_mib(size)}")
        go_on(entry)
        await asyncio.to_thread(copy.remove)

    async def _fetch(self, entry: HostedAlloc) -> int:
        copy = self._storage.directories(entry.runner.alloc.previous_allocation)
        fetch = self._host.fetch_data
        assert copy is not None, "is_due was asked first"
        assert fetch is not None, "is_due was asked first"
        self._tell(entry, "The data of the allocation before is fetched from its node")
        copy.root.mkdir(mode=0o700)
        loop = asyncio.get_running_loop()
        next_line = loop.time() + TELL_EVERY_S

        def told(received: int) -> None:
            nonlocal next_line
            if loop.time() >= next_line:
                next_line = loop.time() + TELL_EVERY_S
                self._tell(entry, f"The data of the allocation before: {_mib(received)} so far")

        pieces = fetch(entry.runner.alloc.id)
        return await unpacked(pieces, copy.root, self._limits.max_unpacked, told)

    def _tell(self, entry: HostedAlloc, sentence: str) -> None:
        for run in entry.runner.tasks.values():
            run.say_anew(events.event(events.MIGRATING, self._clock.now(), sentence))
        self._host.changed(entry.runner.alloc.id)


def files_problem(storage: Storage, launcher: TaskLauncher, entry: HostedAlloc) -> str:
    """Make the directories, with data of the allocation before that is here; why it cannot be."""
    runner = entry.runner
    directories = storage.directories(runner.alloc.id)
    assert directories is not None, "a simulated node makes none"
    try:
        directories.make_shared(map(launcher.user_of, runner.group.tasks))
        disk = runner.group.ephemeral_disk
        before = storage.directories(runner.alloc.previous_allocation)
        if (disk.sticky or disk.migrate) and before and runner.alloc.previous_allocation:
            directories.take_over(before, list(runner.tasks))
    except OSError as problem:
        return str(problem)
    return ""


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
