"""The overview, counted on change by change: the same as one read afresh."""

import pytest
from msgspec.structs import replace

from dashboard.graphs import machine
from dashboard.hinted_steps import HINTS_HOLD
from dashboard.overview import WINDOW, Overview
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SECOND, SOME_MOMENT, make_evaluation, make_node
from tests.process_store import store

__all__ = ["store"]

EVAL = make_evaluation(create_index=0)
NAMES = (Step.CREATED, Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED)


def step(number, name):
    at = SOME_MOMENT + number
    return LifecycleStep(eval_id=EVAL.id, number=number, step=name, at=at)


@pytest.fixture
def live(store):
    """An overview of the empty record, and a way to change the record before its eyes."""
    overview = Overview(None)
    store.read(overview.load)

    def write(work):
        index, _ = store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
        for frame in store.frames_since(index - 1, 10):
            for event in frame.events:
                overview.take(event, frame.index)
        return index

    return overview, write


def afresh(store):
    overview = Overview(None)
    store.read(overview.load)
    return overview


def put(value):
    def work(change):
        put_found(change, value.changed(create_index=change.index) if value is EVAL else value)

    return work


def test_a_life_is_followed_from_state_to_state(store, live):
    overview, write = live
    write(put(EVAL))
    seen = []
    for number, name in enumerate(NAMES, 1):
        write(
            lambda change, number=number, name=name: change.put(
                LIFECYCLE_STEPS, step(number, name)
            )
        )
        seen.append([state for state, count in overview.counts().items() if count])
    assert seen == [["pending"], ["pending"], ["scheduling"], ["applying"], ["scheduling"]]
    write(put(EVAL.changed(status=EvalStatus.COMPLETE)))
    assert overview.counts() == afresh(store).counts()
    assert overview.flows(SOME_MOMENT) == afresh(store).flows(SOME_MOMENT)


def test_a_hint_moves_once_and_its_record_not_again(live):
    overview, write = live
    write(put(EVAL))
    for number, name in enumerate(NAMES[:3], 1):
        assert overview.take_step(step(number, name)) == (name is not Step.ENQUEUED)

    def work(change):
        for number, name in enumerate(NAMES[:3], 1):
            change.put(LIFECYCLE_STEPS, step(number, name))

    write(work)
    assert overview.flows(SOME_MOMENT) == {"event-pending": 1, "pending-scheduling": 1}


@pytest.mark.parametrize(
    ("trigger", "names", "moves"),
    [
        pytest.param(
            "alloc-reschedule",
            (Step.CREATED, Step.DELAYED, Step.ENQUEUED, Step.DEQUEUED),
            {"scheduling-pending-follow-up": 1, "pending-delayed": 1, "delayed-pending": 1,
             "pending-scheduling": 1},
            id="waits-for-its-time",
        ),
        pytest.param(
            "deployment-watcher",
            (Step.CREATED, Step.ENQUEUED, Step.DEQUEUED),
            {"complete-pending-deployment-watcher": 1, "pending-scheduling": 1},
            id="made-by-the-deployment-watcher",
        ),
        pytest.param(
            "queued-allocs",
            (Step.CREATED, Step.BLOCKED, Step.UNBLOCKED, Step.ENQUEUED, Step.DEQUEUED),
            {"scheduling-blocked-queued-allocs": 1, "blocked-scheduling": 1},
            id="made-blocked",
        ),
    ],
)  # fmt: skip
def test_every_move_is_counted_on_an_arrow_that_is_drawn(store, live, trigger, names, moves):
    overview, write = live
    write(put(EVAL.changed(triggered_by=trigger)))

    def work(change):
        for number, name in enumerate(names, 1):
            reason = trigger if name is Step.CREATED else ""
            change.put(LIFECYCLE_STEPS, replace(step(number, name), reason=reason))

    write(work)
    assert overview.flows(SOME_MOMENT) == afresh(store).flows(SOME_MOMENT) == moves
    assert set(moves) <= {arrow.key for arrow in machine.ARROWS}


def test_moves_leave_the_window(live):
    overview, write = live
    write(put(EVAL))
    overview.take_step(step(1, Step.CREATED))
    assert overview.flows(SOME_MOMENT + WINDOW + SECOND) == {}


def test_other_namespaces_do_not_count(store):
    store.write(WriteKind.PLAN_RESULT, put(EVAL), now=SOME_MOMENT)
    elsewhere = Overview(frozenset({"team"}))
    store.read(elsewhere.load)
    assert sum(elsewhere.counts().values()) == 0
    assert elsewhere.waiting() == []


def test_collected_ones_count_as_deleted(store, live):
    overview, write = live
    write(put(EVAL.changed(status=EvalStatus.COMPLETE)))
    store.read(overview.load)
    write(lambda change: change.delete_evaluation(EVAL.id))
    assert {state: count for state, count in overview.counts().items() if count} == {"deleted": 1}


@pytest.mark.parametrize("opened_late", [False, True])
def test_one_that_was_canceled_on_its_way_to_a_worker_counts_as_what_it_became(
    store, live, opened_late
):
    """Its job was placed by another run; what the worker made of it stands."""
    overview, write = live
    write(put(EVAL))
    for status in (EvalStatus.CANCELED, EvalStatus.COMPLETE):
        if opened_late:
            store.read(overview.load)
        assert not overview.misses_something
        write(lambda change, status=status: put_found(change, EVAL.changed(status=status)))
    # Whoever came after it was canceled does not know what it was counted as.
    assert overview.misses_something is opened_late
    store.read(overview.read_missing)
    assert overview.counts() == afresh(store).counts()
    assert overview.counts()["complete"] == 1
    assert not overview.misses_something


def test_one_that_ends_and_is_collected_by_one_write_was_counted_as_it_stood(store, live):
    overview, write = live
    write(put(EVAL))

    def work(change):
        put_found(change, EVAL.changed(status=EvalStatus.COMPLETE))
        change.delete_evaluation(EVAL.id)

    write(work)
    assert overview.counts() == afresh(store).counts()


@pytest.mark.parametrize(
    "status", [EvalStatus.PENDING, EvalStatus.BLOCKED], ids=["pending", "blocked"]
)
def test_a_hint_that_the_record_never_confirms_is_not_believed_for_ever(store, live, status):
    """The leader that gave it died; the next one numbers its own steps from the record."""
    overview, write = live
    write(lambda change: put_found(change, EVAL.changed(status=status, create_index=change.index)))
    write(lambda change: change.put(LIFECYCLE_STEPS, step(1, Step.CREATED)))
    for number, name in enumerate((Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.COMPLETE), 2):
        overview.take_hint(step(number, name))
    assert overview.counts()["complete"] == 1
    write(lambda change: change.put(LIFECYCLE_STEPS, step(2, Step.DEQUEUED)))
    overview.hints.doubt(SOME_MOMENT + HINTS_HOLD)
    assert not overview.misses_something
    overview.hints.doubt(SOME_MOMENT + HINTS_HOLD + SECOND)
    assert overview.misses_something
    store.read(overview.read_missing)
    assert overview.counts() == afresh(store).counts()
    write(lambda change: change.put(LIFECYCLE_STEPS, step(3, Step.PLAN_SUBMITTED)))
    assert overview.counts()["applying"] == 1


def test_a_hint_that_the_record_confirms_is_not_read_again(live):
    overview, write = live
    write(put(EVAL))
    overview.take_hint(step(1, Step.CREATED))
    write(lambda change: change.put(LIFECYCLE_STEPS, step(1, Step.CREATED)))
    overview.hints.doubt(SOME_MOMENT + 2 * HINTS_HOLD)
    assert not overview.misses_something


def test_a_quiet_cluster_says_so(live):
    overview, write = live
    assert overview.sentence(SOME_MOMENT)[0] == "No node has joined yet."
    write(put(make_node()))
    assert overview.sentence(SOME_MOMENT)[0] == "The cluster is empty."


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        pytest.param(60 * SECOND, "waits until ", id="known"),
        pytest.param(0, "a job was registered or changed", id="none"),
    ],
)
def test_the_waiting_room_says_until_when_where_that_is_known(live, wait, told):
    overview, write = live
    until = SOME_MOMENT + wait if wait else 0
    write(lambda change: put_found(change, EVAL.changed(wait_until=until)))
    (waiting,) = overview.waiting()
    assert waiting.strong.startswith(told)
    assert waiting.at == (until or EVAL.create_time)


def test_those_that_wait_alike_stand_in_one_line(live):
    """From three on, at the place of the first; all of them are named in it."""
    overview, write = live
    rows = [make_evaluation(number, job_id=f"job-{number}", priority=50) for number in range(1, 6)]
    alike, other = rows[:4], rows[4].changed(priority=70)

    def work(change):
        for row in (*alike, other):
            put_found(change, row)

    write(work)
    lines = {len(line.together): line for line in overview.waiting()}
    assert {*lines} == {1, 4}
    assert {each.evaluation.id for each in lines[4].together} == {row.id for row in alike}
    assert lines[1].evaluation.id == other.id
    write(lambda change: put_found(change, alike[0].changed(status=EvalStatus.COMPLETE)))
    write(lambda change: put_found(change, alike[1].changed(status=EvalStatus.COMPLETE)))
    assert [len(line.together) for line in overview.waiting()] == [1, 1, 1]
