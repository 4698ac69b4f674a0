"""The nodes of the record in memory, as columns, and readers that take them from there.

In: a connection inside a transaction. Out: a table rolled forward to that transaction's index by
the events since, never loaded anew while they are there. For one thread.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import event_log
from cluster.store.frame_codec import MIRRORED_TOPICS
from cluster.store.reader import DjangoStateReader
from scheduler.errors import StaleSnapshot
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import Key, Noun, Value
from scheduler.state.snapshot import TableSnapshot, moved_table
from scheduler.structs.wire import Wire

#: A mirror further behind than this is loaded anew.
_FRAMES_AT_MOST = 2000


class MirrorSnapshot(DjangoStateReader, TableSnapshot):
    """The record at one index. Nodes and their use come from the mirror; lists are kept."""

    def __init__(self, connection: BaseDatabaseWrapper, index: int, table: NodeTable) -> None:
        super().__init__(connection, index)
        self._table = table
        self._lists: dict[tuple[str, tuple[Any, ...]], list[Wire]] = {}

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""
        if noun.topic == Topic.NODE:
            row = self._table.row_of(str(key))
            node = None if row < 0 else self._table.node_at(row)
            assert node is None or isinstance(node, noun.struct)
            return node
        if noun.topic == Topic.NODE_USE and (row := self._table.row_of(str(key))) >= 0:
            use = self._table.use_at(row)
            assert isinstance(use, noun.struct)
            return use
        return super().get(noun, key)

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order."""
        if noun.topic != Topic.NODE:
            return super().list_all(noun)
        there = [node for node in self._table.nodes if isinstance(node, noun.struct)]
        return sorted(there, key=noun.order)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node."""
        row = self._table.row_of(node_id)
        return super().node_use(node_id) if row < 0 else self._table.use_at(row)

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Nodes are at hand already."""
        del nodes
        super().preload(allocs=allocs)

    def _read(
        self, noun: Noun[Any, Value], statement: str, parameters: tuple[Any, ...]
    ) -> list[Value]:
        name = (statement, parameters)
        if name not in self._lists:
            self._lists[name] = [*super()._read(noun, statement, parameters)]
        return [value for value in self._lists[name] if isinstance(value, noun.struct)]


class NodeMirror:
    """The columns of one process."""

    def __init__(self) -> None:
        self._table = NodeTable()
        self._index = 0

    def reader_at(self, connection: BaseDatabaseWrapper, index: int) -> MirrorSnapshot:
        """What the transaction sees, at its index; the mirror moves there and never back."""
        return MirrorSnapshot(connection, index, self._roll(connection, index))

    def _roll(self, connection: BaseDatabaseWrapper, reached: int) -> NodeTable:
        if reached == self._index:
            return self._table
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
        return self._table

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
