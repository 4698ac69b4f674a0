"""Leases as rows: who may act as the leader or the applier, and under which epoch.

In: a name, a holder, and what was seen of the lease before. Out: a fence to write under, or None.
When a lease stood still long enough to be taken is judged by the caller's own clock. Leases are
outside the index: taking one changes no state of the cluster.
"""

from typing import NamedTuple

from django.db import connections

from cluster.store.transactions import write_transaction, writes_patiently

#: Seconds of the watcher's own clock for which `renewals` may stand still.
TAKE_OVER_AFTER_S = 5.0

_READ = "SELECT holder, epoch, renewals FROM lease WHERE name = %s"
_INSERT = (
    "INSERT INTO lease (name, holder, epoch, renewals) VALUES (%s, %s, 1, 0)"
    " ON CONFLICT (name) DO NOTHING"
)
_TAKE = (
    "UPDATE lease SET holder = %s, epoch = epoch + 1, renewals = renewals + 1"
    " WHERE name = %s AND epoch = %s AND renewals = %s"
)
_RENEW = "UPDATE lease SET renewals = renewals + 1 WHERE name = %s AND holder = %s AND epoch = %s"
_RELEASE = "UPDATE lease SET holder = '' WHERE name = %s AND holder = %s AND epoch = %s"


class HeldLease(NamedTuple):
    """A fence: writes under it pass while its epoch is the newest (`scheduler.ports.Fence`)."""

    name: str
    epoch: int


class LeaseState(NamedTuple):
    """A lease as it was seen. An empty holder has given it up."""

    holder: str
    epoch: int
    renewals: int


def read_lease(name: str, alias: str = "default") -> LeaseState | None:
    """The lease as it stands; None when nobody ever took it."""
    with connections[alias].cursor() as cursor:
        cursor.execute(_READ, (name,))
        row = cursor.fetchone()
    return LeaseState(str(row[0]), int(row[1]), int(row[2])) if row else None


def take_lease(
    name: str, holder: str, seen: LeaseState | None, alias: str = "default"
) -> HeldLease | None:
    """Take a lease that still is as it was seen, with the next epoch; None when it moved since."""
    if seen is None:
        taken = _execute(alias, _INSERT, name, holder)
        return HeldLease(name, 1) if taken else None
    taken = _execute(alias, _TAKE, holder, name, seen.epoch, seen.renewals)
    return HeldLease(name, seen.epoch + 1) if taken else None


def renew_lease(held: HeldLease, holder: str, alias: str = "default") -> bool:
    """Show that the holder lives; False when another one has taken over."""
    return bool(_execute(alias, _RENEW, held.name, holder, held.epoch))


def release_lease(held: HeldLease, holder: str, alias: str = "default") -> None:
    """Give the lease up, so that the next process need not wait."""
    _execute(alias, _RELEASE, held.name, holder, held.epoch)


class LeaseWatch:
    """Judges whether a lease that someone else holds has stood still for long enough."""

    def __init__(self) -> None:
        self._seen: LeaseState | None = None
        self._since = 0.0

    def may_take(self, state: LeaseState | None, monotonic: float) -> bool:
        """Whether it is free, was given up, or did not move for `TAKE_OVER_AFTER_S`."""
        if state is None or not state.holder:
            return True
        if state != self._seen:
            self._seen, self._since = state, monotonic
        return monotonic - self._since >= TAKE_OVER_AFTER_S


def _execute(alias: str, statement: str, *parameters: object) -> int:
    def write() -> int:
        connection = connections[alias]
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return int(cursor.rowcount)

    return writes_patiently(write)
