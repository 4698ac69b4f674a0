"""Acts that no write of the record carries: refusals, failures, sign-ins. Written soon, together.

In: entries, as doors meet them. Out: rows, within a second, from a thread of its own: no door
waits, and none fails because the record cannot be written. Those alike within a minute are one row
with a count, and a flood of unlike ones from one address is told in one row as well, so that
refusals cannot fill a disk.
"""

import atexit
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable

import msgspec
from django.db import Error, connections

from cluster.store import audit
from cluster.store.audit_entries import Act, Actor, AuditEntry, entry_of
from cluster.store.transactions import write_transaction, writes_patiently

log = logging.getLogger(__name__)

MINUTE = 60 * 1_000_000_000
#: Rows of one address, and of all together, that a process begins within a minute.
MOST_OF_ADDRESS = 30
MOST_OF_ALL = 300
#: Rows that wait while the record cannot be written; what comes then is counted in the log.
MOST_WAITING = 5_000
#: Seconds in which further entries gather.
_GATHER_S = 0.5
#: Before the record is tried again.
_PAUSE_S = 2.0


class _Told:
    """One row: as it was begun, how many it stands for, how many of them are in the record."""

    __slots__ = ("count", "entry", "last_at", "place", "written")

    def __init__(self, entry: AuditEntry) -> None:
        self.entry = entry
        self.count = entry.count
        self.last_at = entry.at
        self.place = 0
        self.written = 0


class AuditDesk:
    """Call `note` from any thread; it returns at once."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._told: dict[tuple[object, ...], _Told] = {}
        self._begun: Counter[str] = Counter()
        self._minute = 0
        self._waiting = 0
        self._wake = threading.Event()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0

    def note(self, entry: AuditEntry) -> None:
        """Have an act in the record within a second."""
        with self._lock:
            self._take(entry)
            if self._process != os.getpid():
                self._start()
        self._wake.set()

    def flush(self) -> None:
        """Write what waits, on the calling thread. Raises what the database raises."""
        with self._writing:
            with self._lock:
                due = [(told, told.count, told.last_at) for told in self._told.values()]
                due = [item for item in due if item[1] > item[0].written]
            if due:
                writes_patiently(lambda: self._write(due))
                with self._lock:
                    for told, count, _ in due:
                        told.written = count
                    self._forget_old()

    def close(self) -> None:
        """Write what waits, as far as that is possible, and end the thread."""
        self._ends.set()
        self._wake.set()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()
        self._flush_at_end()
        atexit.unregister(self._flush_at_end)

    def _take(self, entry: AuditEntry) -> None:
        told = self._told.get(entry.likeness)
        if told is None or entry.at - told.entry.at >= MINUTE:
            entry = self._within_bounds(entry)
            told = self._told.get(entry.likeness)
        if told is not None and entry.at - told.entry.at < MINUTE:
            told.count += 1
            told.last_at = max(told.last_at, entry.at)
            return
        if self._waiting >= MOST_WAITING:
            log.error("action=audit act=%r was not kept: too many wait", entry.act)
            return
        self._waiting += 1
        self._begun.update((entry.address, ""))
        if told is not None:
            # Its minute is over; what it counted may still have to be written.
            self._told[*entry.likeness, told.entry.at] = told
        self._told[entry.likeness] = _Told(entry)

    def _within_bounds(self, entry: AuditEntry) -> AuditEntry:
        """The entry, or the one that stands for all further ones of this minute."""
        minute = entry.at // MINUTE
        if minute != self._minute:
            self._minute = minute
            self._begun.clear()
        if self._begun[""] >= MOST_OF_ALL:
            return _others(entry, f"more than {MOST_OF_ALL} unlike ones within a minute", "")
        if entry.address and self._begun[entry.address] >= MOST_OF_ADDRESS:
            told = f"more than {MOST_OF_ADDRESS} unlike ones from there within a minute"
            return _others(entry, told, entry.address)
        return entry

    def _write(self, due: "list[tuple[_Told, int, int]]") -> None:
        connection = connections[self._alias]
        places = []
        with write_transaction(connection):
            fresh = sorted(
                (item for item in due if not item[0].place), key=lambda item: item[0].entry.at
            )
            entries = [
                msgspec.structs.replace(told.entry, count=count, last_at=last_at)
                for told, count, last_at in fresh
            ]
            places = audit.insert(connection, entries)
            for told, count, last_at in due:
                if told.place:
                    audit.count_more(connection, told.place, count - told.written, last_at)
        # Only now: a write that is tried again must not keep anything.
        for (told, _, _), place in zip(fresh, places, strict=True):
            told.place = place

    def _forget_old(self) -> None:
        newest = max(told.last_at for told in self._told.values())
        self._told = {
            key: told
            for key, told in self._told.items()
            if told.count > told.written or newest - told.entry.at < MINUTE
        }
        self._waiting = sum(not told.place for told in self._told.values())

    def _start(self) -> None:
        """Threads do not survive a fork, so each process starts its own."""
        self._wake, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit-desk", daemon=True)
        self._process = os.getpid()
        self._thread.start()
        atexit.register(self._flush_at_end)

    def _run(self) -> None:
        pause_s = 0.0
        while not self._ends.is_set():
            self._wake.wait()
            self._wake.clear()
            pause_s = self._tried(self.flush)
            self._ends.wait(pause_s)
        connections.close_all()

    def _tried(self, flush: Callable[[], None]) -> float:
        """Seconds until the next try."""
        try:
            flush()
        except Error:
            # Full, locked or away: the entries stay, and are written once it is over.
            log.exception("action=audit not written; tried again")
            self._wake.set()
            return _PAUSE_S
        return _GATHER_S

    def _flush_at_end(self) -> None:
        if self._process == os.getpid():
            self._tried(self.flush)


def _others(entry: AuditEntry, reason: str, address: str) -> AuditEntry:
    """What stands for those that are not told one by one."""
    who = Actor(address=address, door=entry.door)
    return entry_of(who, Act("many acts"), entry.result, at=entry.at, reason=reason)
