"""What the evaluated job's namespace may still take, as an attempt goes on.

In: a snapshot; then every allocation that the attempt changes. Out: the limits that one more of a
group would exceed (placement.md 6.13). Which nodes have room is not known here.
"""

from scheduler.ports import StateReader
from scheduler.state.node_use import UseSum, use_of
from scheduler.state.quota_use import exceeded, moved, namespaces_of, quota_of, use_of_quota
from scheduler.structs.allocation import Allocation
from scheduler.structs.quota import QuotaAmounts, QuotaSpec


class QuotaAccount:
    """A quota's limits, and what its namespaces would hold with the changes proposed so far."""

    def __init__(self, quota: QuotaSpec, namespaces: frozenset[str], use: QuotaAmounts) -> None:
        self.name = quota.name
        self._limits = quota.limits
        self._namespaces = namespaces
        self._use = use

    def exceeded_by(self, ask: UseSum) -> tuple[str, ...]:
        """One text per limit that would be exceeded with the ask added."""
        return exceeded(self._limits, moved(self._use, ask, 1))

    def follow(self, before: Allocation | None, after: Allocation | None) -> None:
        """Count an allocation of any namespace as it would be now instead of as it was."""
        for alloc, sign in ((before, -1), (after, 1)):
            if (
                alloc is not None
                and alloc.namespace in self._namespaces
                and not alloc.is_client_terminal
            ):
                self._use = moved(self._use, use_of(alloc), sign)


def open_account(reader: StateReader, namespace: str) -> QuotaAccount | None:
    """The account that a namespace's allocations count on; None when it has no quota."""
    quota = quota_of(reader, namespace)
    if quota is None:
        return None
    namespaces = frozenset(namespaces_of(reader, quota.name))
    return QuotaAccount(quota, namespaces, use_of_quota(reader, quota.name))
