"""Deletes the files of finished allocations (section 15): oldest first when there are many.

Or those that somebody asks for. The server keeps what it knows of them.
"""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster.agent.alloc_host import AllocHost

PERIOD_S = 60.0
#: Percent of the allocation directory's disk.
DISK_THRESHOLD = 80


class Collector:
    """Looks once a minute."""

    def __init__(self, host: AllocHost, max_allocs: int, alloc_dir: Path | None = None) -> None:
        self.host = host
        self.max_allocs = max_allocs
        self.alloc_dir = alloc_dir

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            self.collect()

    def collect(self) -> None:
        """Destroy finished allocations until there are few enough and the disk has room."""
        while len(self.host.entries) > self.max_allocs or self._is_full():
            finished = [
                (self.host.entries[alloc_id].finished_at, alloc_id)
                for alloc_id in collectable(self.host)
            ]
            if not finished:
                return
            self.host.destroy(min(finished)[1])

    def _is_full(self) -> bool:
        if self.alloc_dir is None:
            return False
        usage = shutil.disk_usage(self.alloc_dir)
        return usage.used * 100 > usage.total * DISK_THRESHOLD


def collectable(host: AllocHost) -> list[str]:
    """Allocations that have ended, and whose end the server has heard."""
    return [
        alloc_id
        for alloc_id, entry in host.entries.items()
        if entry.runner.is_terminal and entry.acknowledged == entry.runner.report()
    ]


async def collect_now(host: AllocHost, alloc_ids: Iterable[str]) -> None:
    """Delete every trace of these, and return when it is gone."""
    for alloc_id in alloc_ids:
        await host.destroy_now(alloc_id)
