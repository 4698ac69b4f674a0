"""What plans that are out would take of the nodes, laid over a snapshot that does not show it yet.

In: plans as they are submitted, and when they are answered. Out: snapshots whose columns count
them. Only room is counted, ports, devices and cores included: no row of a plan is ever shown.
"""

from typing import NamedTuple

from scheduler.ports import MirroredSnapshot, Snapshot
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import UseSum, sum_uses, use_of
from scheduler.structs.plan import ByNode, Plan


class View(NamedTuple):
    """A snapshot, and the plans that count as taken in it though it does not show them."""

    snapshot: Snapshot
    plan_ids: frozenset[str] = frozenset()
    #: The evaluations they were made for, in order of submission.
    eval_ids: tuple[str, ...] = ()


class PendingUse:
    """The plans of one batch that are submitted and not answered."""

    def __init__(self) -> None:
        self._plans: dict[str, _Pending] = {}
        #: The newest table handed out: what it was laid over, and the plans in it.
        self._base = self._table = NodeTable()
        self._laid: list[_Pending] = []

    def add(self, plan: Plan, seen_index: int) -> None:
        """Count a plan that is being submitted; it was made on a snapshot of `seen_index`."""
        uses = _new_uses(plan.node_allocation)
        if uses:
            self._plans[plan.id] = _Pending(plan, uses, seen_index)

    def drop(self, plan_id: str) -> None:
        """Count a plan no more: it was answered, or nobody knows what became of it.

        What was committed of it is in every snapshot from the answer's index on, the rest nowhere.
        """
        self._plans.pop(plan_id, None)

    def over(self, snapshot: MirroredSnapshot) -> View:
        """The snapshot with every plan that it does not show counted as if it were committed."""
        counted = [item for item in self._plans.values() if item.is_missing_in(snapshot)]
        if not counted:
            return View(snapshot)
        return View(
            snapshot.with_node_table(self._lay(counted, snapshot.node_table)),
            frozenset(item.plan.id for item in counted),
            tuple(dict.fromkeys(item.plan.eval_id for item in counted)),
        )

    def _lay(self, counted: list["_Pending"], base: NodeTable) -> NodeTable:
        laid = self._laid
        if self._base is not base or counted[: len(laid)] != laid:
            self._base = self._table = base
            laid = []
        # One run after the other adds its plan, so mostly there is one to be laid.
        new: dict[str, list[UseSum]] = {}
        for item in counted[len(laid) :]:
            for node_id, use in item.uses.items():
                new.setdefault(node_id, []).append(use)
        if new:
            more = {node_id: sum_uses(uses) for node_id, uses in new.items()}
            self._table = self._table.with_more_use(more)
        self._laid = counted
        return self._table


class _Pending:
    """One plan, and what its new allocations take, by node."""

    __slots__ = ("_seen_index", "_witness", "plan", "uses")

    def __init__(self, plan: Plan, uses: dict[str, UseSum], seen_index: int) -> None:
        self.plan = plan
        self.uses = uses
        self._seen_index = seen_index
        #: One of its new allocations.
        self._witness = next(
            alloc.id
            for node_id in uses
            for alloc in plan.node_allocation[node_id]
            if not alloc.create_index
        )

    def is_missing_in(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot does not show it: it may, before the answer has come.

        Should the witness be on a node that refused, its room counts until the answer does come.
        """
        is_older = snapshot.index <= self._seen_index
        return is_older or snapshot.allocation(self._witness) is None


def _new_uses(by_node: ByNode) -> dict[str, UseSum]:
    """By node, what allocations take that were never stored.

    Updates in place keep what they have, and what is told to stop is held until it has ended.
    """
    uses: dict[str, UseSum] = {}
    for node_id, allocs in by_node.items():
        new = [use_of(alloc) for alloc in allocs if not alloc.create_index]
        if new:
            uses[node_id] = sum_uses(new)
    return uses
