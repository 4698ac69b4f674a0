"""Rehearsals in the record: asked for, begun, under way, ended; a bounded number is kept.

In: a store, what is asked. Out: rows. What is rehearsed, and how, is not known here: whoever runs
one takes it by `begin_rehearsal`, and tells by `note_rehearsal` and `end_rehearsal`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from cluster.operations.errors import Conflict, NotAllowed, NotFound, OperationRefused
from cluster.operations.rights import MANAGEMENT, require_management, require_reads
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.wire import Duration, Nanoseconds

NOT_FOUND = "rehearsal not found"
#: So many may wait for their turn.
MOST_WAITING = 10
#: Silent for so long, its process is gone, ns.
SILENT_AFTER = 20_000_000_000


class TooManyRehearsals(OperationRefused):
    """Too many are asked for already."""

    status = 429


def ask_rehearsal(  # noqa: PLR0913 - what is kept, and for how long
    store: StateStore,
    scenario: str,
    *,
    by: Caller,
    now: Nanoseconds,
    ids: IDSource,
    keep: int,
    keep_for: Duration,
) -> StoredRehearsal:
    """Ask for one; older ones that have ended go. What it shows besides, the door asks rights for.

    Raises TooManyRehearsals while too many wait.
    """
    require_reads(by, "node")

    def work(change: Change) -> StoredRehearsal:
        under_way = open_rehearsals(change)
        waiting = [row for row in under_way if row.status is RehearsalStatus.WAITING]
        if len(waiting) >= MOST_WAITING:
            raise TooManyRehearsals(f"{len(waiting)} rehearsals wait for their turn already")
        for old in _outlived(change.list_all(REHEARSALS), now, keep, keep_for):
            change.delete(REHEARSALS, old.id)
        asked = StoredRehearsal(
            id=ids.next_id(),
            scenario=scenario,
            by_id=by.id,
            by_name=by.name,
            asked_at=now,
            seen_at=now,
            create_index=change.index,
            modify_index=change.index,
        )
        change.put(REHEARSALS, asked)
        return asked

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def begin_rehearsal(
    store: StateStore, rehearsal_id: str, process: str, *, by: Caller, now: Nanoseconds
) -> StoredRehearsal:
    """Take one that waits. Raises Conflict when another process was faster, or it was canceled."""
    require_management(by)

    def work(change: Change) -> StoredRehearsal:
        row = _known(change, rehearsal_id)
        if row.status is not RehearsalStatus.WAITING:
            raise Conflict(f"the rehearsal is {row.status.value}")
        return _put(
            change,
            replace(
                row,
                status=RehearsalStatus.RUNNING,
                process=process,
                begun_at=now,
                seen_at=now,
            ),
        )

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def note_rehearsal(
    store: StateStore, row: StoredRehearsal, *, by: Caller, now: Nanoseconds
) -> StoredRehearsal:
    """Tell how far one is: the counts of `row`. Raises Conflict when it may not go on."""
    require_management(by)

    def work(change: Change) -> StoredRehearsal:
        stored = _known(change, row.id)
        if stored.status is not RehearsalStatus.RUNNING:
            raise Conflict(stored.reason or f"the rehearsal is {stored.status.value}")
        return _put(
            change,
            replace(
                stored,
                seen_at=now,
                evaluations=row.evaluations,
                placed=row.placed,
                waiting=row.waiting,
                lasts=row.lasts,
                took=row.took,
                memory_mb=row.memory_mb,
            ),
        )

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def end_rehearsal(
    store: StateStore, row: StoredRehearsal, *, by: Caller, now: Nanoseconds
) -> StoredRehearsal:
    """Write down how one ended: status, reason and what was found, as in `row`.

    One that has ended before stays as it is.
    """
    require_management(by)
    assert row.has_ended, "who ends it says how"

    def work(change: Change) -> StoredRehearsal:
        stored = _known(change, row.id)
        if stored.has_ended:
            return stored
        kept = replace(
            row,
            by_id=stored.by_id,
            scenario=stored.scenario,
            process=stored.process,
            begun_at=stored.begun_at,
            seen_at=now,
            ended_at=now,
        )
        return _put(change, kept)

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def cancel_rehearsal(
    store: StateStore, rehearsal_id: str, *, by: Caller, now: Nanoseconds
) -> StoredRehearsal:
    """End one that waits or runs; one that has ended is forgotten. Its own, or for managers."""
    require_reads(by, "node")

    def work(change: Change) -> StoredRehearsal:
        row = _known(change, rehearsal_id)
        if not by.access.is_management and row.by_id != by.id:
            raise NotAllowed(missing=MANAGEMENT)
        if row.has_ended:
            change.delete(REHEARSALS, row.id)
            return row
        ended = replace(
            row,
            status=RehearsalStatus.CANCELED,
            reason=f"canceled by {by.name or by.id or 'nobody known'}",
            ended_at=now,
        )
        return _put(change, ended)

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def fail_silent_rehearsals(
    store: StateStore, *, by: Caller, now: Nanoseconds
) -> tuple[StoredRehearsal, ...]:
    """Write down that processes of rehearsals are gone; those rehearsals."""
    require_management(by)
    if not store.read(lambda reader: _silent(reader, now)):
        return ()

    def work(change: Change) -> tuple[StoredRehearsal, ...]:
        return tuple(
            _put(
                change,
                replace(
                    row,
                    status=RehearsalStatus.FAILED,
                    reason=f"its process ({row.process}) ended without a word",
                    ended_at=now,
                ),
            )
            for row in _silent(change, now)
        )

    return store.write(REHEARSALS.upserted, work, now=now, by=by)[1]


def open_rehearsals(reader: StateReader) -> Sequence[StoredRehearsal]:
    """Those that wait or run, the one asked for first first."""
    rows = [
        row
        for status in (RehearsalStatus.WAITING, RehearsalStatus.RUNNING)
        for row in reader.list_by(REHEARSALS, "status", status.value)
    ]
    return sorted(rows, key=lambda row: (row.asked_at, row.id))


def _silent(reader: StateReader, now: Nanoseconds) -> list[StoredRehearsal]:
    return [
        row
        for row in open_rehearsals(reader)
        if row.status is RehearsalStatus.RUNNING and now - row.seen_at > SILENT_AFTER
    ]


def _known(change: Change, rehearsal_id: str) -> StoredRehearsal:
    row = change.get(REHEARSALS, rehearsal_id)
    if row is None:
        raise NotFound(NOT_FOUND)
    return row


def _put(change: Change, row: StoredRehearsal) -> StoredRehearsal:
    stored = replace(row, modify_index=change.index)
    change.put(REHEARSALS, stored)
    return stored


def _outlived(
    rows: Sequence[StoredRehearsal], now: Nanoseconds, keep: int, keep_for: Duration
) -> list[StoredRehearsal]:
    ended = [row for row in rows if row.has_ended]
    ended.sort(key=lambda row: row.asked_at)
    too_many = ended[: max(0, len(rows) + 1 - keep)]
    too_old = [row for row in ended if now - row.asked_at > keep_for]
    return list({row.id: row for row in (*too_many, *too_old)}.values())
