"""What the evaluated job's namespace may still take, as an attempt goes on.

In: a snapshot; then every allocation that the attempt changes. Out: the limits that one more of a
group would exceed (placement.md 6.13). Which nodes have room is not known here.
"""

from msgspec.structs import replace

from scheduler.ports import StateReader
from scheduler.state.node_use import UseSum
from scheduler.state.quota_use import (
    exceeded,
    namespaces_of,
    quota_of,
    replaced,
    use_of_namespaces,
    with_use,
)
from scheduler.structs.allocation import Allocation
from scheduler.structs.quota import QuotaAmounts, QuotaSpec


class QuotaAccount:
    """A quota's limits, and what its namespaces would hold with the changes proposed so far."""

    def __init__(self, quota: QuotaSpec, namespaces: frozenset[str], use: QuotaAmounts) -> None:
        self.name = quota.name
        self._limits = quota.limits
        self._namespaces = namespaces
        self._use = use

    def exceeded_by(self, ask: UseSum, cores: int) -> tuple[str, ...]:
        """One text per limit that would be exceeded with the ask added, and as many whole cores.

        Which cores, and with them their CPU, is chosen on the node.
        """
        needed = with_use(self._use, ask)
        return exceeded(self._limits, replace(needed, cores=needed.cores + cores))

    def follow(self, namespace: str, before: Allocation | None, after: Allocation | None) -> None:
        """Count an allocation of any namespace as it would be now instead of as it was."""
        if namespace in self._namespaces:
            self._use = replaced(self._use, before, after)


def open_account(reader: StateReader, namespace: str) -> QuotaAccount | None:
    """The account that a namespace's allocations count on; None when it has no quota."""
    quota = quota_of(reader, namespace)
    if quota is None:
        return None
    namespaces = namespaces_of(reader, quota.name)
    return QuotaAccount(quota, frozenset(namespaces), use_of_namespaces(reader, namespaces))
