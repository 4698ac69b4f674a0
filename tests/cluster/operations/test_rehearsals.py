"""Rehearsals in the record: asked for, begun, told of, ended, canceled, forgotten."""

import pytest
from msgspec.structs import replace

from cluster.operations.errors import Conflict, NotAllowed, NotFound
from cluster.operations.rehearsals import (
    MOST_WAITING,
    SILENT_AFTER,
    TooManyRehearsals,
    ask_rehearsal,
    begin_rehearsal,
    cancel_rehearsal,
    end_rehearsal,
    fail_silent_rehearsals,
    note_rehearsal,
    open_rehearsals,
)
from scheduler.access.caller import CLUSTER
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus
from tests.builders import CountingIDs
from tests.callers import MANAGER, caller_with

NOW = 1_750_000_000_000_000_000
READER = caller_with('node { policy = "read" }')
DAY = 86_400_000_000_000


class Asking:
    """A record, and rehearsals asked of it."""

    def __init__(self):
        self.store, self.ids = MemoryStateStore(), CountingIDs()

    def ask(self, *, by=READER, now=NOW, keep=5):
        return ask_rehearsal(
            self.store, "{}", by=by, now=now, ids=self.ids, keep=keep, keep_for=DAY
        )

    def begin(self, row, now=NOW):
        return begin_rehearsal(self.store, row.id, "web-1", by=CLUSTER, now=now)

    def end(self, row, now=NOW, **fields):
        ended = replace(row, **{"status": RehearsalStatus.COMPLETE, **fields})
        return end_rehearsal(self.store, ended, by=CLUSTER, now=now)

    def kept(self):
        return {row.id: row.status for row in self.store.list_all(REHEARSALS)}


@pytest.fixture
def asking():
    return Asking()


def test_one_is_asked_for_begun_told_of_and_ended(asking):
    asked = asking.ask()
    assert (asked.by_id, asked.status) == ("somebody", RehearsalStatus.WAITING)
    begun = asking.begin(asked, NOW + 1)
    assert (begun.status, begun.process, begun.begun_at) == (
        RehearsalStatus.RUNNING,
        "web-1",
        NOW + 1,
    )
    note_rehearsal(asking.store, replace(begun, evaluations=7), by=CLUSTER, now=NOW + 2)
    told = asking.store.get(REHEARSALS, asked.id)
    assert (told.evaluations, told.seen_at) == (7, NOW + 2)
    ended = asking.end(begun, NOW + 3, packed=b"found")
    assert asking.store.get(REHEARSALS, asked.id) == ended
    assert (ended.ended_at, ended.packed, ended.by_id) == (NOW + 3, b"found", "somebody")
    # Whoever comes late changes nothing.
    assert asking.end(begun, status=RehearsalStatus.FAILED, reason="late") == ended


def test_one_is_begun_once(asking):
    asked = asking.ask()
    asking.begin(asked)
    with pytest.raises(Conflict, match="running"):
        asking.begin(asked)


def test_a_canceled_one_may_not_go_on(asking):
    begun = asking.begin(asking.ask())
    cancel_rehearsal(asking.store, begun.id, by=READER, now=NOW)
    with pytest.raises(Conflict, match="canceled by somebody"):
        note_rehearsal(asking.store, begun, by=CLUSTER, now=NOW)
    assert asking.end(begun).status is RehearsalStatus.CANCELED


def test_only_its_own_and_managers_cancel(asking):
    asked = asking.ask(by=MANAGER)
    with pytest.raises(NotAllowed):
        cancel_rehearsal(asking.store, asked.id, by=READER, now=NOW)
    own = asking.ask()
    cancel_rehearsal(asking.store, own.id, by=MANAGER, now=NOW)
    cancel_rehearsal(asking.store, own.id, by=READER, now=NOW)
    assert asking.kept() == {asked.id: RehearsalStatus.WAITING}
    with pytest.raises(NotFound):
        cancel_rehearsal(asking.store, own.id, by=READER, now=NOW)


def test_so_many_may_wait(asking):
    for _ in range(MOST_WAITING):
        asking.ask(keep=100)
    with pytest.raises(TooManyRehearsals, match="10 rehearsals wait"):
        asking.ask()


def test_a_bounded_number_of_ended_ones_is_kept_for_a_bounded_time(asking):
    first, second, third = (asking.end(asking.ask(now=NOW + number)) for number in range(3))
    fourth = asking.ask(keep=3, now=NOW + 3)
    assert sorted(asking.kept()) == [second.id, third.id, fourth.id]
    fifth = asking.ask(keep=100, now=NOW + DAY + 2)
    assert sorted(asking.kept()) == [third.id, fourth.id, fifth.id]
    assert first.id not in asking.kept()


def test_one_whose_process_is_silent_has_failed(asking):
    begun = asking.begin(asking.ask())
    later = NOW + SILENT_AFTER
    assert fail_silent_rehearsals(asking.store, by=CLUSTER, now=later) == ()
    (failed,) = fail_silent_rehearsals(asking.store, by=CLUSTER, now=later + 1)
    assert (failed.id, failed.status) == (begun.id, RehearsalStatus.FAILED)
    assert "web-1" in failed.reason
    assert open_rehearsals(asking.store) == []
