"""When each node was last heard, who was there to hear it, who holds its channel; no index moves.

In: node ids, instants, addresses. Out: rows, written in batches, and all of them for the leader's
timers. Each function takes the store first, as everything `awrite_call` runs.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db import connections

from cluster.store.plain_cursor import plain_cursor
from cluster.store.transactions import read_transaction, write_transaction, writes_patiently
from cluster.store.writer import DjangoStateStore
from scheduler.structs.wire import Duration, Nanoseconds

_PUT = (
    "INSERT INTO node_beat (node_id, beat_at, ttl, used_cpu_mhz, used_memory_mb)"
    " VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (node_id) DO UPDATE SET beat_at = excluded.beat_at, ttl = excluded.ttl,"
    " used_cpu_mhz = excluded.used_cpu_mhz, used_memory_mb = excluded.used_memory_mb"
    " WHERE excluded.beat_at > node_beat.beat_at"
)
_PUT_CHANNEL = (
    "INSERT INTO node_channel (node_id, holder) VALUES (%s, %s)"
    " ON CONFLICT (node_id) DO UPDATE SET holder = excluded.holder"
)
_PUT_SIGN = (
    "INSERT INTO listener (name, signs, signed_at) VALUES (%s, %s, %s)"
    " ON CONFLICT (name) DO UPDATE SET signs = excluded.signs, signed_at = excluded.signed_at"
)
#: The newest stays for ever: it says that there were listeners.
_FORGET_LISTENERS = (
    "DELETE FROM listener WHERE signed_at < (SELECT MAX(signed_at) FROM listener) - %s"
)
#: A process that gave no sign for so long beside another that did is gone.
_GONE_AFTER = 3600 * 1_000_000_000
_FORGET_BEATS = "DELETE FROM node_beat WHERE node_id NOT IN (SELECT id FROM node)"
_FORGET_CHANNELS = "DELETE FROM node_channel WHERE node_id NOT IN (SELECT id FROM node)"


class HeardBeat(NamedTuple):
    """When a node beat, ns, and how long it was told it may be silent."""

    at: Nanoseconds
    ttl: Duration


#: By node: what its tasks used together when it beat, MHz and MiB.
Used = Mapping[str, tuple[int, int]]


def write_beats(
    store: DjangoStateStore, beats: Mapping[str, HeardBeat], used: Used = MappingProxyType({})
) -> int:
    """Store beats, none of them older than the stored; returns how many nodes there are.

    Of a node that is not in `used` nothing is known any more.
    """
    # In order of id, so that two processes never wait for each other crosswise.
    rows = [
        (node_id, *beat, *used.get(node_id, (None, None)))
        for node_id, beat in sorted(beats.items())
    ]
    _write_many(store, _PUT, rows)
    return _node_count(store)


def read_beats(store: DjangoStateStore, *, after: Nanoseconds = 0) -> dict[str, HeardBeat]:
    """The beats of nodes heard after an instant, by node id."""
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        cursor.execute("SELECT node_id, beat_at, ttl FROM node_beat WHERE beat_at > %s", (after,))
        return {str(row[0]): HeardBeat(int(row[1]), int(row[2])) for row in cursor.fetchall()}


class BeatsSince:
    """The beats that a reader has not been told of yet.

    Compared row by row, not by their time: the clocks of those who write them may differ. Rows
    are compared as they come, for thousands of nodes of which few have beaten since.
    """

    def __init__(self) -> None:
        self._told: set[tuple[str, int, int]] = set()

    def read(self, store: DjangoStateStore) -> dict[str, HeardBeat]:
        """What was written since the last time, at first all, by node id."""
        with plain_cursor(connections[store.alias]) as cursor:
            cursor.execute("SELECT node_id, beat_at, ttl FROM node_beat")
            rows = set(cursor.fetchall())
        fresh, self._told = rows - self._told, rows
        return {node_id: HeardBeat(at, ttl) for node_id, at, ttl in fresh}


def write_sign(store: DjangoStateStore, listener: str, signs: int, *, now: Nanoseconds) -> int:
    """Note that a web process lives, by the count of its signs; returns how many nodes there are.

    Without this a time in which no beat could be written would look like silence of the nodes.
    """
    _write_many(store, _PUT_SIGN, [(listener, signs, now)])
    return _node_count(store)


def read_signs(store: DjangoStateStore) -> dict[str, int]:
    """How many signs each web process has given, by name."""
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        cursor.execute("SELECT name, signs FROM listener")
        return {str(row[0]): int(row[1]) for row in cursor.fetchall()}


def forget_beats(store: DjangoStateStore) -> int:
    """Remove what is known of nodes and web processes that are gone; returns how many rows went.

    By what the record says, not by who was purged: a last beat may be written after the purge.
    """

    def write() -> int:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.execute(_FORGET_BEATS)
            count = int(cursor.rowcount)
            cursor.execute(_FORGET_CHANNELS)
            count += int(cursor.rowcount)
            cursor.execute(_FORGET_LISTENERS, (_GONE_AFTER,))
            return count + int(cursor.rowcount)

    return writes_patiently(write)


def write_channels(store: DjangoStateStore, node_ids: Collection[str], url: str) -> None:
    """Note that the web process at `url` holds the channels of these nodes."""
    _write_many(store, _PUT_CHANNEL, [(node_id, url) for node_id in sorted(node_ids)])


def _node_count(store: DjangoStateStore) -> int:
    connection = connections[store.alias]
    with read_transaction(connection), connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM node")
        return int(cursor.fetchone()[0])


def _write_many(store: DjangoStateStore, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    def write() -> None:
        connection = connections[store.alias]
        with write_transaction(connection), connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    if rows:
        writes_patiently(write)
