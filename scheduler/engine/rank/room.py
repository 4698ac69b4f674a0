"""Which feasible nodes have room now; else the dimension that ran out (placement.md 8.4).

In: a group's ask, the rows it is feasible on, the context's use of each row. Out: per row what
would be used with the allocation on it. Kept current row by row. Scores nothing.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from scheduler.engine.context import EvalContext
from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.measure.fit import exceeds_max_allocs, first_misfit
from scheduler.engine.measure.grouping import MOST_LISTED, listed_ids, rows_by_code
from scheduler.engine.measure.ports_in_use import port_shape
from scheduler.engine.rank.grant import UNCOUNTED, Grant, MakeRoom, Shortage, grant
from scheduler.state.node_table import Bools, Floats
from scheduler.state.node_use import UseSum, add_use
from scheduler.structs.explanation import AskedAmounts, NearestNode, Shortfall

#: Dimension of a row that has room.
HAS_ROOM = 0
#: What a node lacks that takes no more allocations, however small.
MAX_ALLOCS = "max allocation exceeded"
#: Codes of dimensions: those of amounts.
_FIRST_AMOUNT, _LAST = 1, 3
#: What a node is told of that no counter has.
_NAMELESS = "host network without a name"


def dimension_name(dimension: str) -> str:
    """What people are told of a dimension."""
    return _NAMELESS if dimension == UNCOUNTED else dimension


class Room:
    """Per row: the dimension that ran out, and what would be used. Shape (row_count,) each."""

    def __init__(self, context: EvalContext, ask: GroupAsk, rows: Bools) -> None:
        self._context = context
        self._ask = ask
        self._rows = rows
        self._seed = context.seed
        #: Names of the codes in `dimension`; code 0 has room.
        self.dimensions: list[str] = ["", "cpu", "memory", "disk", MAX_ALLOCS]
        table = context.table
        self.dimension: NDArray[np.int16] = np.zeros(table.row_count, dtype=np.int16)
        self.cpu_after: Floats = table.cpu_used + ask.use.cpu
        self.memory_after: Floats = table.memory_used + ask.use.memory_mb
        self._disk_after: Floats = table.disk_used + ask.use.disk_mb
        self.device_matched: Floats = np.zeros(table.row_count)
        self.device_total: Floats = np.zeros(table.row_count)
        self._judge_all()

    def update(self, row: int) -> None:
        """Judge one row again, after its use changed."""
        node = self._context.table.node_at(row)
        use = self._context.use_at(row)
        granted = self.grant(row)
        if isinstance(granted, Shortage):
            self.dimension[row] = self._code(granted.reason)
            return
        after = add_use(use, granted.use)
        self.cpu_after[row] = after.cpu
        self.memory_after[row] = after.memory_mb
        self._disk_after[row] = after.disk_mb
        self.device_matched[row], self.device_total[row] = granted.device_affinity
        if exceeds_max_allocs(node, after.alloc_count):
            self.dimension[row] = self._code(MAX_ALLOCS)
            return
        misfit = first_misfit(node, after)
        self.dimension[row] = self._code(misfit) if misfit else HAS_ROOM

    def grant(
        self, row: int, use: UseSum | None = None, make_room: MakeRoom | None = None
    ) -> Grant | Shortage:
        """What the ask would be given on a row, perhaps with others evicted from it."""
        context = self._context
        return grant(
            context.table.node_at(row),
            context.use_at(row) if use is None else use,
            self._ask,
            context.matcher,
            self._port_start(row),
            make_room,
        )

    def reason(self, row: int) -> str:
        """The exhausted dimension of a row; "" when it has room."""
        return self.dimensions[int(self.dimension[row])]

    def dimension_with(self, reasons: Mapping[int, str]) -> NDArray[np.int16]:
        """Per row the code in `dimensions` of what is lacking; `reasons` replaces some rows'."""
        if not reasons:
            return self.dimension
        dimension = self.dimension.copy()
        for row, reason in reasons.items():
            dimension[row] = self._code(reason)
        return dimension

    @property
    def exhausted(self) -> Bools:
        """Rows without room that count as such."""
        exhausted: Bools = self.dimension != HAS_ROOM
        if UNCOUNTED in self.dimensions:
            exhausted &= self.dimension != self.dimensions.index(UNCOUNTED)
        return exhausted

    def missing(self, row: int) -> int:
        """MHz or MiB that a row lacks of its exhausted dimension; 0 where that is no amount."""
        amounts = self._amounts(self.reason(row))
        if amounts is None:
            return 0
        after, capacity = amounts
        return int(np.ceil(after[row] - capacity[row]))

    def shortfalls(self, rows: Bools) -> tuple[Shortfall, ...]:
        """What these rows without room lack, the most frequent dimension first."""
        found = [
            self._shortfall(self.dimensions[code], of_dimension)
            for code, of_dimension in rows_by_code(rows, self.dimension)
        ]
        return tuple(sorted(found, key=lambda item: (-item.count, item.dimension)))

    def nearest(self, rows: Bools) -> NearestNode | None:
        """Of these rows without room the one that the least would mend; None without amounts."""
        if not rows.any():
            return None
        short = np.flatnonzero(
            rows & (self.dimension >= _FIRST_AMOUNT) & (self.dimension <= _LAST)
        )
        if not short.size:
            return None
        table, use = self._context.table, self._ask.use
        lacks = np.stack(
            [
                np.maximum(np.ceil(after[short] - capacity[short]), 0)
                for after, capacity in (
                    (self.cpu_after, table.cpu_capacity),
                    (self.memory_after, table.memory_capacity),
                    (self._disk_after, table.disk_capacity),
                )
            ]
        )
        asked = np.maximum([[use.cpu], [use.memory_mb], [use.disk_mb]], 1)
        share = (lacks / asked).sum(axis=0)
        best = lacks[:, np.lexsort((share, np.count_nonzero(lacks, axis=0)))[0]]
        cpu, memory_mb, disk_mb = best.astype(np.int64).tolist()
        return NearestNode(
            lacks=AskedAmounts(cpu=cpu, memory_mb=memory_mb, disk_mb=disk_mb), count=short.size
        )

    def _shortfall(self, dimension: str, rows: NDArray[np.intp]) -> Shortfall:
        missing: tuple[int, ...] = ()
        amounts = self._amounts(dimension)
        if amounts is not None:
            after, capacity = amounts
            lacking = np.ceil(after[rows] - capacity[rows]).astype(np.int64)
            nearest_first = np.argsort(lacking, kind="stable")
            rows = rows[nearest_first]
            missing = tuple(lacking[nearest_first][:MOST_LISTED].tolist())
        return Shortfall(
            dimension=dimension_name(dimension),
            count=rows.size,
            node_ids=listed_ids(self._context.table, rows),
            missing=missing,
        )

    def _amounts(self, dimension: str) -> tuple[Floats, Floats] | None:
        """What would be used of a dimension, and what there is."""
        table = self._context.table
        return {
            "cpu": (self.cpu_after, table.cpu_capacity),
            "memory": (self.memory_after, table.memory_capacity),
            "disk": (self._disk_after, table.disk_capacity),
        }.get(dimension)

    def _judge_all(self) -> None:
        ask, table = self._ask, self._context.table
        special = self._rows
        if ask.chooses_ports_at_most and ask.has_literal_host_networks:
            self._judge_columns()
            special = self._rows & (table.core_holders > 0)
            if ask.network is not None:
                self._judge_unused_ports(self._rows & (table.ports_held == 0))
                special = special | (self._rows & (table.ports_held > 0))
        rows: Iterable[int] = np.flatnonzero(special).tolist()
        for row in {*rows, *(row for row in self._context.moved_rows() if self._rows[row])}:
            self.update(row)

    def _judge_columns(self) -> None:
        table = self._context.table
        # Later assignments win, so the dimension that counts first comes last.
        self.dimension[self._disk_after > table.disk_capacity] = 3
        self.dimension[self.memory_after > table.memory_capacity] = 2
        self.dimension[self.cpu_after > table.cpu_capacity] = 1
        limited = table.max_allocs > 0
        self.dimension[limited & (table.alloc_count + 1 > table.max_allocs)] = 4

    def _judge_unused_ports(self, rows: Bools) -> None:
        """Ask one node for all of its shape: while no port is held, they grant alike."""
        shapes = self._context.table.derived_column("port shape", port_shape)
        for shape in np.unique(shapes.codes[rows]).tolist():
            alike = rows & (shapes.codes == shape)
            granted = self.grant(int(np.argmax(alike)), UseSum())
            if isinstance(granted, Shortage):
                self.dimension[alike] = self._code(granted.reason)

    def _code(self, reason: str) -> int:
        if reason not in self.dimensions:
            self.dimensions.append(reason)
        return self.dimensions.index(reason)

    def _port_start(self, row: int) -> int:
        # Evaluations start their search for ports apart, so that concurrent ones rarely collide.
        return (self._seed ^ int(self._context.table.keys[row])) & 0xFFFF
