"""The record in a database: `StateStore` over Django's connections.

In: work to do on an open change. Out: one transaction that takes the next index, stores its rows,
appends its frame, and only then tells followers. Rules of what changes are not known here.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import event_log, statements
from cluster.store.audit_entries import INSERT as INSERT_AUDIT
from cluster.store.audit_entries import row_of
from cluster.store.audited_acts import entry_of_write
from cluster.store.node_mirror import NodeMirror
from cluster.store.plain_cursor import later, plain_cursor
from cluster.store.ports import RecordReader
from cluster.store.reader import DjangoStateReader
from cluster.store.record_reader import DjangoRecordReader
from cluster.store.row_writer import RowWriter
from cluster.store.transactions import (
    dropping_a_broken,
    read_transaction,
    write_transaction,
    writes_patiently,
)
from cluster.store.write_group import GroupPart, group_of_thread
from scheduler.access.caller import CLUSTER, Caller
from scheduler.errors import Fenced
from scheduler.ports import Change, Fence, StateReader, StateStore
from scheduler.state.events import EventFrame
from scheduler.state.nouns import NOUN_OF_TOPIC
from scheduler.state.open_change import OpenChange

Result = TypeVar("Result")


class DjangoStateStore(StateStore):
    """The record behind one database alias. Each thread works on a connection of its own."""

    def __init__(
        self,
        alias: str = "default",
        publish: Callable[[int], None] | None = None,
        mirror: NodeMirror | None = None,
    ) -> None:
        self.alias = alias
        #: Of a process that writes on one thread: its changes read nodes from here.
        self._mirror = mirror
        self._publish = publish or (lambda _index: None)

    def write(
        self,
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        by: Caller = CLUSTER,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """See `StateStore.write`. Raises OperationalError after 5 s behind other writers."""
        connection = connections[self.alias]
        if self._mirror is not None:
            # Most of the way without the lock, so that little is left while others wait for it.
            with read_transaction(connection):
                self._reader_at(connection, index_of(connection))
        group = group_of_thread(self.alias)
        if group is not None:
            group.begin()
        write_once = partial(self._write_once, connection, kind, work, now, by, fence)
        # Inside someone else's transaction nothing can be tried again.
        run = write_once if connection.in_atomic_block else partial(writes_patiently, write_once)
        index, result, has_put = run()
        if has_put and group is not None:
            group.newest = index
        elif has_put:
            self._publish(index)
        return index, result

    def read(self, work: Callable[[RecordReader], Result]) -> Result:
        """Run `work` on a reader that sees one consistent index."""
        connection = connections[self.alias]
        with read_transaction(connection):
            return work(DjangoRecordReader(connection, index_of(connection)))

    @property
    def index(self) -> int:
        """Of the newest committed write."""
        return index_of(connections[self.alias])

    def announce(self, index: int) -> None:
        """Tell whoever follows that there is something new, made beside `write`."""
        self._publish(index)

    def frames_since(
        self, index: int, limit: int = 1000, topics: Collection[str] = NOUN_OF_TOPIC
    ) -> Sequence[EventFrame]:
        """Frames with a larger index, in order. Raises StaleSnapshot when some were trimmed.

        Of each the events of these topics.
        """
        connection = connections[self.alias]
        if index_of(connection) == index:
            return []
        with dropping_a_broken(connection):
            return event_log.frames_since(connection, index, limit, topics)

    def _write_once(
        self,
        connection: BaseDatabaseWrapper,
        kind: str,
        work: Callable[[Change], Result],
        now: int,
        by: Caller,
        fence: Fence | None,
    ) -> tuple[int, Result, bool]:
        is_part = connection.in_atomic_block and connection.vendor == "sqlite"
        with GroupPart(connection) if is_part else write_transaction(connection):
            before = _lock_under(connection, fence)
            change = OpenChange(self._reader_at(connection, before), now, by)
            result = work(change)
            if not change.events:
                if not is_part:
                    # On PostgreSQL the counter was moved to lock it: nothing put, no index taken.
                    transaction.set_rollback(True, using=connection.alias)
                return before, result, False
            frame = EventFrame(index=before + 1, kind=kind, at=now, events=change.events)
            rows = RowWriter(connection)
            rows.write(frame, change.unnamed)
            rows.write_secrets(change.secrets)
            _write_audit(connection, frame, by)
            if connection.vendor == "sqlite":
                with plain_cursor(connection) as cursor:
                    cursor.execute(statements.SET_INDEX, (frame.index,))
            return frame.index, result, True

    def _reader_at(self, connection: BaseDatabaseWrapper, index: int) -> StateReader:
        if self._mirror is None:
            return DjangoStateReader(connection, index)
        return self._mirror.reader_at(connection, index)


def _write_audit(connection: BaseDatabaseWrapper, frame: EventFrame, by: Caller) -> None:
    """Keep who asked for the write, in its own transaction: neither is there without the other."""
    entry = entry_of_write(frame, by)
    if entry is not None:
        with plain_cursor(connection) as cursor:
            later(cursor)(INSERT_AUDIT, row_of(entry))


def lock_index(connection: BaseDatabaseWrapper) -> int:
    """The newest index; no other writer can pass it until the transaction ends."""
    if connection.vendor == "sqlite":
        return index_of(connection)
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.TAKE_INDEX)
        return int(cursor.fetchone()[0]) - 1


def index_of(connection: BaseDatabaseWrapper) -> int:
    """Of the newest committed write, or of this transaction's."""
    with plain_cursor(connection) as cursor:
        cursor.execute(statements.READ_INDEX)
        row = cursor.fetchone()
    assert row is not None, "the record's first migration seeds the counter"
    return int(row[0])


def _lock_under(connection: BaseDatabaseWrapper, fence: Fence | None) -> int:
    """As `lock_index`. Raises Fenced when the lease is no longer held then."""
    if fence is None:
        return lock_index(connection)
    with plain_cursor(connection) as cursor:
        together = getattr(cursor, "rows_of_each", None)
        if together is not None:
            # One after the other all the same: the epoch is read once the lock is there.
            taken, epochs = together(
                [(statements.TAKE_INDEX, ()), (statements.HOLD_EPOCH, (fence.name,))]
            )
            before = int(taken[0][0]) - 1
        else:
            before = lock_index(connection)
            cursor.execute(statements.READ_EPOCH, (fence.name,))
            epochs = cursor.fetchall()
    if not epochs or int(epochs[0][0]) != fence.epoch:
        raise Fenced(f"lease {fence.name!r} is no longer held under epoch {fence.epoch}")
    return before
