"""Create, change and delete namespaces.

In: a store and a namespace. Out: the index of the write, or `OperationRefused`.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.node_pools import POOL_NAME
from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.access.grants import matches
from scheduler.ports import Change, StateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.identity import DEFAULT_NAMESPACE, DEFAULT_NODE_POOL
from scheduler.structs.job import JobStatus, Namespace, NamespacePoolRules

_NAME = re.compile(r"[a-zA-Z0-9-]{1,128}")
_POOL_PATTERN = re.compile(r"[a-zA-Z0-9-_*]{1,128}")
_LONGEST_DESCRIPTION = 256


def put_namespace(store: StateStore, namespace: Namespace, *, by: Caller, now: int) -> int:
    """Create the namespace, or replace what the stored one says; the index of the write."""
    require_management(by)
    _check(namespace)

    def work(change: Change) -> None:
        if namespace.quota and change.get(QUOTAS, namespace.quota) is None:
            raise OperationRefused(
                f'namespace "{namespace.name}" using non-existent quota "{namespace.quota}"'
            )
        stored = change.get(NAMESPACES, namespace.name)
        created = change.index if stored is None else stored.create_index
        change.put(NAMESPACES, replace(namespace, create_index=created, modify_index=change.index))

    return store.write(NAMESPACES.upserted, work, now=now, by=by)[0]


def delete_namespace(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a namespace that nothing lives in and no quota counts; the index of the write."""
    require_management(by)
    if name == DEFAULT_NAMESPACE:
        raise OperationRefused("can not delete default namespace")

    def work(change: Change) -> None:
        namespace = change.get(NAMESPACES, name)
        if namespace is None:
            raise OperationRefused("namespace not found")
        uses = _uses(change, name, namespace.quota)
        if uses:
            raise OperationRefused(error_text(uses))
        change.delete(NAMESPACES, name)

    return store.write(NAMESPACES.deleted, work, now=now, by=by)[0]


def pool_is_allowed(rules: NamespacePoolRules, pool: str) -> bool:
    """Whether jobs of a namespace may name a pool."""
    if rules.allowed is not None:
        default = rules.default or DEFAULT_NODE_POOL
        return pool == default or _matches_any(pool, rules.allowed)
    return not _matches_any(pool, rules.denied or ())


def _matches_any(pool: str, patterns: Iterable[str]) -> bool:
    return any(matches(pattern, pool) for pattern in patterns)


def _check(namespace: Namespace) -> None:
    problems = []
    if not _NAME.fullmatch(namespace.name):
        rule = "Must match regex ^[a-zA-Z0-9-]{1,128}$"
        problems.append(f'invalid name "{namespace.name}". {rule}')
    if len(namespace.description) > _LONGEST_DESCRIPTION:
        problems.append(f"description longer than {_LONGEST_DESCRIPTION}")
    if namespace.node_pool_configuration is not None:
        problems += [
            f"invalid node pool configuration: {problem}."
            for problem in _pool_problems(namespace.node_pool_configuration)
        ]
    if problems:
        raise OperationRefused(f'Invalid namespace "{namespace.name}": {error_text(problems)}')


def _pool_problems(rules: NamespacePoolRules) -> Iterator[str]:
    if rules.allowed is not None and rules.denied is not None:
        yield "allowed and denied node pools exclude each other"
    for pool in (*(rules.allowed or ()), *(rules.denied or ())):
        if not _POOL_PATTERN.fullmatch(pool):
            yield f'invalid name "{pool}", must match regex ^[a-zA-Z0-9-_*]{{1,128}}$'
    if rules.default and not POOL_NAME.fullmatch(rules.default):
        yield f'invalid name "{rules.default}", must match regex ^[a-zA-Z0-9-_]{{1,128}}$'
    elif rules.default and not _is_among(rules, rules.default):
        yield f'default node pool "{rules.default}" is not allowed'


def _is_among(rules: NamespacePoolRules, pool: str) -> bool:
    """As the lists say it, whichever pool is the default; an empty one leaves it the default."""
    if rules.allowed:
        return _matches_any(pool, rules.allowed)
    return not _matches_any(pool, rules.denied or ())


def _uses(change: Change, name: str, quota: str) -> list[str]:
    jobs = [job for job in change.jobs() if job.namespace == name]
    uses = []
    if any(job.status != JobStatus.DEAD for job in jobs):
        uses.append(f'namespace "{name}" has non-terminal jobs in regions: [global]')
    # Who holds nothing has none; of the others every job is asked.
    if change.namespace_use(name).allocations and any(
        change.live_allocation_ids(job.key, at_most=1) for job in jobs
    ):
        uses.append(f'namespace "{name}" has non-terminal allocations in regions: [global]')
    if change.list_by(HOST_VOLUMES, "namespace", name):
        uses.append(f'namespace "{name}" has volumes associated with it in regions: [global]')
    if change.list_by(VARIABLES, "namespace", name):
        uses.append(f'namespace "{name}" has variables associated with it in regions: [global]')
    if quota:
        uses.append(f'namespace "{name}" has quotas associated with it: {quota}')
    return uses
