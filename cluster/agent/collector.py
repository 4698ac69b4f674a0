"""Deletes the files of ended allocations where room is short (node-agent.md 15).

Or those that somebody asks for. The server keeps what it knows of them.
"""

import asyncio
import logging
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from cluster.agent.alloc_host import AllocHost

logger = logging.getLogger(__name__)


class CollectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When ended allocations make room; percents are of the file system of allocations."""

    interval_s: float = 60.0
    #: Allocations whose files are here, those that run among them.
    max_allocs: int = 50
    disk_percent: int = 80
    inode_percent: int = 70
    #: Allocations whose files are deleted at the same time.
    parallel_destroys: int = 2


class Collector:
    """Looks from time to time, and whenever an allocation has come."""

    def __init__(
        self, host: AllocHost, room: CollectionLimits, alloc_dir: Path | None = None
    ) -> None:
        self.host = host
        self.room = room
        self.alloc_dir = alloc_dir
        self._has_come = asyncio.Event()
        self._told = ""
        host.destroys = asyncio.Semaphore(room.parallel_destroys)
        host.added = self._has_come.set

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self.room.interval_s):
                    await self._has_come.wait()
            except TimeoutError:
                pass
            self._has_come.clear()
            await self.collect()

    async def collect(self) -> None:
        """Destroy ended allocations, the oldest first, until room is enough or none is left."""
        while why := self._shortage():
            number = self.room.parallel_destroys
            excess = len(self.host.entries) - self.room.max_allocs
            if excess > 0 and not self._fullness():
                number = min(number, excess)
            oldest = _by_age(self.host)[:number]
            self._tell(why, oldest)
            if not oldest:
                return
            await collect_now(self.host, oldest)
        self._told = ""

    def _shortage(self) -> str:
        """Why room is to be made; "" where there is enough."""
        if full := self._fullness():
            return full
        count = len(self.host.entries)
        most = self.room.max_allocs
        return f"{count} allocations are here, {most} may be" if count > most else ""

    def _fullness(self) -> str:
        if self.alloc_dir is None:
            return ""
        used, inodes = usage_of(self.alloc_dir)
        if used > self.room.disk_percent:
            return f"the disk is {used:.0f} % full, {self.room.disk_percent} % may be"
        if inodes > self.room.inode_percent:
            most = self.room.inode_percent
            return f"{inodes:.0f} % of the disk's inodes are used, {most} % may be"
        return ""

    def _tell(self, why: str, chosen: list[str]) -> None:
        """What is done; that nothing can be is said once, until there is room again."""
        if chosen:
            self._told = ""
            logger.info("deleting the files of %d ended allocations: %s", len(chosen), why)
        elif not self._told:
            self._told = why
            logger.warning("no ended allocation is left to delete: %s", why)


def usage_of(place: Path) -> tuple[float, float]:
    """Percent of its file system's space and of its inodes in use, as `df` tells them.

    Inodes are 0 % where the file system has no fixed number of them.
    """
    told = os.statvfs(place)
    used = told.f_blocks - told.f_bfree
    space = used * 100 / max(1, used + told.f_bavail)
    return space, (told.f_files - told.f_ffree) * 100 / max(1, told.f_files)


def collectable(host: AllocHost) -> list[str]:
    """Allocations that have ended, and whose end the server has heard."""
    return [
        alloc_id
        for alloc_id, entry in host.entries.items()
        if entry.runner.is_terminal and entry.acknowledged == entry.runner.report()
    ]


def _by_age(host: AllocHost) -> list[str]:
    return sorted(collectable(host), key=lambda key: (host.entries[key].finished_at, key))


async def collect_now(host: AllocHost, alloc_ids: Iterable[str]) -> None:
    """Delete every trace of these, as many at a time as may be, and return when it is gone."""
    await asyncio.gather(*map(host.destroy_now, alloc_ids))
