"""What plans that are out would take of the nodes, as workers and leader tell each other.

In: a plan as it is submitted. Out: sums per node, ports, devices and cores included: room alone,
no row of the plan.
"""

from scheduler.state.node_use import UseSum, sum_uses, use_of
from scheduler.structs.plan import ByNode, Plan
from scheduler.structs.wire import Wire


class Claim(Wire, frozen=True):
    """One plan that is submitted and not answered, and what it would take."""

    plan_id: str
    eval_id: str
    #: Index of the snapshot it was made on.
    seen_index: int
    #: One of its new allocations: who sees it in the record need not count the plan any more.
    witness: str
    #: By node, what allocations take that were never stored.
    uses: dict[str, UseSum]


def claim_of(plan: Plan, seen_index: int) -> Claim | None:
    """What the plan claims; None when it brings nothing new.

    Updates in place keep what they have, and what is told to stop is held until it has ended.
    """
    uses = _new_uses(plan.node_allocation)
    if not uses:
        return None
    witness = next(
        alloc.id
        for node_id in uses
        for alloc in plan.node_allocation[node_id]
        if not alloc.create_index
    )
    return Claim(
        plan_id=plan.id, eval_id=plan.eval_id, seen_index=seen_index, witness=witness, uses=uses
    )


def _new_uses(by_node: ByNode) -> dict[str, UseSum]:
    uses: dict[str, UseSum] = {}
    for node_id, allocs in by_node.items():
        new = [use_of(alloc) for alloc in allocs if not alloc.create_index]
        if new:
            uses[node_id] = sum_uses(new)
    return uses
