"""What the namespaces of a quota hold, and which of its limits an amount would exceed.

In: a reader, a quota's name; amounts. Out: sums over held allocations, and the text of every limit
exceeded (placement.md 6.13). The sum is taken anew each time: only namespaces with a quota pay.
"""

from scheduler.ports import StateReader
from scheduler.state.node_use import UseSum, use_of
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
    space = reader.namespace(namespace)
    return reader.quota(space.quota) if space is not None and space.quota else None


def namespaces_of(reader: StateReader, quota: str) -> tuple[str, ...]:
    """The namespaces that share a quota, by name."""
    return tuple(space.name for space in reader.namespaces() if space.quota == quota)


def use_of_quota(reader: StateReader, quota: str) -> QuotaAmounts:
    """What all namespaces of the quota hold: what is told to stop counts until it has ended."""
    use = QuotaAmounts()
    for namespace in namespaces_of(reader, quota):
        for alloc in reader.held_allocations(namespace):
            use = moved(use, use_of(alloc), 1)
    return use


def moved(amounts: QuotaAmounts, use: UseSum, sign: int) -> QuotaAmounts:
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
