"""Create, change and delete node pools.

In: a store and a pool. Out: the index of the write, or `OperationRefused`. A node that registers
with an unknown pool creates it by that (`scheduler.state.writes.nodes`).
"""

import re

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_pool
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateReader, StateStore
from scheduler.state.nouns import NODE_POOLS
from scheduler.structs.identity import ALL_NODE_POOLS, DEFAULT_NODE_POOL
from scheduler.structs.job import JobStatus
from scheduler.structs.node import DEFAULT_IDENTITY_TTL, NodePool
from scheduler.structs.scheduler_settings import SchedulerAlgorithm

POOL_NAME = re.compile(r"[a-zA-Z0-9-_]{1,128}")
BUILT_IN_POOLS = (DEFAULT_NODE_POOL, ALL_NODE_POOLS)
_LONGEST_DESCRIPTION = 256


def put_node_pool(store: StateStore, pool: NodePool, *, by: Caller, now: int) -> int:
    """Create the pool, or replace all that the stored one says; the index of the write.

    The life of identities is not limited; 0 stands for the usual day.
    """
    require_pool(by, pool.name, "write")
    problems = _problems(pool)
    if problems:
        raise OperationRefused(f'invalid node pool "{pool.name}": {error_text(problems)}')
    if pool.name in BUILT_IN_POOLS:
        raise OperationRefused(f'modifying node pool "{pool.name}" is not allowed')

    def work(change: Change) -> None:
        stored = change.get(NODE_POOLS, pool.name)
        written = replace(
            pool,
            node_identity_ttl=pool.node_identity_ttl or DEFAULT_IDENTITY_TTL,
            create_index=change.index if stored is None else stored.create_index,
            modify_index=change.index,
        )
        change.put(NODE_POOLS, written)

    return store.write(NODE_POOLS.upserted, work, now=now, by=by)[0]


def delete_node_pool(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a pool that neither live jobs nor nodes are in; the index of the write."""
    require_pool(by, name, "delete")

    def work(change: Change) -> None:
        if change.get(NODE_POOLS, name) is None:
            raise OperationRefused(f"node pool {name} not found")
        uses = _uses(change, name)
        if uses:
            raise OperationRefused(error_text(uses))
        if name in BUILT_IN_POOLS:
            raise OperationRefused(f'deleting node pool "{name}" is not allowed')
        change.delete(NODE_POOLS, name)

    return store.write(NODE_POOLS.deleted, work, now=now, by=by)[0]


def _problems(pool: NodePool) -> list[str]:
    problems = []
    if not POOL_NAME.fullmatch(pool.name):
        problems.append(f'invalid name "{pool.name}", must match regex ^[a-zA-Z0-9-_]{{1,128}}$')
    if len(pool.description) > _LONGEST_DESCRIPTION:
        problems.append(f"description longer than {_LONGEST_DESCRIPTION}")
    own = pool.scheduler_configuration
    if own is not None and own.scheduler_algorithm not in {"", *SchedulerAlgorithm}:
        problems.append(f'invalid scheduler algorithm "{own.scheduler_algorithm}"')
    return problems


def _uses(reader: StateReader, name: str) -> list[str]:
    uses = []
    if any(job.node_pool == name and job.status != JobStatus.DEAD for job in reader.jobs()):
        uses.append(f'node pool "{name}" has non-terminal jobs in regions: [global]')
    if any(node.node_pool == name for node in reader.nodes()):
        uses.append(f'node pool "{name}" has nodes in regions: [global]')
    return uses
