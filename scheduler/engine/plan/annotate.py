"""What a plan means to do, told group by group: for dry runs, and kept with the evaluation.

In: the counters of reconciliation and the evictions made for placements. Out: PlanAnnotations.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scheduler.structs.allocation import Allocation
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations


def annotate(
    desired: Mapping[str, DesiredUpdates],
    *,
    preemptions: Mapping[str, int] | None = None,
    preempted: Iterable[Allocation] = (),
) -> PlanAnnotations:
    """The counters with the evictions of each group added, and the evicted allocations by id."""
    updates = dict(desired)
    for group, number in (preemptions or {}).items():
        before = updates.get(group, DesiredUpdates())
        updates[group] = msgspec.structs.replace(before, preemptions=before.preemptions + number)
    return PlanAnnotations(
        desired_updates=updates,
        preempted_allocations=tuple(sorted(alloc.id for alloc in preempted)),
    )
