"""What the namespaces of a quota hold, and which of its limits an amount would exceed.

In: a reader, a quota's name; amounts and allocations. Out: sums over held allocations, and a text
for every limit exceeded (placement.md 6.13). A namespace's sum is taken anew at each index, from
its allocations: only namespaces with a quota pay.
"""

from collections.abc import Iterable

from scheduler.ports import StateReader
from scheduler.state.node_use import UseSum, use_of
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import Allocation
from scheduler.structs.quota import QuotaAmounts, QuotaSpec

#: Names of the dimensions, as they are told, by the field of the amount.
_DIMENSIONS = {
    "cpu": "cpu",
    "memory_mb": "memory",
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
    cpu = memory_mb = disk_mb = allocations = 0
    for namespace in namespaces_of(reader, quota):
        use = reader.namespace_use(namespace)
        cpu += use.cpu
        memory_mb += use.memory_mb
        disk_mb += use.disk_mb
        allocations += use.allocations
    return QuotaAmounts(cpu=cpu, memory_mb=memory_mb, disk_mb=disk_mb, allocations=allocations)


def sum_held(allocs: Iterable[Allocation]) -> QuotaAmounts:
    """What those of the allocations take that still count."""
    use = QuotaAmounts()
    for alloc in allocs:
        use = replaced(use, None, alloc)
    return use


def replaced(
    amounts: QuotaAmounts, before: Allocation | None, after: Allocation | None
) -> QuotaAmounts:
    """The amounts with an allocation as it is after in the place of what it was before.

    What is told to stop counts until its node is done with it; then it counts no more.
    """
    for alloc, sign in ((before, -1), (after, 1)):
        if alloc is not None and not alloc.is_client_terminal:
            amounts = with_use(amounts, use_of(alloc), sign)
    return amounts


def with_use(amounts: QuotaAmounts, use: UseSum, sign: int = 1) -> QuotaAmounts:
    """The amounts with one use added (`sign` 1) or taken away (-1)."""
    return QuotaAmounts(
        cpu=amounts.cpu + sign * use.cpu,
        memory_mb=amounts.memory_mb + sign * use.memory_mb,
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
        if 0 < limit < amount and is_raised:
            found.append(f"{dimension} exhausted ({amount} needed > {limit} limit)")
    return tuple(found)


def raises_some(before: QuotaAmounts, after: QuotaAmounts) -> bool:
    """Whether some limit is higher than it was, or gone."""
    return any(
        getattr(before, field) != 0
        and (getattr(after, field) == 0 or getattr(after, field) > getattr(before, field))
        for field in _DIMENSIONS
    )
