"""Snapshots that cost little: nodes as columns, rolled forward by events; a job's rows on demand.

In: the index a caller needs. Out: a `Snapshot` at that index or a newer one. All that one snapshot
reads comes from one read transaction, which ends with the batch. For one thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import statements
from cluster.store.node_mirror import MirrorSnapshot, NodeMirror
from cluster.store.plain_cursor import begin_reading, end_reading, plain_cursor
from scheduler.errors import StaleSnapshot

#: Waiting for an index: so long in all, and between two looks.
_LIMIT_S = 5.0
_PAUSE_S = 0.002


class SnapshotCache:
    """The mirror of one process, and the snapshots of the batch that is being worked on."""

    def __init__(self, alias: str = "default") -> None:
        self._alias = alias
        self._mirror = NodeMirror()
        self._current: MirrorSnapshot | None = None
        self._batches = 0
        #: Each snapshot of a batch has a connection of its own: their indexes differ.
        self._reading: list[BaseDatabaseWrapper] = []
        self._idle: list[BaseDatabaseWrapper] = []

    def snapshot_at(self, index: int = 0) -> MirrorSnapshot:
        """A snapshot at or after `index`; usable until the batch ends, or else until the next one.

        Within a batch the newest one is given again while it is new enough. Raises StaleSnapshot
        when the record does not get there within 5 s.
        """
        if self._batches and self._current is not None and self._current.index >= index:
            return self._current
        if not self._batches:
            self._release()
        connection, reached = self._begin_at(index)
        self._current = self._mirror.reader_at(connection, reached)
        return self._current

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Evaluations worked on together: they share snapshots, which all end with the block."""
        if not self._batches:
            self._release()
        self._batches += 1
        try:
            yield
        finally:
            self._batches -= 1
            if not self._batches:
                self._release()

    def close(self) -> None:
        """End the snapshots and the connections."""
        self._release()
        for connection in self._idle:
            connection.close()
        self._idle = []

    def _release(self) -> None:
        self._current = None
        reading, self._reading = self._reading, []
        for connection in reading:
            try:
                end_reading(connection)
            except Error:
                connection.close()
            else:
                self._idle.append(connection)

    def _begin_at(self, index: int) -> tuple[BaseDatabaseWrapper, int]:
        connection = self._idle.pop() if self._idle else connections[self._alias].copy()
        self._reading.append(connection)
        for _ in range(round(_LIMIT_S / _PAUSE_S)):
            begin_reading(connection)
            reached = _index_of(connection)
            if reached >= index:
                return connection, reached
            end_reading(connection)
            sleep(_PAUSE_S)
        begin_reading(connection)
        raise StaleSnapshot(f"timed out after {_LIMIT_S:g}s waiting for index={index}")


def _index_of(connection: BaseDatabaseWrapper) -> int:
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.READ_INDEX)
        return int(cursor.fetchone()[0])
