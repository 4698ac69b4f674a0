"""Locks on variables: taken, renewed, given back, ended when nobody renewed them (doors.md 9).

In: a store, a place, spans. Out: the variable as stored, or a refusal. A lock runs out after twice
its TTL without a renewal, and nobody else gets one for the delay after that.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import Conflict, NotFound, OperationRefused
from cluster.operations.rights import require_management
from cluster.operations.variables import (
    Locked,
    OpenedVariable,
    check_items,
    check_place,
    items_of,
    put_items,
    require_variable,
)
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateStore
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.structs.variable import LockTimer, SealedVariable, VariableLock

_SECOND = 1_000_000_000
USUAL_SPAN = 15 * _SECOND
_LEAST_TTL, _MOST_TTL = 10 * _SECOND, 24 * 3600 * _SECOND
#: Holders that missed a renewal have as much time again.
_GRACE = 2
_NO_LOCK = "variable doesn't hold a lock"
_NO_VARIABLE = "variable doesn't exist"


def acquire_lock(  # noqa: PLR0913 - what one request says
    store: StateStore,
    namespace: str,
    path: str,
    *,
    ttl: int = 0,
    lock_delay: int = 0,
    lock_id: str = "",
    items: Mapping[str, str] | None = None,
    by: Caller,
    now: int,
    ids: IDSource,
) -> tuple[int, OpenedVariable]:
    """Take the lock of a variable, which is made where there is none; the index, the variable.

    `items` replace those it has, None keeps them. With the id of the lock that is held it is
    renewed, with these spans. Spans of 0 ns are 15 s. Raises Locked while somebody else holds it.
    """
    require_variable(by, namespace, path, "write")
    check_place(namespace, path)
    spans = ttl or USUAL_SPAN, lock_delay or USUAL_SPAN
    _check_spans(*spans)
    if items:
        check_items(items)
    new_id = ids.next_id()

    def work(change: Change) -> OpenedVariable:
        stored = change.get(VARIABLES, (namespace, path))
        held = stored.lock.id if stored is not None and stored.lock is not None else ""
        if held and held != lock_id:
            raise Locked(namespace, path)
        kept = items_of(change, stored) if stored is not None and items is None else items or {}
        lock = VariableLock(id=held or new_id, ttl=spans[0], lock_delay=spans[1])
        variable = replace(put_items(change, stored, namespace, path, kept), lock=lock)
        change.put(VARIABLES, variable)
        _arm(change, variable, lock)
        return OpenedVariable(variable=variable, items=dict(kept))

    return store.write(VARIABLES.upserted, work, now=now, by=by)


def renew_lock(
    store: StateStore, namespace: str, path: str, lock_id: str, *, by: Caller, now: int
) -> tuple[int, OpenedVariable]:
    """Hold the lock for another TTL; the variable itself is not written."""
    require_variable(by, namespace, path, "write")
    if not lock_id:
        raise OperationRefused(error_text(["missing lock ID"]))

    def work(change: Change) -> OpenedVariable:
        stored = change.get(VARIABLES, (namespace, path))
        if stored is None:
            raise NotFound(_NO_VARIABLE)
        if stored.lock is None:
            raise Conflict(_NO_LOCK)
        timer = change.get(LOCK_TIMERS, stored.key)
        is_over = timer is None or change.now > timer.renewable_until
        if stored.lock.id != lock_id or is_over:
            raise Conflict("attempting to modify locked variable")
        _arm(change, stored, stored.lock)
        return OpenedVariable(variable=stored)

    return store.write(LOCK_TIMERS.upserted, work, now=now, by=by)


def release_lock(
    store: StateStore, namespace: str, path: str, lock_id: str, *, by: Caller, now: int
) -> tuple[int, OpenedVariable]:
    """Give the lock back; the index, and the variable with the items that it has."""
    require_variable(by, namespace, path, "write")

    def work(change: Change) -> OpenedVariable:
        stored = change.get(VARIABLES, (namespace, path))
        if stored is None:
            raise OperationRefused(_NO_VARIABLE)
        if stored.lock is None:
            raise OperationRefused(_NO_LOCK)
        if stored.lock.id != lock_id:
            raise Locked(namespace, path)
        return OpenedVariable(variable=_freed(change, stored), items=items_of(change, stored))

    return store.write(VARIABLES.upserted, work, now=now, by=by)


def end_overdue_locks(
    store: StateStore, *, by: Caller, now: int, fence: Fence | None = None
) -> int:
    """Take away the locks whose time and delay are over; how many."""
    require_management(by)
    some = 100
    if not store.read(lambda r: r.old_rows(LOCK_TIMERS, "ends_at", now, after=None, at_most=1)):
        return 0

    def work(change: Change) -> int:
        overdue = change.old_rows(LOCK_TIMERS, "ends_at", now, after=None, at_most=some)
        for timer in overdue:
            change.delete(LOCK_TIMERS, (timer.namespace, timer.path))
            stored = change.get(VARIABLES, (timer.namespace, timer.path))
            if stored is not None and stored.lock is not None:
                _freed(change, stored)
        return len(overdue)

    return store.write(VARIABLES.upserted, work, now=now, by=by, fence=fence)[1]


def rearm_locks(store: StateStore, *, by: Caller, now: int, fence: Fence | None = None) -> int:
    """Give every lock its full time again: nobody could renew one while nobody led; how many."""
    require_management(by)
    if not store.read(lambda reader: reader.list_all(LOCK_TIMERS)):
        return 0

    def work(change: Change) -> int:
        timers = change.list_all(LOCK_TIMERS)
        for timer in timers:
            stored = change.get(VARIABLES, (timer.namespace, timer.path))
            if stored is not None and stored.lock is not None:
                _arm(change, stored, stored.lock)
        return len(timers)

    return store.write(LOCK_TIMERS.upserted, work, now=now, by=by, fence=fence)[1]


def _arm(change: Change, variable: SealedVariable, lock: VariableLock) -> None:
    until = change.now + _GRACE * lock.ttl
    change.put(
        LOCK_TIMERS,
        LockTimer(
            namespace=variable.namespace,
            path=variable.path,
            lock_id=lock.id,
            renewable_until=until,
            ends_at=until + lock.lock_delay,
        ),
    )


def _freed(change: Change, variable: SealedVariable) -> SealedVariable:
    freed = replace(
        variable, lock=None, modify_index=change.index, modify_time=change.now
    )  # fmt: skip
    change.put(VARIABLES, freed)
    change.delete(LOCK_TIMERS, variable.key)
    return freed


def _check_spans(ttl: int, lock_delay: int) -> None:
    problems = []
    if ttl < 0 or lock_delay < 0:
        problems.append("Lock delay and TTL must be positive")
    elif not _LEAST_TTL <= ttl <= _MOST_TTL:
        problems.append("TTL must be between 10 seconds and 24 hours")
    if problems:
        raise OperationRefused(error_text(problems))
