"""All nodes as columns: capacity, use, readiness, and attributes by code.

In: nodes and what is held of them. Out: NumPy columns with one row per node, for vectorised work.
Rolled forward one row at a time by a mirror. Knows neither jobs nor allocations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.state.node_use import NodeUse, UseSum, shared, with_more
from scheduler.structs.computed_class import computed_class
from scheduler.structs.node import Node
from scheduler.structs.node_target import target_reader

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

#: What a column holds of a node; None where the node does not have it.
Reader = Callable[[Node], str | None]

#: Rows of the block of numbers.
_CPU, _MEMORY, _DISK, _MAX_ALLOCS = range(4)
_CPU_USED, _MEMORY_USED, _DISK_USED, _COUNT, _CORES, _PORTS, _KINDS = range(4, 11)


class Column(NamedTuple):
    """One property of all nodes: `values[codes[row]]`; code -1 where a node does not have it."""

    codes: Codes
    values: tuple[str, ...]

    def where(self, holds: Callable[[str], bool], *, missing: bool = False) -> Bools:
        """Rows whose value satisfies `holds`, which is asked once per distinct value."""
        # Code -1 picks the last entry, the verdict for nodes without the property.
        verdicts = np.array([*map(holds, self.values), missing], dtype=np.bool_)
        return verdicts[self.codes]

    def equal_to(self, value: str) -> Bools:
        """Rows that hold exactly this value."""
        return self.where(lambda other: other == value)


class NodeTable:
    """Columns over the nodes. A row keeps its number until its node is removed.

    A removed node leaves a row that is not `present`; a later node may take it. All columns are
    as long as `row_count`. Whoever did not make the table treats it as read-only.
    """

    def __init__(self) -> None:
        self._nodes: list[Node | None] = []
        self._uses: list[NodeUse] = []
        self._row_of: dict[str, int] = {}
        self._free_rows: list[int] = []
        self._numbers: Floats = np.zeros((_KINDS, 0))
        self._ready: Bools = np.zeros(0, dtype=np.bool_)
        self._present: Bools = np.zeros(0, dtype=np.bool_)
        self._keys: Keys = np.zeros(0, dtype=np.uint64)
        self._columns: dict[str, Column] = {}
        self._readers: dict[str, Reader] = {}

    @classmethod
    def build(cls, nodes: Iterable[Node], uses: Mapping[str, NodeUse]) -> "NodeTable":
        """A table with one row per node in ascending order of id; a node without use is empty."""
        table = cls()
        ordered = sorted(nodes, key=lambda node: node.id)
        table._reserve(len(ordered))
        for node in ordered:
            table.put_node(node)
            use = uses.get(node.id)
            if use is not None:
                table.put_use(use)
        return table

    def with_changes(
        self,
        *,
        nodes: Iterable[Node] = (),
        uses: Iterable[NodeUse] = (),
        removed: Iterable[str] = (),
    ) -> "NodeTable":
        """A new table with these nodes and uses put and those nodes removed; this one stays."""
        table = NodeTable()
        table._nodes = self._nodes.copy()
        table._uses = self._uses.copy()
        table._row_of = self._row_of.copy()
        table._free_rows = self._free_rows.copy()
        table._numbers = self._numbers.copy()
        table._ready = self._ready.copy()
        table._present = self._present.copy()
        table._keys = self._keys.copy()
        table._columns = self._columns.copy()
        table._readers = self._readers.copy()
        for node_id in removed:
            table.remove_node(node_id)
        for node in nodes:
            table.put_node(node)
        for use in uses:
            table.put_use(use)
        return table

    def with_more_use(self, more: Mapping[str, UseSum]) -> "NodeTable":
        """A table of the same nodes, some of which hold more; this one stays.

        Both read the properties of nodes from the same columns, so neither may be changed.
        """
        table = NodeTable()
        vars(table).update(vars(self))
        table._uses = self._uses.copy()
        table._numbers = self._numbers.copy()
        for node_id, use in more.items():
            row = self.row_of(node_id)
            if row >= 0:
                table.put_use(with_more(self._uses[row], use))
        return table

    def put_node(self, node: Node) -> int:
        """Store a new or changed node, keeping its use; returns its row."""
        row = self._row_of.get(node.id)
        if row is None:
            row = self._take_row(node.id)
            self._columns.clear()
        else:
            before = self._nodes[row]
            assert before is not None, "a row that is named holds a node"
            self._drop_changed_columns(before, node)
        self._nodes[row] = node
        self._ready[row] = node.is_ready
        self._numbers[: _DISK + 1, row] = capacity_of(node)
        self._numbers[_MAX_ALLOCS, row] = node.node_max_allocs
        return row

    def put_use(self, use: NodeUse) -> int:
        """Store what is taken of a node; returns its row, -1 when the node is not known."""
        row = self._row_of.get(use.node_id, -1)
        if row >= 0:
            held = use.held
            self._uses[row] = shared(use)
            self._numbers[_CPU_USED:, row] = (
                held.cpu,
                held.memory_mb,
                held.disk_mb,
                held.alloc_count,
                len(held.cores),
                len(held.ports),
            )
        return row

    def remove_node(self, node_id: str) -> None:
        """Forget a node and its use. A node that is not there is no mistake."""
        row = self._row_of.pop(node_id, -1)
        if row < 0:
            return
        self._nodes[row] = None
        self._uses[row] = NodeUse(node_id="")
        self._ready[row] = self._present[row] = False
        self._numbers[:, row] = 0
        self._free_rows.append(row)
        self._columns.clear()

    @property
    def row_count(self) -> int:
        """Length of every column, rows of removed nodes included."""
        return len(self._nodes)

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self._row_of)

    def row_of(self, node_id: str) -> int:
        """The row of a node; -1 when there is none."""
        return self._row_of.get(node_id, -1)

    def node_at(self, row: int) -> Node:
        """The node of a present row."""
        node = self._nodes[row]
        assert node is not None, "rows of removed nodes are never chosen"
        return node

    def use_at(self, row: int) -> NodeUse:
        """What is taken of the node of a row."""
        return self._uses[row]

    @property
    def nodes(self) -> Sequence[Node | None]:
        """The node of each row, None where it was removed."""
        return self._nodes

    @property
    def uses(self) -> Sequence[NodeUse]:
        """What is taken of each row's node."""
        return self._uses

    @property
    def present(self) -> Bools:
        """Rows that hold a node."""
        return self._present[: self.row_count]

    @property
    def ready(self) -> Bools:
        """Rows whose node takes new allocations."""
        return self._ready[: self.row_count]

    @property
    def keys(self) -> Keys:
        """A number per node that depends on its id alone, for breaking ties."""
        return self._keys[: self.row_count]

    @property
    def cpu_capacity(self) -> Floats:
        """MHz, without what the node keeps for itself; so are the other capacities."""
        return self._number(_CPU)

    @property
    def memory_capacity(self) -> Floats:
        """MB in all, by row."""
        return self._number(_MEMORY)

    @property
    def disk_capacity(self) -> Floats:
        """MB in all, by row."""
        return self._number(_DISK)

    @property
    def cpu_used(self) -> Floats:
        """MHz held, see `NodeUse.held`; so are the other uses."""
        return self._number(_CPU_USED)

    @property
    def memory_used(self) -> Floats:
        """MB held, of memory that is reserved rather than at most used."""
        return self._number(_MEMORY_USED)

    @property
    def disk_used(self) -> Floats:
        """MB held, by row."""
        return self._number(_DISK_USED)

    @property
    def alloc_count(self) -> Floats:
        """Allocations that hold something."""
        return self._number(_COUNT)

    @property
    def core_holders(self) -> Floats:
        """How many allocations hold cores of their own."""
        return self._number(_CORES)

    @property
    def ports_held(self) -> Floats:
        """How many ports allocations hold."""
        return self._number(_PORTS)

    @property
    def max_allocs(self) -> Floats:
        """The node's own limit on allocations; 0: none."""
        return self._number(_MAX_ALLOCS)

    def column(self, target: str) -> Column:
        """The values of a target (`${node.datacenter}`, `${attr.x}`, ...), read once and kept."""
        return self.derived_column(target, target_reader(target))

    def derived_column(self, name: str, read: Reader) -> Column:
        """The same for what any function reads from a node; equal names mean equal functions."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._read_column(read)
            self._readers[name] = read
        return column

    def class_column(self) -> Column:
        """The computed classes."""
        return self.derived_column("computed class", _class_of)

    def _number(self, kind: int) -> Floats:
        return self._numbers[kind, : self.row_count]

    def _read_column(self, read: Reader) -> Column:
        code_of: dict[str, int] = {}
        codes = np.full(self.row_count, -1, dtype=np.int32)
        for row, node in enumerate(self._nodes):
            value = None if node is None else read(node)
            if value is not None:
                codes[row] = code_of.setdefault(value, len(code_of))
        return Column(codes, tuple(code_of))

    def _drop_changed_columns(self, before: Node, after: Node) -> None:
        readers = self._readers
        changed = [name for name in self._columns if readers[name](before) != readers[name](after)]
        for name in changed:
            del self._columns[name]

    def _take_row(self, node_id: str) -> int:
        if self._free_rows:
            row = self._free_rows.pop()
            self._uses[row] = NodeUse(node_id=node_id)
        else:
            row = len(self._nodes)
            self._reserve(row + 1)
            self._nodes.append(None)
            self._uses.append(NodeUse(node_id=node_id))
        self._row_of[node_id] = row
        self._present[row] = True
        self._keys[row] = int.from_bytes(blake2b(node_id.encode(), digest_size=8).digest(), "big")
        return row

    def _reserve(self, rows: int) -> None:
        room = self._keys.size
        if rows <= room:
            return
        # Doubling keeps the registration of many nodes one by one linear.
        more = max(rows, 2 * room) - room
        self._numbers = np.pad(self._numbers, ((0, 0), (0, more)))
        self._ready = np.pad(self._ready, (0, more))
        self._present = np.pad(self._present, (0, more))
        self._keys = np.pad(self._keys, (0, more))


def capacity_of(node: Node) -> tuple[int, int, int]:
    """CPU (MHz), memory and disk (MB) that allocations can have of a node (placement.md 8.1)."""
    has, kept = node.node_resources, node.reserved_resources
    return (
        has.cpu.cpu_shares - kept.cpu.cpu_shares,
        has.memory.memory_mb - kept.memory.memory_mb,
        has.disk.disk_mb - kept.disk.disk_mb,
    )


def _class_of(node: Node) -> str:
    return node.computed_class or computed_class(node)
