"""A view of the cluster that does not move, with its nodes as columns.

In: a record to freeze, its node table; events to roll a table forward. Out: the port
`MirroredSnapshot`.
"""

from collections.abc import Callable, Iterable
from copy import copy

from scheduler.ports import MirroredSnapshot, Snapshot
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.state.record import Record
from scheduler.structs.node import Node


class TableSnapshot(MirroredSnapshot):
    """The half of a snapshot that is columns; whoever reads the rows sets `_table`."""

    _table: NodeTable

    @property
    def node_table(self) -> NodeTable:
        """All nodes and what is held of them. Treat as read-only."""
        return self._table

    def with_node_table(self, table: NodeTable) -> Snapshot:
        """The same rows beside other columns."""
        other = copy(self)
        other._table = table
        return other


class RecordSnapshot(Record, TableSnapshot):
    """A record as it was when this was made."""

    def __init__(self, record: Record, table: NodeTable) -> None:
        vars(self).update(vars(record.frozen()))
        self._table = table


def moved_table(
    table: NodeTable, events: Iterable[StateEvent], use_of_node: Callable[[str], NodeUse]
) -> NodeTable:
    """A node table rolled forward by events; `table` itself when none of them is about nodes.

    `use_of_node` gives the sums as they are after the events: a node that comes back still holds
    the allocations it had.
    """
    nodes: dict[str, Node] = {}
    removed: dict[str, None] = {}
    uses: dict[str, None] = {}
    for event in events:
        if event.topic is Topic.NODE_USE:
            uses[event.key] = None
        elif event.topic is Topic.NODE:
            assert isinstance(event.value, Node)
            if event.deleted:
                nodes.pop(event.key, None)
                removed[event.key] = None
            else:
                nodes[event.key] = event.value
                if event.key in removed or table.row_of(event.key) < 0:
                    uses[event.key] = None
    if not (nodes or removed or uses):
        return table
    return table.with_changes(
        nodes=nodes.values(),
        uses=[use_of_node(node_id) for node_id in uses],
        removed=removed,
    )
