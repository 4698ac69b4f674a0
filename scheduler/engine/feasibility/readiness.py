"""Which nodes are candidates before any check: pool, readiness, datacenter (placement.md 3).

In: the node table and a job. Out: rows. Nodes left out here count in no metric of a placement.
"""

import re
from collections.abc import Iterable

from scheduler.state.node_table import Bools, NodeTable
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.job import Job


def pool_rows(table: NodeTable, pool: str) -> Bools:
    """Rows of a node pool; every node for the pool `all` and for no pool."""
    if pool in {"", ALL_NODE_POOLS}:
        return table.present
    return table.column("${node.pool}").equal_to(pool)


def candidate_rows(table: NodeTable, job: Job) -> Bools:
    """Ready rows of the job's pool and datacenters."""
    in_datacenter = table.column("${node.datacenter}").where(
        lambda datacenter: matches_datacenter(datacenter, job.datacenters)
    )
    rows: Bools = pool_rows(table, job.node_pool) & table.ready & in_datacenter
    return rows


def matches_datacenter(datacenter: str, patterns: Iterable[str]) -> bool:
    """Whether any pattern matches; only `*` is special, for any run of characters."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), datacenter, re.DOTALL)
        if "*" in pattern
        else pattern == datacenter
        for pattern in patterns
    )
