"""Whether a plan would take its namespace's quota above a limit (placement.md 6.13).

In: a reader of the newest state, a plan. Out: yes or no, for the plan as a whole. A plan that
takes no more than is held already is never refused, also above a limit that was lowered.
"""

from scheduler.ports import StateReader
from scheduler.state.quota_use import (
    exceeded,
    namespaces_of,
    quota_of,
    replaced,
    use_of_namespaces,
)
from scheduler.structs.allocation import Allocation
from scheduler.structs.plan import Plan


def plan_exceeds_quota(reader: StateReader, plan: Plan) -> bool:
    """Whether some limit would be exceeded, and by more than it is already."""
    if not plan.node_allocation:
        return False
    quota = quota_of(reader, plan.namespace)
    if quota is None:
        return False
    namespaces = namespaces_of(reader, quota.name)
    before = after = use_of_namespaces(reader, namespaces)
    for alloc_id, planned in _touched(plan).items():
        stored = reader.allocation(alloc_id)
        either = planned or stored
        if either is not None and either.namespace in namespaces:
            after = replaced(after, stored, planned)
    return bool(exceeded(quota.limits, after, before))


def _touched(plan: Plan) -> dict[str, Allocation | None]:
    """Every allocation of the plan by its id, as it would be; None where it leaves."""
    leaving = (*plan.node_update.values(), *plan.node_preemptions.values())
    touched: dict[str, Allocation | None] = {
        alloc.id: None for allocs in leaving for alloc in allocs
    }
    # What is updated wins over what is stopped, as where the plan was made.
    return touched | {
        alloc.id: alloc for allocs in plan.node_allocation.values() for alloc in allocs
    }
