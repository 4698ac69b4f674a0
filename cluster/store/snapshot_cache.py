"""Snapshots that cost little: nodes as columns, rolled forward by events; a job's rows on demand.

In: the index a caller needs. Out: a `Snapshot` at that index or a newer one. All that one snapshot
reads comes from one read transaction, which ends with the batch. For one thread.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from time import sleep
from typing import Any, TypeVar

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import event_log, statements
from cluster.store.codec import Noun
from cluster.store.frame_codec import MIRRORED_TOPICS
from cluster.store.reader import DjangoStateReader
from scheduler.errors import StaleSnapshot
from scheduler.ports import MirroredSnapshot, Snapshot
from scheduler.state.events import StateEvent
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.state.snapshot import moved_table
from scheduler.structs.node import Node
from scheduler.structs.wire import Wire

Value = TypeVar("Value", bound=Wire)

#: A mirror further behind than this is loaded anew.
_FRAMES_AT_MOST = 2000
#: Waiting for an index: 5 s in all.
_PAUSE_S = 0.002
_TRIES = 2500


class MirrorSnapshot(DjangoStateReader, MirroredSnapshot):
    """The record at one index. Nodes and their use come from the mirror; lists are kept."""

    def __init__(self, connection: BaseDatabaseWrapper, index: int, table: NodeTable) -> None:
        super().__init__(connection, index)
        self._table = table
        self._lists: dict[tuple[str, tuple[Any, ...]], list[Wire]] = {}

    @property
    def node_table(self) -> NodeTable:
        """All nodes and what is held of them. Treat as read-only."""
        return self._table

    def with_node_table(self, table: NodeTable) -> Snapshot:
        """The same rows beside other columns."""
        other = copy(self)
        other._table = table
        return other

    def node(self, node_id: str) -> Node | None:
        """A node."""
        row = self._table.row_of(node_id)
        return None if row < 0 else self._table.node_at(row)

    def nodes(self) -> Iterable[Node]:
        """By id."""
        there = [node for node in self._table.nodes if node is not None]
        return sorted(there, key=lambda node: node.id)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node."""
        row = self._table.row_of(node_id)
        return super().node_use(node_id) if row < 0 else self._table.use_at(row)

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Nodes are at hand already."""
        del nodes
        super().preload(allocs=allocs)

    def _read(self, noun: Noun[Value], statement: str, parameters: tuple[Any, ...]) -> list[Value]:
        name = (statement, parameters)
        if name not in self._lists:
            self._lists[name] = [*super()._read(noun, statement, parameters)]
        return [value for value in self._lists[name] if isinstance(value, noun.struct)]


class SnapshotCache:
    """The mirror of one process, and the snapshots of the batch that is being worked on."""

    def __init__(self, alias: str = "default") -> None:
        self._alias = alias
        self._table = NodeTable()
        self._index = 0
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
        self._roll(connection, reached)
        self._current = MirrorSnapshot(connection, reached, self._table)
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
                _execute(connection, "COMMIT")
            except Error:
                connection.close()
            else:
                self._idle.append(connection)

    def _begin_at(self, index: int) -> tuple[BaseDatabaseWrapper, int]:
        connection = self._idle.pop() if self._idle else connections[self._alias].copy()
        self._reading.append(connection)
        begin = (
            "BEGIN DEFERRED"
            if connection.vendor == "sqlite"
            else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )
        for _ in range(_TRIES):
            _execute(connection, begin)
            reached = int(_execute(connection, statements.READ_INDEX)[0][0])
            if reached >= index:
                return connection, reached
            _execute(connection, "COMMIT")
            sleep(_PAUSE_S)
        _execute(connection, begin)
        raise StaleSnapshot(f"timed out after 5s waiting for index={index}")

    def _roll(self, connection: BaseDatabaseWrapper, reached: int) -> None:
        if reached == self._index:
            return
        reader = DjangoStateReader(connection, reached)
        events = self._events(connection, reached)
        if events is None:
            uses = {use.node_id: use for use in reader.node_uses()}
            self._table = NodeTable.build(reader.nodes(), uses)
        else:
            newest = {
                event.key: event.value for event in events if isinstance(event.value, NodeUse)
            }
            self._table = moved_table(
                self._table,
                events,
                lambda node_id: newest.get(node_id) or reader.node_use(node_id),
            )
        self._index = reached

    def _events(
        self, connection: BaseDatabaseWrapper, reached: int
    ) -> Sequence[StateEvent] | None:
        """What happened to nodes since; None when it is easier to load everything."""
        if not self._index or not 0 < reached - self._index <= _FRAMES_AT_MOST:
            return None
        try:
            return event_log.events_since(
                connection, self._index, _FRAMES_AT_MOST, MIRRORED_TOPICS
            )
        except StaleSnapshot:
            return None


def _execute(connection: BaseDatabaseWrapper, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
