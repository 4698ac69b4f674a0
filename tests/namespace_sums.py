"""What namespaces hold, counted anew from every allocation: what the kept sums must equal."""

from scheduler.state.node_use import use_of
from scheduler.state.nouns import NAMESPACE_USES
from scheduler.structs.quota import QuotaAmounts

NOTHING = QuotaAmounts()


def counted_sums(allocs):
    """By namespace; those that hold nothing are left out."""
    sums = {}
    for alloc in allocs:
        if alloc.is_client_terminal:
            continue
        use, so_far = use_of(alloc), sums.get(alloc.namespace, NOTHING)
        sums[alloc.namespace] = QuotaAmounts(
            cpu=so_far.cpu + use.cpu,
            cores=so_far.cores + sum(len(owned.cores) for owned in use.cores),
            memory_max_mb=so_far.memory_max_mb + use.memory_max_mb,
            memory_mb=so_far.memory_mb + use.memory_mb,
            disk_mb=so_far.disk_mb + use.disk_mb,
            allocations=so_far.allocations + 1,
        )
    return sums


def kept_sums(reader):
    """By namespace, as they stand in the record; those that hold nothing are left out."""
    rows = reader.list_all(NAMESPACE_USES)
    return {row.namespace: row.used for row in rows if row.used != NOTHING}
