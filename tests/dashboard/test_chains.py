import pytest

from dashboard.chains import Chain, chain_of, member_of, members_of, outcome_words, tombstone_of
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import (
    Cause,
    CauseKind,
    EvalStatus,
    EvalTrigger,
    LifecycleStep,
    Step,
)
from tests.builders import SOME_MOMENT, make_evaluation

ROOT, BLOCKED, PREEMPTED, OTHER = (make_evaluation(number) for number in range(1, 5))
ROOT = ROOT.changed(blocked_eval=BLOCKED.id, status=EvalStatus.COMPLETE)
BLOCKED = BLOCKED.changed(previous_eval=ROOT.id, status=EvalStatus.BLOCKED)
PREEMPTED = PREEMPTED.changed(
    triggered_by=EvalTrigger.PREEMPTION, cause=Cause(kind=CauseKind.EVALUATION, id=ROOT.id)
)


def record(*evaluations):
    store = MemoryStateStore()

    def work(change):
        for evaluation in evaluations:
            put_found(change, evaluation)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
    return store


def test_links_and_causes_hold_a_chain_together_from_any_end():
    store = record(ROOT, BLOCKED, PREEMPTED, OTHER)
    expected = {ROOT.id: ROOT, BLOCKED.id: BLOCKED, PREEMPTED.id: PREEMPTED}
    for start in expected:
        assert chain_of(store, start) == Chain(expected, {})


@pytest.mark.parametrize(
    ("kind", "text", "named"),
    [
        pytest.param(CauseKind.DRAIN, "node rack 3 is draining", "rack 3", id="drain"),
        pytest.param(CauseKind.NODE, "node one is down", "one", id="loss"),
        pytest.param(CauseKind.NODE, "node one was purged", "one", id="purge"),
        pytest.param(CauseKind.NODE, "an operator asked for it", "0123abcd", id="no-name-told"),
    ],
)
def test_an_event_of_a_node_names_it(kind, text, named):
    cause = Cause(kind=kind, id="0123abcd-4567", text=text)
    lines = member_of(make_evaluation(9, cause=cause)).event_lines
    assert lines[:2] == (kind.value.capitalize(), named)


def test_members_come_oldest_first_from_any_end():
    chain = [ROOT.changed(create_time=3), BLOCKED.changed(create_time=1), PREEMPTED]
    store = record(*chain)
    wanted = sorted(chain, key=lambda item: (item.create_time, item.id))
    for start in chain:
        members = members_of(chain_of(store, start.id), {})
        assert [member.id for member in members] == [item.id for item in wanted]


def test_a_collected_root_stays_as_a_stub():
    store = record(ROOT, BLOCKED)
    store.write(
        WriteKind.COLLECTED, lambda change: change.delete_evaluation(ROOT.id), now=SOME_MOMENT
    )
    chain = chain_of(store, BLOCKED.id)
    assert (list(chain.evaluations), list(chain.stubs)) == ([BLOCKED.id], [ROOT.id])
    by_id = {member.id: member for member in members_of(chain, {})}
    assert by_id[ROOT.id].is_tombstone
    assert by_id[BLOCKED.id].previous_eval == ROOT.id


def test_an_unknown_evaluation_has_an_empty_chain():
    assert chain_of(record(), "nothing") == Chain({}, {})


def test_a_pending_evaluation_shows_its_newest_step_and_an_ended_one_its_status():
    step = LifecycleStep(eval_id=OTHER.id, number=3, step=Step.DEQUEUED, at=SOME_MOMENT)
    assert (member_of(OTHER, newest=step).state, member_of(OTHER, newest=step).is_quasi) == (
        "scheduling",
        True,
    )
    assert member_of(ROOT, newest=step).state == "complete"


def test_a_blocked_evaluation_says_for_what_it_waits_and_what_may_come():
    blocked = BLOCKED.changed(
        failed_task_groups={"web": AllocMetric(dimension_exhausted={"memory": 3})}
    )
    member = member_of(blocked)
    assert (member.outcome, member.expects) == ("memory", "when there is room")
    assert outcome_words(ROOT.changed(queued_allocations={"web": 2})) == "2 wait"


def test_a_reconnection_that_came_too_early_says_that_it_is_repaired():
    early = ROOT.changed(triggered_by=EvalTrigger.RECONNECT, status=EvalStatus.FAILED)
    assert member_of(early).outcome == "repaired next"
    assert member_of(early.changed(blocked_eval="")).outcome == ""


def test_a_tombstone_says_what_it_was():
    assert tombstone_of(ROOT).outcome == "collected, was complete"
