"""When each API token was last used, to the hour; no index moves.

In: tokens, as doors find them. Out: a row for each, written once an hour by each process that sees
it used, and then only if no other one has. So a request costs a look into a table in memory.
"""

import asyncio
import logging
import threading
from functools import partial

from django.db import OperationalError, connections

from cluster.store.plain_cursor import plain_cursor
from cluster.store.transactions import is_busy, write_transaction, writes_patiently
from cluster.store.writer import DjangoStateStore
from cluster.store.writer_thread import WriterThread
from scheduler.structs.wire import Nanoseconds

log = logging.getLogger(__name__)

#: A use that is noted speaks for those of the time after it, ns.
PRECISION = 3600 * 1_000_000_000
#: Tokens a process remembers; beyond them it begins anew, and writes once more for each.
_MOST_KEPT = 16_384
_PUT = (
    "INSERT INTO acl_token_use (accessor_id, used_at) VALUES (%s, %s)"
    " ON CONFLICT (accessor_id) DO UPDATE SET used_at = excluded.used_at"
    " WHERE excluded.used_at >= acl_token_use.used_at + %s"
)
_FORGET = "DELETE FROM acl_token_use WHERE accessor_id NOT IN (SELECT accessor_id FROM acl_token)"


class TokenUses:
    """What a process has noted of the tokens it saw. Call `note` on an event loop."""

    def __init__(self, alias: str, writer: WriterThread) -> None:
        self._alias = alias
        self._writer = writer
        self._lock = threading.Lock()
        self._noted: dict[str, Nanoseconds] = {}

    def note(self, accessor_id: str, now: Nanoseconds) -> None:
        """Have a use in the record soon, if none of the last hour is; nobody waits for it."""
        with self._lock:
            if now < self._noted.get(accessor_id, -PRECISION) + PRECISION:
                return
            if len(self._noted) >= _MOST_KEPT:
                self._noted.clear()
            self._noted[accessor_id] = now
        # Tried once: what a caller wants written stands behind it, and may not wait for it.
        order = self._writer.submit(partial(write_use, self._alias, accessor_id, now), alone=True)
        order.future.add_done_callback(partial(self._written, accessor_id))

    def _written(self, accessor_id: str, future: "asyncio.Future[None]") -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        # The next use tries again.
        if not (isinstance(error, OperationalError) and is_busy(error)):
            log.warning("action=token-use not written: %s", error)
        with self._lock:
            self._noted.pop(accessor_id, None)


def write_use(alias: str, accessor_id: str, now: Nanoseconds) -> None:
    """In the record, unless a use of the last hour is there. Raises OperationalError."""
    connection = connections[alias]
    with write_transaction(connection), plain_cursor(connection) as cursor:
        cursor.execute(_PUT, (accessor_id, now, PRECISION))


def forget_uses(store: DjangoStateStore) -> None:
    """Remove what is known of tokens that are gone."""
    connection = connections[store.alias]

    def forget() -> None:
        with write_transaction(connection), plain_cursor(connection) as cursor:
            cursor.execute(_FORGET)

    writes_patiently(forget)
