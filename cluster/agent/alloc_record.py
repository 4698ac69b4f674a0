"""What the host writes down of its allocations, also while the disk has no room.

In: the storage and allocations. Out: rows. What cannot be written is written as soon as it can:
a task goes on whatever becomes of the notes about it.
"""

import asyncio
import logging
from collections.abc import Callable

from cluster.agent.agent_state import Storage
from cluster.agent.hosted_alloc import HostedAlloc

logger = logging.getLogger(__name__)
#: Seconds between attempts.
RETRY_S = 2.0


class AllocRecord:
    """The notes of one node; `find` has the allocations it holds by now."""

    def __init__(self, storage: Storage, find: Callable[[str], HostedAlloc | None]) -> None:
        self._storage = storage
        self._find = find
        #: Those whose newest state is not written, or that are not deleted yet.
        self._due: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def keep(self, entry: HostedAlloc) -> None:
        """Write it down now: whoever starts a process must find it again. Raises OSError."""
        if self._storage.remembers:
            self._storage.save(entry.stored)
            self._due.discard(entry.runner.alloc.id)

    def note(self, entry: HostedAlloc) -> None:
        """Write it down, now or as soon as there is room."""
        try:
            self.keep(entry)
        except OSError as problem:
            self._put_off(entry.runner.alloc.id, problem)

    def delete(self, alloc_id: str) -> None:
        """Keep nothing of it, now or as soon as there is room."""
        try:
            self._storage.delete(alloc_id)
            self._due.discard(alloc_id)
        except OSError as problem:
            self._put_off(alloc_id, problem)

    def close(self) -> None:
        """A last attempt."""
        if self._timer is not None:
            self._timer.cancel()
            self._catch_up()
        if self._timer is not None:
            self._timer.cancel()

    def _put_off(self, alloc_id: str, problem: OSError) -> None:
        if not self._due:
            logger.warning("cannot write down the state of allocations, going on: %s", problem)
        self._due.add(alloc_id)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(RETRY_S, self._catch_up)

    def _catch_up(self) -> None:
        self._timer = None
        if all(self._written(alloc_id) for alloc_id in sorted(self._due)):
            logger.info("the state of allocations is written down again")

    def _written(self, alloc_id: str) -> bool:
        entry = self._find(alloc_id)
        if entry is None or entry.is_unwanted:
            self.delete(alloc_id)
        else:
            self.note(entry)
        return alloc_id not in self._due
