"""Variables: read, write, delete, and seal anew after a rotation of the root keys.

In: a store, a place, items. Out: the variable as stored with its items in clear, or a refusal.
Who may is asked by path (access.md 2). Locks are made in `variable_locks`; here they are heeded.
"""

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from cluster.keyring.variable_seals import opened_items, sealed_items
from cluster.operations.errors import Conflict, NotAllowed, OperationRefused
from cluster.operations.keyring import signing_key
from cluster.operations.rights import require_management
from cluster.seals import SealBroken
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, StateReader, StateStore
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.structs.root_key import RootKey, RootKeyState
from scheduler.structs.variable import SealedVariable

NOT_FOUND = "variable not found"
#: Bytes of all keys and values together.
MOST_BYTES = 64 * 1024
#: Variables that are sealed anew in one write.
REKEYED_AT_ONCE = 100
_PATH = re.compile(r"[a-zA-Z0-9-_~/]{1,128}")
_NAMESPACE = re.compile(r"[a-zA-Z0-9-]{1,128}")


class OpenedVariable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable with its items in clear; None where they are not to be seen."""

    variable: SealedVariable
    items: dict[str, str] | None = None


class NotAsExpected(Conflict):
    """Another state of the variable was expected; `found` is what there is (all zero: nothing)."""

    def __init__(self, found: OpenedVariable) -> None:
        super().__init__(f"the variable is at index {found.variable.modify_index}")
        self.found = found


class Locked(Conflict):
    """Somebody else holds a lock on the variable, or nobody does where one was named."""

    def __init__(self, namespace: str, path: str) -> None:
        super().__init__("attempting to modify locked variable")
        self.place = (namespace, path)


def require_variable(by: Caller, namespace: str, path: str, capability: str) -> None:
    """Refuse unless `list`, `read`, `write` or `destroy` is granted on the path."""
    if not by.access.allows_variable(namespace, path, capability):
        raise NotAllowed(missing=f"{capability} of variable {path} in namespace {namespace}")


def read_variable(
    reader: StateReader, namespace: str, path: str, *, by: Caller
) -> OpenedVariable | None:
    """The variable of a path; None where there is none."""
    require_variable(by, namespace, path, "read")
    found = reader.get(VARIABLES, (namespace, path))
    return None if found is None else OpenedVariable(variable=found, items=items_of(reader, found))


def items_of(reader: StateReader, variable: SealedVariable) -> dict[str, str]:
    """The items in clear. Raises OperationRefused where no key opens them any more."""
    key = reader.get(ROOT_KEYS, variable.key_id)
    if key is None:
        raise OperationRefused(
            f"variable {variable.path}: the root key {variable.key_id} that it is sealed under"
            " is gone"
        )
    try:
        return opened_items(variable.sealed, key, variable.key)
    except SealBroken as broken:
        raise OperationRefused(f"variable {variable.path}: {broken}") from None


def put_variable(  # noqa: PLR0913 - what one request says
    store: StateStore,
    namespace: str,
    path: str,
    items: Mapping[str, str],
    *,
    cas: int | None = None,
    lock_id: str = "",
    by: Caller,
    now: int,
) -> tuple[int, OpenedVariable]:
    """Store the items in place of all that the path held; the index, and the variable.

    With `cas` only if the stored ModifyIndex is that one, 0: only if there is none. Raises
    NotAsExpected, and Locked unless `lock_id` is that of the lock, where there is one.
    """
    require_variable(by, namespace, path, "write")
    check_place(namespace, path)
    check_items(items)

    def work(change: Change) -> OpenedVariable:
        stored = change.get(VARIABLES, (namespace, path))
        _require_lock(stored, namespace, path, lock_id)
        _require_state(change, stored, namespace, path, cas, by)
        return OpenedVariable(
            variable=put_items(change, stored, namespace, path, items), items=dict(items)
        )

    return store.write(VARIABLES.upserted, work, now=now, by=by)


def delete_variable(
    store: StateStore,
    namespace: str,
    path: str,
    *,
    cas: int | None = None,
    by: Caller,
    now: int,
) -> int:
    """Delete what a path holds, if it holds anything; the index of the write.

    Raises NotAsExpected where `cas` is not the stored ModifyIndex, and Locked.
    """
    require_variable(by, namespace, path, "destroy")

    def work(change: Change) -> None:
        stored = change.get(VARIABLES, (namespace, path))
        _require_lock(stored, namespace, path, "")
        _require_state(change, stored, namespace, path, cas, by)
        if stored is not None:
            change.delete(VARIABLES, stored.key)
            change.delete(LOCK_TIMERS, stored.key)

    return store.write(VARIABLES.deleted, work, now=now, by=by)[0]


def rekey_variables(store: StateStore, *, by: Caller, now: int, fence: Fence | None = None) -> int:
    """Seal some variables anew that stand under a key of a full rotation; how many.

    One that no key opens is passed over: a rotation must not wait for it for ever.
    """
    require_management(by)

    def work(change: Change) -> int:
        key = signing_key(change)
        count = 0
        for old in change.list_all(ROOT_KEYS):
            if key is None or old.state != RootKeyState.REKEYING:
                continue
            for variable in change.list_by(VARIABLES, "key", old.key_id):
                if count == REKEYED_AT_ONCE:
                    return count
                count += _rekeyed(change, variable, old, key)
        return count

    return store.write(VARIABLES.upserted, work, now=now, by=by, fence=fence)[1]


def put_items(
    change: Change,
    stored: SealedVariable | None,
    namespace: str,
    path: str,
    items: Mapping[str, str],
) -> SealedVariable:
    """Store items in an open write, in a variable that is there or is made."""
    key = signing_key(change)
    if key is None:
        raise OperationRefused("keyring has not been initialized yet")
    kept = stored or SealedVariable(
        namespace=namespace, path=path, create_index=change.index, create_time=change.now
    )
    variable = replace(
        kept,
        key_id=key.key_id,
        sealed=sealed_items(items, key, kept.key),
        modify_index=change.index,
        modify_time=change.now,
    )
    change.put(VARIABLES, variable)
    return variable


def check_place(namespace: str, path: str) -> None:
    """Refuse what nothing can be stored under."""
    if namespace == EVERY_NAMESPACE:
        raise OperationRefused('can not target wildcard ("*")namespace')
    if not _NAMESPACE.fullmatch(namespace):
        raise OperationRefused(f'invalid namespace "{namespace}"')
    if not _PATH.fullmatch(path):
        raise OperationRefused(f'invalid path "{path}"')
    top, _, rest = path.partition("/")
    if top != "nomad":
        return
    second, _, below = rest.partition("/")
    if not rest:
        raise OperationRefused(
            '"nomad" is a reserved top-level directory path, but you may write variables to'
            ' "nomad/jobs", "nomad/job-templates", "nomad/sentinel", or below'
        )
    if second == "job-templates" and not below:
        raise OperationRefused(
            '"nomad/job-templates" is a reserved directory path, but you may write variables at'
            ' the level below it, for example, "nomad/job-templates/template-name"'
        )
    if second not in {"jobs", "job-templates"} and not (second == "sentinel" and below):
        raise OperationRefused(
            'only paths at "nomad/jobs" or "nomad/job-templates" and below are valid paths under'
            ' the top-level "nomad" directory'
        )


def check_items(items: Mapping[str, str]) -> None:
    """Refuse items that are none, or too many."""
    if not items:
        raise OperationRefused("variable missing required Items object")
    size = sum(len(name.encode()) + len(value.encode()) for name, value in items.items())
    if size > MOST_BYTES:
        raise OperationRefused("variables are limited to 64KiB in total size")


def _require_lock(stored: SealedVariable | None, namespace: str, path: str, lock_id: str) -> None:
    held = stored.lock.id if stored is not None and stored.lock is not None else ""
    # Who names a lock that is over must not write as if they still held it.
    if held != lock_id:
        raise Locked(namespace, path)


def _require_state(
    change: Change,
    stored: SealedVariable | None,
    namespace: str,
    path: str,
    cas: int | None,
    by: Caller,
) -> None:
    if cas is None or cas == (stored.modify_index if stored else 0):
        return
    if stored is None:
        raise NotAsExpected(
            OpenedVariable(variable=SealedVariable(namespace=namespace, path=path))
        )
    may_read = by.access.allows_variable(namespace, path, "read")
    items = items_of(change, stored) if may_read else None
    raise NotAsExpected(OpenedVariable(variable=stored, items=items))


def _rekeyed(change: Change, variable: SealedVariable, old: RootKey, key: RootKey) -> bool:
    try:
        items = opened_items(variable.sealed, old, variable.key)
    except SealBroken:
        return False
    sealed = sealed_items(items, key, variable.key)
    change.put(
        VARIABLES,
        replace(variable, key_id=key.key_id, sealed=sealed, modify_index=change.index),
    )
    return True
