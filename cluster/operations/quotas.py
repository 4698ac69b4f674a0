"""Create, change and delete quotas, and say what is used of one.

In: a store and a quota. Out: the index of the write, or `OperationRefused`; the use of a quota is
counted from the allocations that hold it.
"""

import re

from msgspec.structs import asdict, replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateReader, StateStore
from scheduler.state.nouns import QUOTAS
from scheduler.state.quota_use import namespaces_of, use_of_quota
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.wire import Wire, wire_name

_NAME = re.compile(r"[a-zA-Z0-9-]{1,128}")
_LONGEST_DESCRIPTION = 256
_LARGEST = 2**63 - 1


class QuotaUsage(Wire, frozen=True):
    """What the namespaces of a quota hold together."""

    name: str
    used: QuotaAmounts
    namespaces: tuple[str, ...]


def put_quota(store: StateStore, quota: QuotaSpec, *, by: Caller, now: int) -> int:
    """Create the quota, or replace what the stored one says; the index of the write.

    Limits below what is used stop nothing: they only keep more from being placed.
    """
    require_writes(by, "quota")
    problems = _problems(quota)
    if problems:
        raise OperationRefused(f'Invalid quota "{quota.name}": {error_text(problems)}')

    def work(change: Change) -> None:
        stored = change.get(QUOTAS, quota.name)
        created = change.index if stored is None else stored.create_index
        change.put(QUOTAS, replace(quota, create_index=created, modify_index=change.index))

    return store.write(QUOTAS.upserted, work, now=now, by=by)[0]


def delete_quota(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a quota that no namespace names; the index of the write."""
    require_writes(by, "quota")

    def work(change: Change) -> None:
        if change.get(QUOTAS, name) is None:
            raise OperationRefused("quota not found")
        namespaces = namespaces_of(change, name)
        if namespaces:
            raise OperationRefused(
                f'quota "{name}" is used by namespaces: {", ".join(namespaces)}'
            )
        change.delete(QUOTAS, name)

    return store.write(QUOTAS.deleted, work, now=now, by=by)[0]


def quota_usage(reader: StateReader, name: str) -> QuotaUsage:
    """What is used of a quota, and by whom."""
    return QuotaUsage(
        name=name, used=use_of_quota(reader, name), namespaces=namespaces_of(reader, name)
    )


def _problems(quota: QuotaSpec) -> list[str]:
    problems = []
    if not _NAME.fullmatch(quota.name):
        rule = "Must match regex ^[a-zA-Z0-9-]{1,128}$"
        problems.append(f'invalid name "{quota.name}". {rule}')
    if len(quota.description) > _LONGEST_DESCRIPTION:
        problems.append(f"description longer than {_LONGEST_DESCRIPTION}")
    problems += [
        f"limit of {wire_name(field)} is out of range"
        for field, limit in asdict(quota.limits).items()
        if abs(limit) > _LARGEST
    ]
    return problems
