"""Which nodes are candidates before any check: pool, readiness, datacenter (placement.md 3).

In: the node table and a job. Out: rows. Nodes left out here count in no metric of a placement.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from scheduler.state.node_table import Bools, NodeTable
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus

#: What keeps a node from being a candidate, as checks are called.
POOL, DATACENTER, READY = "pool", "datacenter", "ready"


def pool_rows(table: NodeTable, pool: str) -> Bools:
    """Rows of a node pool; every node for the pool `all` and for no pool."""
    if pool in {"", ALL_NODE_POOLS}:
        return table.present
    return table.column("${node.pool}").equal_to(pool)


def candidate_rows(table: NodeTable, job: Job) -> Bools:
    """Ready rows of the job's pool and datacenters."""
    rows: Bools = pool_rows(table, job.node_pool) & table.ready & _datacenter_rows(table, job)
    return rows


def _datacenter_rows(table: NodeTable, job: Job) -> Bools:
    return table.column("${node.datacenter}").where(
        lambda datacenter: matches_datacenter(datacenter, job.datacenters)
    )


def left_out(table: NodeTable, job: Job) -> Iterator[tuple[str, str, Bools]]:
    """(check, reason, rows) of all nodes that are no candidates, each in one of them."""
    in_pool = pool_rows(table, job.node_pool)
    yield POOL, f"in another pool than {job.node_pool}", table.present & ~in_pool
    in_datacenter = _datacenter_rows(table, job)
    yield DATACENTER, "in another datacenter", in_pool & ~in_datacenter
    waiting = in_pool & in_datacenter & ~table.ready
    reasons: dict[str, list[int]] = {}
    for row in np.flatnonzero(waiting).tolist():
        reasons.setdefault(unreadiness(table.node_at(row)), []).append(row)
    for reason, rows in sorted(reasons.items()):
        of_reason = np.zeros(table.row_count, dtype=np.bool_)
        of_reason[rows] = True
        yield READY, reason, of_reason


def unreadiness(node: Node) -> str:
    """Why a node takes no new allocations; "" for one that does."""
    if node.status is not NodeStatus.READY:
        return node.status.value
    if node.drain_strategy is not None:
        return "draining"
    return "" if node.is_ready else "not eligible"


def matches_datacenter(datacenter: str, patterns: Iterable[str]) -> bool:
    """Whether any pattern matches; only `*` is special, for any run of characters."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), datacenter, re.DOTALL)
        if "*" in pattern
        else pattern == datacenter
        for pattern in patterns
    )
