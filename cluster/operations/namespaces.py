"""Create, change and delete namespaces.

In: a store and a namespace. Out: the index of the write, or `OperationRefused`.
"""

import re

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.job import JobStatus, Namespace

_NAME = re.compile(r"[a-zA-Z0-9-]{1,128}")
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
    """Delete a namespace without live jobs; the index of the write."""
    require_management(by)
    if name == DEFAULT_NAMESPACE:
        raise OperationRefused("can not delete default namespace")

    def work(change: Change) -> None:
        if change.get(NAMESPACES, name) is None:
            raise OperationRefused("namespace not found")
        uses = _uses(change, name)
        if uses:
            raise OperationRefused(error_text(uses))
        change.delete(NAMESPACES, name)

    return store.write(NAMESPACES.deleted, work, now=now, by=by)[0]


def _check(namespace: Namespace) -> None:
    if not _NAME.fullmatch(namespace.name):
        rule = "Must match regex ^[a-zA-Z0-9-]{1,128}$"
        problem = f'invalid name "{namespace.name}". {rule}'
    elif len(namespace.description) > _LONGEST_DESCRIPTION:
        problem = f"description longer than {_LONGEST_DESCRIPTION}"
    else:
        return
    raise OperationRefused(f'Invalid namespace "{namespace.name}": {error_text([problem])}')


def _uses(change: Change, name: str) -> list[str]:
    jobs = [job for job in change.jobs() if job.namespace == name]
    uses = []
    if any(job.status != JobStatus.DEAD for job in jobs):
        uses.append(f'namespace "{name}" has non-terminal jobs in regions: [global]')
    if any(not alloc.is_terminal for job in jobs for alloc in change.allocations_by_job(job.key)):
        uses.append(f'namespace "{name}" has non-terminal allocations in regions: [global]')
    return uses
