"""The process's own way to the record: one store, a writer thread, a few reader threads.

In: work from views, consumers and processes. Out: its results. Threads keep their connections, so
that a request opens none; writes of one process never compete with each other.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.db import connections

from cluster.store import event_log
from cluster.store.audit_desk import AuditDesk
from cluster.store.faults import RecordAway
from cluster.store.hints import IndexHints
from cluster.store.node_mirror import MirrorSnapshot, NodeMirror
from cluster.store.ports import RecordReader
from cluster.store.short_reads import (
    MOST_BYTES,
    MOST_ROWS,
    NotShort,
    ShortReader,
    on_the_loop,
)
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.token_uses import TokenUses
from cluster.store.transactions import dropping_a_broken, read_transaction
from cluster.store.writer import DjangoStateStore, index_of
from cluster.store.writer_thread import WriterThread
from scheduler.state.events import EventFrame

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

_READERS = 4
_CLOSING_S = 30
#: A write is given up when for so long it could not begin and no other one was done.
PATIENCE_S = 3.0
#: One that has begun is waited for this much longer; then nobody knows what became of it.
_RUNNING_S = 20.0
_UNKNOWN = "the record takes very long over a write, which may or may not be done in the end"


class StoreAccess(DjangoStateStore):
    """A store that can also be awaited. The synchronous calls work on the calling thread."""

    def __init__(self, alias: str = "default", hints: IndexHints | None = None) -> None:
        super().__init__(alias, hints)
        self._hints = hints
        self._is_file = connections[alias].vendor == "sqlite"
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._writer = WriterThread(alias, self._publish)
        #: Dry runs share a mirror of the nodes, which lives on a thread of its own.
        self._dry_runs = ThreadPoolExecutor(1, thread_name_prefix="store-mirror")
        self._snapshots = SnapshotCache(alias)
        #: When a write of this process was last done, by the event loop's clock.
        self._written_at = 0.0
        #: For acts that no write carries.
        self.audit = AuditDesk(alias)
        self.token_uses = TokenUses(alias, self._writer)

    async def aread(
        self, work: Callable[[RecordReader], Result], *, short: bool = False
    ) -> Result:
        """Run `work` on a reader thread, on one consistent index.

        `short`: it reads a few rows by key. Then it may be run at once, on the loop, and again on
        a thread where it turns out to read many.
        """
        if short and self._is_file:
            with suppress(NotShort):
                return on_the_loop(lambda: self._read_short(work))
        return await self._run(self._readers, lambda: self.read(work))

    async def awrite_call(
        self,
        operation: Callable[Concatenate["StoreAccess", Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run `operation(store, ...)` on the writer thread, in one transaction with who waits too.

        Raises `RecordAway`, with nothing written, when writes stand still for `PATIENCE_S`.
        """
        return await self._write(lambda: operation(self, *args, **options))

    async def aread_call(
        self,
        question: Callable[Concatenate["StoreAccess", Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run `question(store, ...)`, which writes nothing, on a reader thread."""
        return await self._run(self._readers, lambda: question(self, *args, **options))

    async def ashort_call(
        self,
        question: Callable[Concatenate["StoreAccess", Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """As `aread_call`, for a few rows by key: at once, on the loop, where that is possible."""
        if self._is_file:
            with suppress(NotShort):
                return on_the_loop(lambda: question(self, *args, **options))
        return await self.aread_call(question, *args, **options)

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
        """Run any database work (sessions, tokens) on the writer thread, by itself."""
        return await self._write(work, alone=True)

    async def aframes_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """As `frames_since`, on a reader thread unless they are few and small."""
        if self._is_file:
            with suppress(NotShort):
                return on_the_loop(lambda: self._few_frames(index))
        return await self._run(self._readers, lambda: self.frames_since(index, limit))

    def _read_short(self, work: Callable[[RecordReader], Result]) -> Result:
        connection = connections[self.alias]
        with read_transaction(connection):
            return work(ShortReader(connection, index_of(connection)))

    def _few_frames(self, index: int) -> Sequence[EventFrame]:
        connection = connections[self.alias]
        newest = index_of(connection)
        if newest == index:
            return ()
        if newest < index or newest > index + MOST_ROWS:
            raise NotShort
        with dropping_a_broken(connection):
            found = event_log.small_frames_since(connection, index, MOST_ROWS, MOST_BYTES)
        if found is None:
            raise NotShort
        return found

    def close(self) -> None:
        """End the threads and close their connections."""
        self.audit.close()
        self._dry_runs.submit(self._snapshots.close)
        for pool, count in ((self._readers, _READERS), (self._dry_runs, 1)):
            # Each thread of the pool waits for the others, so that each gets exactly one of these.
            everyone = threading.Barrier(count)
            for _ in range(count):
                pool.submit(_close_connections, everyone)
            pool.shutdown()
        self._writer.close()
        if self._hints is not None:
            self._hints.close()

    async def _write(self, work: Callable[[], Result], *, alone: bool = False) -> Result:
        order = self._writer.submit(work, alone=alone)
        loop = order.loop
        began = loop.time()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            """Give up what could not begin for so long while no other write was done."""
            nonlocal timer
            left = max(began, self._written_at) + PATIENCE_S - loop.time()
            if left > 0:
                timer = loop.call_later(left, look)
            else:
                order.give_up()
                timer = loop.call_later(_RUNNING_S, order.lose, RecordAway(_UNKNOWN))

        timer = loop.call_later(PATIENCE_S, look)
        try:
            result: Result = await order.future
        finally:
            if timer is not None:
                timer.cancel()
        self._written_at = loop.time()
        return result

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
    everyone.wait(_CLOSING_S)
    connections.close_all()
