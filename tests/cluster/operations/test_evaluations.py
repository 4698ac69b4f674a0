"""Deleting evaluations by hand, in a database; the number is a row of evaluations.md 17."""

import pytest

from cluster.operations import evaluations
from cluster.operations.errors import OperationRefused
from cluster.operations.evaluations import (
    MOST_IDS,
    EvaluationsDeleted,
    delete_evaluations,
    delete_where_possible,
)
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job
from tests.callers import MANAGER

IDS = [make_evaluation(number).id for number in range(1, 6)]
#: Of the third something runs.
HELD = IDS[2]
SAFE = [eval_id for eval_id in IDS if eval_id != HELD]
BY_HAND = [delete_evaluations, delete_where_possible]


def pause(store, *, paused):
    settings = SchedulerSettings(pause_eval_broker=paused)
    store.write(
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        lambda change: change.put(SCHEDULER_SETTINGS, settings),
        now=SOME_MOMENT,
    )


@pytest.fixture
def store(sqlite_store):
    """Five evaluations of a job that lives, and a broker that is paused."""

    def fill(change):
        change.put_job(make_job(status="running"))
        for number in range(1, 6):
            put_found(change, make_evaluation(number, status=EvalStatus.COMPLETE))
        running = make_allocation(eval_id=HELD, client_status=ClientStatus.RUNNING)
        put_found(change, running)

    sqlite_store.write(WriteKind.JOB_REGISTERED, fill, now=SOME_MOMENT)
    pause(sqlite_store, paused=True)
    return sqlite_store


def left(store):
    return store.read(lambda reader: [each.id for each in reader.evaluations()])


@pytest.mark.parametrize("delete", BY_HAND)
def test_121_while_the_broker_delivers_nothing_is_deleted(store, delete):
    pause(store, paused=False)
    before = store.index
    with pytest.raises(OperationRefused, match="eval broker must be paused to delete evals"):
        delete(store, SAFE, by=MANAGER, now=SOME_MOMENT)
    assert (left(store), store.index) == (IDS, before)


def test_121_those_that_are_named_go_together(store):
    deleted = delete_evaluations(store, [*SAFE, SAFE[0]], by=MANAGER, now=SOME_MOMENT)
    assert deleted == EvaluationsDeleted(count=4, index=store.index)
    assert left(store) == [HELD]
    (frame,) = store.frames_since(store.index - 1)
    assert [event.key for event in frame.events if event.deleted] == SAFE


@pytest.mark.parametrize(
    ("named", "text"),
    [
        pytest.param(IDS, f"eval {HELD} is not safe to delete", id="121-one-has-work"),
        pytest.param([*SAFE, "unknown"], "eval not found", id="unknown"),
        pytest.param(["x"] * (MOST_IDS + 1), "7282 evals are too many", id="too-many"),
    ],
)
def test_one_that_must_stay_keeps_all_that_were_named(store, named, text):
    before = store.index
    with pytest.raises(OperationRefused, match=text):
        delete_evaluations(store, named, by=MANAGER, now=SOME_MOMENT)
    assert (left(store), store.index) == (IDS, before)


def test_121_of_those_that_were_found_the_ones_with_work_stay(store, monkeypatch):
    monkeypatch.setattr(evaluations, "PAGE", 2)
    before = store.index
    deleted = delete_where_possible(store, [*IDS, "gone meanwhile"], by=MANAGER, now=SOME_MOMENT)
    assert deleted == EvaluationsDeleted(count=4, index=before + 3)
    assert (left(store), store.index) == ([HELD], before + 3)


def test_where_nothing_may_go_nothing_is_written(store):
    before = store.index
    assert (
        delete_where_possible(store, [HELD], by=MANAGER, now=SOME_MOMENT) == EvaluationsDeleted()
    )
    assert store.index == before
