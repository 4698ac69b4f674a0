"""One transaction that several writes of a thread share: each its own index and frame, one commit.

In: a thread that says so, then writes as ever. Out: nothing is in the record before `commit`, and
all of it after. What one write refuses is undone alone, by its savepoint. Which writes wait for
each other is the business of `cluster.store.writer_thread`.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from django.db import DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store.transactions import write_transaction, writes_patiently

_of_thread = threading.local()


class GroupPart:
    """One write of a group on SQLite, undone alone where it fails.

    Below Django's blocks, which cost more than what they say to the database.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        with self._connection.wrap_database_errors:
            self._connection.connection.execute("SAVEPOINT part")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        connection = self._connection
        if kind is None:
            with connection.wrap_database_errors:
                connection.connection.execute("RELEASE part")
            return
        try:
            connection.connection.execute("ROLLBACK TO part")
            connection.connection.execute("RELEASE part")
        except sqlite3.Error:
            # SQLite may have ended the whole transaction; then the group tells everybody.
            connection.needs_rollback = True


class WriteGroup:
    """The shared transaction of one thread; it is opened by the first write, with its patience."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        #: Of the newest write in it, to be told once it is committed; 0 when nothing was put.
        self.newest = 0
        self._transaction: ExitStack | None = None

    @property
    def is_open(self) -> bool:
        """Something was written that is not committed yet."""
        return self._transaction is not None

    def begin(self) -> None:
        """Open the transaction, unless it is. Raises OperationalError behind other writers."""
        connection = connections[self.alias]
        if self.is_open or connection.in_atomic_block:
            return

        def enter() -> None:
            with ExitStack() as entered:
                entered.enter_context(write_transaction(connection))
                self._transaction = entered.pop_all()

        writes_patiently(enter)

    @property
    def is_broken(self) -> bool:
        """What was written in it is gone: a full disk, or a write not to be undone alone."""
        connection = connections[self.alias]
        if not self.is_open or connection.needs_rollback:
            return self.is_open
        return connection.vendor == "sqlite" and not connection.connection.in_transaction

    def commit(self) -> None:
        """Make all of it part of the record. Raises DatabaseError when none of it is."""
        if self.is_broken:
            self.abandon()
            raise OperationalError("disk I/O error: a write beside this one took it along")
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.close()

    def abandon(self) -> None:
        """Undo all of it."""
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            connections[self.alias].set_rollback(True)
            transaction.close()


@contextmanager
def writing_together(alias: str) -> Iterator[WriteGroup]:
    """Within the block, writes of this thread on that database share one transaction.

    Whoever opens the block commits; what is not committed at its end is undone.
    """
    group = _of_thread.group = WriteGroup(alias)
    try:
        yield group
    finally:
        del _of_thread.group
        try:
            group.abandon()
        except DatabaseError:
            connections[alias].close()


def group_of_thread(alias: str) -> WriteGroup | None:
    """The group that writes of this thread belong to, if they do."""
    group: WriteGroup | None = getattr(_of_thread, "group", None)
    return group if group is not None and group.alias == alias else None
