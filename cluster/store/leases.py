"""Leases as rows: who may act as the leader or the applier, and under which epoch.

In: a name, a holder, and what was seen of the lease before. Out: a fence to write under, or None.
When a lease stood still long enough to be taken is judged by the caller's own clock. Leases are
outside the index: taking one changes no state of the cluster.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import connections

from cluster.store.plain_cursor import plain_cursor
from cluster.store.transactions import read_transaction, write_transaction, writes_patiently

#: Seconds of the watcher's own clock for which `renewals` may stand still.
TAKE_OVER_AFTER_S = 5.0

_READ = "SELECT holder, epoch, renewals, followed_index FROM lease WHERE name = %s"
_INSERT = (
    "INSERT INTO lease (name, holder, epoch, renewals, followed_index) VALUES (%s, %s, 1, 0, 0)"
    " ON CONFLICT (name) DO NOTHING"
)
_TAKE = (
    "UPDATE lease SET holder = %s, epoch = epoch + 1, renewals = renewals + 1"
    " WHERE name = %s AND epoch = %s AND renewals = %s"
)
_RENEW = (
    "UPDATE lease SET renewals = renewals + 1, followed_index = COALESCE(%s, followed_index)"
    " WHERE name = %s AND holder = %s AND epoch = %s"
)
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
    #: Up to here its holders have taken in what was committed.
    followed_index: int


class LeaseKeeper:
    """One process's dealings with one lease. Call `step` about once a second.

    `holder` must be of this process alone: a process that comes back under an old name would be
    taken for the one that died. The lease of a holder that `is_dead` says has ended is taken at
    once; that of any other has to stand still first.
    """

    def __init__(
        self,
        name: str,
        holder: str,
        alias: str = "default",
        is_dead: Callable[[str], bool] = lambda _holder: False,
    ) -> None:
        self._name = name
        self._holder = holder
        self._alias = alias
        self._is_dead = is_dead
        self._seen: LeaseState | None = None
        self._seen_at = 0.0
        self.held: HeldLease | None = None
        #: How far the holders before had followed the record when this one took the lease.
        self.followed_before = 0

    def step(self, monotonic: float, followed_index: int | None = None) -> HeldLease | None:
        """Renew the lease, or take it when it is free or stood still; else None.

        `followed_index` is how far its holder has taken in what was committed, for whoever takes
        the lease next.
        """
        if self.held is None:
            self.held = self._try_take(monotonic)
        elif not _execute(
            self._alias, _RENEW, followed_index, self._name, self._holder, self.held.epoch
        ):
            self.held = None
        return self.held

    def release(self) -> None:
        """Give the lease up, so that the next process need not wait."""
        held, self.held = self.held, None
        if held is not None:
            _execute(self._alias, _RELEASE, self._name, self._holder, held.epoch)

    def _try_take(self, monotonic: float) -> HeldLease | None:
        state = read_lease(self._name, self._alias)
        if state is None:
            made = _execute(self._alias, _INSERT, self._name, self._holder)
            return HeldLease(self._name, 1) if made else None
        if state != self._seen:
            self._seen, self._seen_at = state, monotonic
        stood_still = monotonic - self._seen_at >= TAKE_OVER_AFTER_S
        if state.holder and not stood_still and not self._is_dead(state.holder):
            return None
        # Conditional on nothing having moved: of two who try at once, one gets it.
        taken = _execute(self._alias, _TAKE, self._holder, self._name, state.epoch, state.renewals)
        self.followed_before = state.followed_index
        return HeldLease(self._name, state.epoch + 1) if taken else None


def read_lease(name: str, alias: str = "default") -> LeaseState | None:
    """The lease as it stands; None when nobody ever took it."""
    connection = connections[alias]
    with read_transaction(connection), plain_cursor(connection) as cursor:
        cursor.execute(_READ, (name,))
        row = cursor.fetchone()
    return LeaseState(str(row[0]), *map(int, row[1:])) if row else None


def epoch_of(name: str, alias: str = "default") -> int:
    """The newest epoch of a lease; 0 when nobody ever took it."""
    state = read_lease(name, alias)
    return state.epoch if state else 0


def _execute(alias: str, statement: str, *parameters: Any) -> int:
    def write() -> int:
        connection = connections[alias]
        with write_transaction(connection), plain_cursor(connection) as cursor:
            cursor.execute(statement, parameters)
            return int(cursor.rowcount)

    return writes_patiently(write)
