"""Asking for a right where the act is done: every operation, whoever calls it, from any door.

In: a caller and the right that an act needs. Out: nothing, or `NotAllowed`, whose text is the
reference's and whose `missing` names the right for people. Reads ask here as well.
"""

from cluster.operations.errors import NotAllowed
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.access.caller import Caller

MANAGEMENT = "management"


def require(by: Caller, namespace: str, *capabilities: str) -> None:
    """Refuse unless one of the capabilities is granted in the namespace (`*`: in any)."""
    if not by.access.allows(namespace, *capabilities):
        place = "a namespace" if namespace == EVERY_NAMESPACE else f"namespace {namespace}"
        raise NotAllowed(missing=f"{' or '.join(capabilities)} in {place}")


def require_namespace(by: Caller, namespace: str) -> None:
    """Refuse unless anything at all is granted in the namespace."""
    if not by.access.knows_namespace(namespace):
        raise NotAllowed(missing=f"any right in namespace {namespace}")


def require_management(by: Caller) -> None:
    """Refuse everyone but managers."""
    if not by.access.is_management:
        raise NotAllowed(missing=MANAGEMENT)


def require_reads(by: Caller, block: str) -> None:
    """Refuse unless `agent`, `node`, `operator` or `quota` may be looked at."""
    if not by.access.reads(block):
        raise NotAllowed(missing=f"{block}:read")


def require_writes(by: Caller, block: str) -> None:
    """Refuse unless `agent`, `node`, `operator` or `quota` may be changed."""
    if not by.access.writes(block):
        raise NotAllowed(missing=f"{block}:write")


def require_operator(by: Caller, capability: str) -> None:
    """Refuse unless an operator capability is granted, or the level that stands for all."""
    if not by.access.allows_operator(capability):
        raise NotAllowed(missing=f"{capability} or operator:write")


def require_pool(by: Caller, pool: str, capability: str) -> None:
    """Refuse unless a capability is granted on the node pool."""
    if not by.access.allows_pool(pool, capability):
        raise NotAllowed(missing=f"{capability} on node pool {pool}")
