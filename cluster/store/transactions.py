"""Transactions as the record needs them: one writer at a time, readers that see one index.

In: a Django connection. Out: a transaction around a block, opened with as little waiting as the
database allows. What is read or written in it is not known here.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import sleep
from typing import TypeVar

from django.db import Error, InterfaceError, OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store.plain_cursor import begin_reading, end_reading, plain_cursor

Result = TypeVar("Result")

#: SQLite's own waiting starves writers; these tries are its replacement: about 5 s in all.
_TRIES = 4000
_SHORTEST_PAUSE_S = 0.0005
_JITTER_US = 1000

#: Transactions of a thread after which SQLite gives back what it keeps.
_BETWEEN = 500

_of_thread = threading.local()


@contextmanager
def patience(is_over: Callable[[], bool]) -> Iterator[None]:
    """Within the block this thread tries writes again only until `is_over` says so."""
    _of_thread.is_over = is_over
    try:
        yield
    finally:
        del _of_thread.is_over


def pause(attempt: int) -> bool:
    """Sleep a moment before a further try; False when there have been enough."""
    is_over = getattr(_of_thread, "is_over", None)
    if attempt >= _TRIES or (is_over is not None and is_over()):
        return False
    sleep(_SHORTEST_PAUSE_S + secrets.randbelow(_JITTER_US) / 1_000_000)
    return True


def is_busy(error: Error) -> bool:
    """Whether another writer was in the way, so that the same write can be tried again."""
    text = str(error)
    return "locked" in text or "busy" in text or "deadlock" in text or "serialize" in text


def writes_patiently(write: Callable[[], Result]) -> Result:
    """Run a short write again while another writer is in the way; it must not keep anything."""
    attempt = 0
    while True:
        try:
            return write()
        except OperationalError as error:
            attempt += 1
            if not is_busy(error) or not pause(attempt):
                raise


@contextmanager
def write_transaction(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A transaction that fails at once when another one is writing (SQLite)."""
    with dropping_a_broken(connection):
        if connection.vendor == "sqlite" and not connection.in_atomic_block:
            with waiting_for(connection, 0), transaction.atomic(using=connection.alias):
                yield
        else:
            with transaction.atomic(using=connection.alias):
                yield
        _give_back_now_and_then(connection)


@contextmanager
def waiting_for(connection: BaseDatabaseWrapper, milliseconds: int) -> Iterator[None]:
    """SQLite itself waits no longer than this for others (SQLite)."""
    _set_busy_timeout(connection, milliseconds)
    try:
        yield
    finally:
        _set_busy_timeout(connection, _ordinary_timeout_ms(connection))


@contextmanager
def read_transaction(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A transaction whose reads all see the same index and that keeps no writer waiting."""
    if connection.in_atomic_block:
        yield
        return
    with dropping_a_broken(connection):
        begin_reading(connection)
        try:
            yield
        except BaseException:
            # The connection may be what failed; its error is the one to tell.
            with suppress(Error), plain_cursor(connection) as cursor:
                cursor.execute("ROLLBACK")
            raise
        end_reading(connection)
    _give_back_now_and_then(connection)


def _give_back_now_and_then(connection: BaseDatabaseWrapper) -> None:
    """As `give_back`, once in so many transactions of this thread."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return
    done = getattr(_of_thread, "done", 0) + 1
    _of_thread.done = done % _BETWEEN
    if done == _BETWEEN:
        give_back(connection)


def give_back(connection: BaseDatabaseWrapper) -> None:
    """Let SQLite forget the pages it keeps: as the record grows, they would fill its whole cache.

    The system keeps them as well, and reading them from there again costs little.
    """
    if connection.vendor == "sqlite" and connection.connection is not None:
        connection.connection.execute("PRAGMA shrink_memory")


@contextmanager
def dropping_a_broken(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A connection whose server went away is closed, so that the next use opens a new one."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        if not is_busy(error):
            connection.close_if_unusable_or_obsolete()
        raise


def _set_busy_timeout(connection: BaseDatabaseWrapper, milliseconds: int) -> None:
    """Below Django's cursors: this is said twice for every write."""
    connection.ensure_connection()
    connection.connection.execute(f"PRAGMA busy_timeout = {milliseconds}")


def _ordinary_timeout_ms(connection: BaseDatabaseWrapper) -> int:
    options = connection.settings_dict.get("OPTIONS", {})
    return int(float(options.get("timeout", 5)) * 1000)
