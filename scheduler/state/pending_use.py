"""What plans that are out would take of the nodes, laid over a snapshot that does not show it yet.

In: plans as they are submitted, and when they are answered; what other workers' plans claim. Out:
snapshots whose columns count them. Only room is counted, ports, devices and cores included: no row
of a plan is ever shown.
"""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.ports import MirroredSnapshot, Snapshot
from scheduler.state.claims import Claim, claim_of
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import UseSum, sum_uses
from scheduler.structs.plan import Plan


class View(NamedTuple):
    """A snapshot, and the plans that count as taken in it though it does not show them."""

    snapshot: Snapshot
    plan_ids: frozenset[str] = frozenset()
    #: The evaluations they were made for, in order of submission.
    eval_ids: tuple[str, ...] = ()


class PendingUse:
    """What is claimed: by the batch's own plans, and by those of others it was told of."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        #: Claims of others, by plan.
        self._others: frozenset[str] = frozenset()
        #: The newest table handed out: what it was laid over, and the plans in it.
        self._base = self._table = NodeTable()
        self._laid: list[Claim] = []

    def add(self, plan: Plan, seen_index: int) -> None:
        """Count a plan that is being submitted; it was made on a snapshot of `seen_index`."""
        claim = claim_of(plan, seen_index)
        if claim is not None:
            self._claims[plan.id] = claim

    def claim(self, plan_id: str) -> Claim | None:
        """What a plan that is counted claims."""
        return self._claims.get(plan_id)

    def hear(self, claims: Sequence[Claim]) -> None:
        """Count these of others, and none that was heard of before."""
        for plan_id in self._others:
            self._claims.pop(plan_id, None)
        new = {claim.plan_id: claim for claim in claims if claim.plan_id not in self._claims}
        # Before those of the batch: they were submitted earlier.
        self._claims = new | self._claims
        self._others = frozenset(new)

    def drop(self, plan_id: str) -> None:
        """Count a plan no more: it was answered, or nobody knows what became of it.

        What was committed of it is in every snapshot from the answer's index on, the rest nowhere.
        """
        self._claims.pop(plan_id, None)

    def over(self, snapshot: MirroredSnapshot) -> View:
        """The snapshot with every plan that it does not show counted as if it were committed."""
        counted = [claim for claim in self._claims.values() if _is_missing_in(claim, snapshot)]
        if not counted:
            return View(snapshot)
        return View(
            snapshot.with_node_table(self._lay(counted, snapshot.node_table)),
            frozenset(claim.plan_id for claim in counted),
            tuple(dict.fromkeys(claim.eval_id for claim in counted)),
        )

    def _lay(self, counted: list[Claim], base: NodeTable) -> NodeTable:
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


def _is_missing_in(claim: Claim, snapshot: Snapshot) -> bool:
    """Whether the snapshot does not show its plan: it may, before the answer has come.

    Should the witness be on a node that refused, its room counts until the answer does come.
    """
    return snapshot.index <= claim.seen_index or snapshot.allocation(claim.witness) is None
