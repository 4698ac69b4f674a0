"""One attempt of an evaluation: the snapshot it sees and the changes it proposes so far.

In: a snapshot; then stops, placements and evictions one by one, each of which can be taken back.
Out: what each node would hold (placement.md 7), and a log of changes that lets scores be kept by
updating only the rows that moved. Builds no plan and chooses no node.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from scheduler.engine.measure.property_count import EVERYTHING_ELSE, PropertyCount
from scheduler.engine.quota import open_account
from scheduler.ports import PatternMatcher, Snapshot
from scheduler.state.node_table import Floats, NodeTable
from scheduler.state.node_use import UseSum, add_use, subtract_use, use_of
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.scheduler_settings import SchedulerSettings


class ChangeKind(StrEnum):
    """What a proposed change does to an allocation."""

    STOP = "stop"
    PLACEMENT = "placement"
    PREEMPTION = "preemption"


class ProposedChange(NamedTuple):
    """One line of the log: a change proposed (`sign` 1) or taken back (-1) on a row."""

    kind: ChangeKind
    sign: int
    alloc: Allocation
    #: -1 when the node is not in the table.
    row: int


class EvalContext:
    """The world as one attempt sees it. Start a new one with every snapshot.

    `metrics` describes the last select. `log` only grows; followers remember how far they read.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        job_key: JobKey,
        *,
        matcher: PatternMatcher,
        seed: int,
        now: int,
    ) -> None:
        self.snapshot = snapshot
        self.table: NodeTable = snapshot.node_table
        self.job_key = job_key
        self.matcher = matcher
        self.seed = seed
        self.now = now
        self.settings: SchedulerSettings = snapshot.scheduler_settings()
        #: What the job's namespace may take; None without limits.
        self.quota = open_account(snapshot, job_key.namespace)
        self.metrics = AllocMetric()
        self.log: list[ProposedChange] = []
        #: How many allocations of a job's group are proposed to be evicted.
        self.evicted_counts: Counter[tuple[JobKey, str]] = Counter()
        self._job_allocs: tuple[Allocation, ...] | None = None
        self._touched: dict[str, _Touched] = {}
        self._touched_on: dict[str, list[str]] = {}
        self._uses: dict[int, UseSum] = {}
        self._group_counts: dict[str, Floats] = {}
        self._property_counts: dict[
            tuple[str, int, str, frozenset[str] | None], PropertyCount
        ] = {}

    def add_stop(self, alloc: Allocation) -> None:
        """Propose to stop an allocation, given as it is stored: its room counts as free."""
        self._change(ChangeKind.STOP, 1, alloc)

    def remove_stop(self, alloc: Allocation) -> None:
        """Take a proposed stop back."""
        self._change(ChangeKind.STOP, -1, alloc)

    def add_placement(self, alloc: Allocation, stored: Allocation | None = None) -> None:
        """Propose a new allocation, or a changed one that replaces `stored`, its stored state.

        `stored` is looked up when it is left out and the allocation has been stored before.
        """
        if stored is None and alloc.create_index and alloc.id not in self._touched:
            stored = self.snapshot.allocation(alloc.id)
        self._change(ChangeKind.PLACEMENT, 1, alloc, stored)

    def remove_placement(self, alloc: Allocation) -> None:
        """Take a proposed placement or update back."""
        self._change(ChangeKind.PLACEMENT, -1, alloc)

    def add_preemption(self, alloc: Allocation) -> None:
        """Propose to evict an allocation, given as it is stored."""
        self._change(ChangeKind.PREEMPTION, 1, alloc)

    def job_allocs(self) -> tuple[Allocation, ...]:
        """Every stored allocation of the evaluated job, read once."""
        if self._job_allocs is None:
            self._job_allocs = tuple(self.snapshot.allocations_by_job(self.job_key))
        return self._job_allocs

    def use_at(self, row: int) -> UseSum:
        """What the proposed allocations of a row's node take, client-terminal ones left out."""
        use = self._uses.get(row)
        return self.table.use_at(row).held if use is None else use

    def moved_rows(self) -> Iterable[int]:
        """The rows whose use is no longer the table's."""
        return self._uses.keys()

    def proposed_allocs(self, node_id: str) -> list[Allocation]:
        """The proposed allocations of a node, by (CreateIndex, id); new ones come first."""
        touched = {
            alloc_id: self._touched[alloc_id] for alloc_id in self._touched_on.get(node_id, ())
        }
        allocs = [
            alloc
            for alloc in self.snapshot.allocations_by_node(node_id)
            if not alloc.is_client_terminal and alloc.id not in touched
        ]
        allocs += [alloc for state in touched.values() if (alloc := state.effective) is not None]
        return sorted(allocs, key=lambda alloc: (alloc.create_index, alloc.id))

    def group_counts(self, group_name: str = "") -> Floats:
        """Per row, how many proposed allocations of the evaluated job's group its node holds.

        Without a name those of all groups.
        The array is live: it follows the proposed changes. Do not write to it.
        """
        counts = self._group_counts.get(group_name)
        if counts is None:
            counts = self._group_counts[group_name] = self._count_group(group_name)
        return counts

    def property_count(
        self,
        target: str,
        incarnation: int,
        group_name: str = "",
        targets: frozenset[str] | None = None,
    ) -> PropertyCount:
        """How many allocations of the evaluated job hold each value of a node target.

        Live, as `group_counts`. Of one group, or of all without a name; stored allocations only of
        the job's `incarnation` (its CreateIndex). With `targets`, every other value counts as `*`.
        """
        key = (target, incarnation, group_name, targets)
        count = self._property_counts.get(key)
        if count is None:
            count = self._property_counts[key] = PropertyCount(self._value_reader(target, targets))
            for alloc in self.job_allocs():
                if alloc.job_create_index == incarnation and group_name in {alloc.task_group, ""}:
                    count.add_existing(alloc)
            for change in self.log:
                self._count_property(change, group_name, count)
        return count

    def _value_reader(
        self, target: str, targets: frozenset[str] | None
    ) -> Callable[[Allocation], str | None]:
        column = self.table.column(target)

        def read(alloc: Allocation) -> str | None:
            row = self.table.row_of(alloc.node_id)
            code = column.codes[row] if row >= 0 else -1
            if code < 0:
                return None
            value = column.values[code]
            return value if targets is None or value in targets else EVERYTHING_ELSE

        return read

    def _count_property(
        self, change: ProposedChange, group_name: str, count: PropertyCount
    ) -> None:
        alloc = change.alloc
        if alloc.job_key != self.job_key or group_name not in {alloc.task_group, ""}:
            return
        if change.kind is ChangeKind.PLACEMENT:
            count.add_proposed(alloc, change.sign)
        elif change.kind is ChangeKind.STOP:
            count.add_cleared(alloc, change.sign)

    def _count_group(self, group_name: str) -> Floats:
        counts = np.zeros(self.table.row_count)
        allocs = [
            alloc
            for alloc in self.job_allocs()
            if not alloc.is_client_terminal and alloc.id not in self._touched
        ]
        allocs += [
            alloc
            for state in self._touched.values()
            if (alloc := state.effective) is not None and alloc.job_key == self.job_key
        ]
        for alloc in allocs:
            row = self.table.row_of(alloc.node_id)
            if row >= 0 and group_name in {alloc.task_group, ""}:
                counts[row] += 1
        return counts

    def _change(
        self, kind: ChangeKind, sign: int, alloc: Allocation, stored: Allocation | None = None
    ) -> None:
        state = self._touched.get(alloc.id)
        if state is None:
            is_new = kind is ChangeKind.PLACEMENT
            state = self._touched[alloc.id] = _Touched(stored if is_new else alloc)
            self._touched_on.setdefault(alloc.node_id, []).append(alloc.id)
        before = state.effective
        match kind:
            case ChangeKind.STOP:
                state.is_stopped = sign > 0
            case ChangeKind.PREEMPTION:
                state.is_preempted = sign > 0
                self.evicted_counts[alloc.job_key, alloc.task_group] += sign
            case ChangeKind.PLACEMENT:
                state.placed = alloc if sign > 0 else None
        if self.quota is not None:
            self.quota.follow(alloc.namespace, before, state.effective)
        row = self.table.row_of(alloc.node_id)
        if row >= 0:
            self._move(row, before, state.effective)
        change = ProposedChange(kind, sign, alloc, row)
        self.log.append(change)
        for (_, _, group_name, _), count in self._property_counts.items():
            self._count_property(change, group_name, count)

    def _move(self, row: int, before: Allocation | None, after: Allocation | None) -> None:
        use = self.use_at(row)
        if before is not None and not before.is_client_terminal:
            use = subtract_use(use, use_of(before))
        if after is not None and not after.is_client_terminal:
            use = add_use(use, use_of(after))
        self._uses[row] = use
        for alloc, step in ((before, -1), (after, 1)):
            if alloc is not None and alloc.job_key == self.job_key:
                for name in (alloc.task_group, ""):
                    if name in self._group_counts:
                        self._group_counts[name][row] += step


class _Touched:
    """An allocation that the attempt proposes to change, or to create."""

    __slots__ = ("is_preempted", "is_stopped", "placed", "stored")

    def __init__(self, stored: Allocation | None) -> None:
        self.stored = stored
        self.placed: Allocation | None = None
        self.is_stopped = False
        self.is_preempted = False

    @property
    def effective(self) -> Allocation | None:
        """What the node would hold of it: a planned state wins over the stored one."""
        if self.placed is not None:
            return self.placed
        if self.stored is None or self.is_stopped or self.is_preempted:
            return None
        return None if self.stored.is_client_terminal else self.stored
