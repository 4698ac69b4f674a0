"""What the namespaces of a quota hold, and which of its limits an amount would exceed.

In: a reader, a quota's name; amounts and allocations. Out: sums over held allocations, and a text
for every limit exceeded (placement.md 6.13). A namespace's sum is a row, moved by every write that
changes what it holds: no allocation is read to know it.
"""

from collections.abc import Iterable

from msgspec.structs import asdict

from scheduler.ports import StateReader
from scheduler.state.node_use import UseSum, use_of_resources
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import Allocation
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.resources import AllocatedResources

#: Names of the dimensions, as they are told, by the field of the amount.
_DIMENSIONS = {
    "cpu": "cpu",
    "cores": "cores",
    "memory_mb": "memory",
    "memory_max_mb": "memory_max",
    "disk_mb": "disk",
    "allocations": "allocations",
}


def quota_of(reader: StateReader, namespace: str) -> QuotaSpec | None:
    """The quota a namespace counts against; None when it names none."""
    space = reader.get(NAMESPACES, namespace)
    return reader.get(QUOTAS, space.quota) if space is not None and space.quota else None


def namespaces_of(reader: StateReader, quota: str) -> tuple[str, ...]:
    """The namespaces that share a quota, by name."""
    return tuple(space.name for space in reader.list_all(NAMESPACES) if space.quota == quota)


def use_of_quota(reader: StateReader, quota: str) -> QuotaAmounts:
    """What all namespaces of the quota hold."""
    return use_of_namespaces(reader, namespaces_of(reader, quota))


def use_of_namespaces(reader: StateReader, namespaces: Iterable[str]) -> QuotaAmounts:
    """What these namespaces hold together."""
    held = [asdict(reader.namespace_use(namespace)) for namespace in namespaces]
    return QuotaAmounts(**{field: sum(use[field] for use in held) for field in _DIMENSIONS})


def replaced(
    amounts: QuotaAmounts, before: Allocation | None, after: Allocation | None
) -> QuotaAmounts:
    """The amounts with an allocation as it is after in the place of what it was before.

    What is told to stop counts until its node is done with it; then it counts no more.
    """
    old, new = _counted(before), _counted(after)
    if old is not None and new is not None and (old is new or old == new):
        return amounts
    for resources, sign in ((old, -1), (new, 1)):
        if resources is not None:
            amounts = with_use(amounts, use_of_resources(resources), sign)
    return amounts


def _counted(alloc: Allocation | None) -> AllocatedResources | None:
    """What an allocation was given; None when it holds nothing of it."""
    return None if alloc is None or alloc.is_client_terminal else alloc.allocated_resources


def with_use(amounts: QuotaAmounts, use: UseSum, sign: int = 1) -> QuotaAmounts:
    """The amounts with one use added (`sign` 1) or taken away (-1)."""
    return QuotaAmounts(
        cpu=amounts.cpu + sign * use.cpu,
        cores=amounts.cores + sign * sum(len(owned.cores) for owned in use.cores),
        memory_mb=amounts.memory_mb + sign * use.memory_mb,
        memory_max_mb=amounts.memory_max_mb + sign * use.memory_max_mb,
        disk_mb=amounts.disk_mb + sign * use.disk_mb,
        allocations=amounts.allocations + sign * use.alloc_count,
    )


def exceeded(
    limits: QuotaAmounts, needed: QuotaAmounts, before: QuotaAmounts | None = None
) -> tuple[str, ...]:
    """One text per limit that `needed` is above; with `before`, of those that it raises only."""
    found = []
    for field, dimension in _DIMENSIONS.items():
        limit, amount = getattr(limits, field), getattr(needed, field)
        is_raised = before is None or amount > getattr(before, field)
        most = max(limit, 0)
        if limit and most < amount and is_raised:
            found.append(f"{dimension} exhausted ({amount} needed > {most} limit)")
    return tuple(found)


def raises_some(before: QuotaAmounts, after: QuotaAmounts) -> bool:
    """Whether some limit is higher than it was, or gone."""
    return any(
        getattr(before, field) != 0
        and (getattr(after, field) == 0 or getattr(after, field) > getattr(before, field))
        for field in _DIMENSIONS
    )
