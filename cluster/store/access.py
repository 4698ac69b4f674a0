"""The process's own way to the record: one store, a writer thread, a few reader threads.

In: work from views, consumers and processes. Out: its results. Threads keep their connections, so
that a request opens none; writes of one process never compete with each other.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.db import connections

from cluster.store.hints import IndexHints
from cluster.store.node_mirror import MirrorSnapshot, NodeMirror
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.writer import DjangoStateStore
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

_READERS = 4
_PATIENCE_S = 30


class StoreAccess(DjangoStateStore):
    """A store that can also be awaited. The synchronous calls work on the calling thread."""

    def __init__(self, alias: str = "default", hints: IndexHints | None = None) -> None:
        super().__init__(alias, hints)
        self._hints = hints
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        #: Dry runs share a mirror of the nodes, which lives on a thread of its own.
        self._dry_runs = ThreadPoolExecutor(1, thread_name_prefix="store-mirror")
        self._snapshots = SnapshotCache(alias)

    async def aread(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on a reader thread, on one consistent index."""
        return await self._run(self._readers, lambda: self.read(work))

    async def awrite_call(
        self,
        operation: Callable[Concatenate["StoreAccess", Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run `operation(store, ...)` on the writer thread."""
        return await self._run(self._writer, lambda: operation(self, *args, **options))

    async def aread_call(
        self,
        question: Callable[Concatenate["StoreAccess", Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run `question(store, ...)`, which writes nothing, on a reader thread."""
        return await self._run(self._readers, lambda: question(self, *args, **options))

    async def asnapshot_call(
        self,
        question: Callable[Concatenate[MirrorSnapshot, Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run `question(snapshot, ...)` on the newest snapshot, for dry runs."""

        def ask() -> Result:
            with self._snapshots.batch():
                return question(self._snapshots.snapshot_at(), *args, **options)

        return await self._run(self._dry_runs, ask)

    async def acall(self, work: Callable[[], Result]) -> Result:
        """Run any database work (sessions, tokens) on the writer thread."""
        return await self._run(self._writer, work)

    async def aframes_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """As `frames_since`, on a reader thread."""
        return await self._run(self._readers, lambda: self.frames_since(index, limit))

    def close(self) -> None:
        """End the threads and close their connections."""
        self._dry_runs.submit(self._snapshots.close)
        for pool, count in ((self._readers, _READERS), (self._writer, 1), (self._dry_runs, 1)):
            # Each thread of the pool waits for the others, so that each gets exactly one of these.
            everyone = threading.Barrier(count)
            for _ in range(count):
                pool.submit(_close_connections, everyone)
            pool.shutdown()
        if self._hints is not None:
            self._hints.close()

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, work)


_access: StoreAccess | None = None
_access_lock = threading.Lock()


def the_store() -> StoreAccess:
    """The store of this process."""
    global _access  # noqa: PLW0603 - one per process, made on first use
    with _access_lock:
        if _access is None:
            _access = StoreAccess(hints=IndexHints(settings.BIVOUAC_REDIS_URL))
        return _access


def process_store() -> StoreAccess:
    """The same, for processes that call it synchronously on their own threads."""
    return the_store()


def mirrored_store() -> DjangoStateStore:
    """A store for a thread that writes all the time: its changes read nodes from a mirror."""
    return DjangoStateStore(publish=IndexHints(settings.BIVOUAC_REDIS_URL), mirror=NodeMirror())


def close_the_store() -> None:
    """End the threads of this process's store; the next use makes a new one."""
    global _access
    with _access_lock:
        access, _access = _access, None
    if access is not None:
        access.close()


def _close_connections(everyone: threading.Barrier) -> None:
    everyone.wait(_PATIENCE_S)
    connections.close_all()
