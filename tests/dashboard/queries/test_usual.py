"""What stands beside the figures of *Now*: counted exactly, compared only with hours known."""

import pytest

from cluster.store.changed_lately import Ran
from cluster.store.past_nodes import NodeThen
from cluster.store.ports import NodeFace
from dashboard.queries.usual import (
    DAY,
    HOUR,
    MINUTE,
    MINUTES,
    SECOND,
    points,
    ran_at,
    ready_at,
    swing,
    usual,
)
from dashboard.wording import NONE, clock_time
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.allocation import ClientStatus, TaskState
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.node import NodeEvent
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job
from tests.process_store import store

__all__ = ["store"]

MS = 1_000_000
NOW = SOME_MOMENT + 30 * DAY


def asked(store, namespaces=None, running=0, nodes=()):
    return store.read(lambda reader: usual(reader, namespaces, NOW, running, nodes))


@pytest.fixture
def told(store):
    """What is told when evaluations ended so long ago and took so long."""

    def told(*ended, namespaces=None, status=EvalStatus.COMPLETE):
        def work(change):
            for place, (ago, took) in enumerate(ended):
                at = NOW - ago
                put_found(change, make_evaluation(
                    place, status=status, create_time=at - took, modify_time=at,
                ))  # fmt: skip

        if ended:
            store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
        return asked(store, namespaces)

    return told


def test_without_any_there_is_nothing_to_compare(told):
    found = told()
    assert found.ended.told == "none in the last hour"
    assert (found.made.value, found.made.told) == (NONE, "none ended in the last hour")
    assert (found.plans.value, found.plans.told) == (NONE, "no plan of the newest 100 evaluations")


def test_a_figure_has_the_last_ten_minutes_and_words_of_the_hour(told):
    lately = [(minute * MINUTE + SECOND, 2 * SECOND) for minute in (1, 1, 3)]
    earlier = [(30 * MINUTE, 4 * SECOND)]
    outside = [(HOUR + SECOND, 9 * SECOND)]
    found = told(*lately, *earlier, *outside)
    assert len(found.ended.line.split()) == MINUTES
    heights = [int(point.split(",")[1]) for point in found.ended.line.split()]
    assert [place for place, height in enumerate(heights) if height < 22] == [6, 8]
    assert min(heights) == heights[8]
    assert found.ended.told == f"most 2 at {clock_time(NOW - 2 * MINUTE)[:5]}"
    assert found.made.value == "2.0 s"
    assert found.made.told == "last hour 4.0 s, worst 4.0 s"


def test_what_ended_at_this_hour_on_earlier_days_is_its_measure(told):
    days = [(day * DAY + SECOND * n, SECOND) for day in (1, 2) for n in range(1, 121)]
    found = told(*days, (3 * DAY + SECOND, SECOND), (DAY + 2 * HOUR, SECOND))
    assert found.ended.told == "usual 2"
    assert found.made.value == NONE


def test_what_waits_has_not_ended(told):
    assert told((MINUTE, SECOND), status=EvalStatus.BLOCKED).made.value == NONE


def test_hidden_namespaces_do_not_count(told):
    found = told((MINUTE, SECOND), namespaces=frozenset({"team"}))
    assert (found.ended.told, found.made.value) == ("none in the last hour", NONE)


def test_plans_are_told_by_how_long_they_took_and_how_many_were_refused_in_part(store):
    def work(change):
        for place, millis in enumerate((4, 6, 90)):
            namespace = "team" if place == 2 else "default"
            made = make_evaluation(place, namespace=namespace)
            put_found(change, made)
            for number, step, took, nodes in (
                (1, Step.PLAN_SUBMITTED, 5_000 * MS, []),
                (2, Step.PLAN_ANSWERED, millis * MS, ["node-1"] if place else []),
            ):
                change.put(LIFECYCLE_STEPS, LifecycleStep(
                    eval_id=made.id, number=number, step=step, at=NOW,
                    duration_ns=took, nodes=nodes, index=change.index,
                ))  # fmt: skip

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)

    def told(namespaces):
        plans = asked(store, namespaces).plans
        return plans.value, plans.told, len(plans.line.split())

    assert told(None) == ("90 ms", "2 of 3 plans refused in part", 3)
    assert told(frozenset({"default"})) == ("6 ms", "1 of 2 plans refused in part", 2)
    assert told(frozenset({"nobody"})) == (NONE, "no plan of the newest 100 evaluations", 0)


def test_the_line_of_what_runs_is_made_from_when_tasks_ran(store):
    started, ended = NOW - 5 * MINUTE + SECOND, NOW - 2 * MINUTE + SECOND
    job = make_job()

    states = {
        number: TaskState(state="dead", started_at=started, finished_at=until)
        for number, until in ((1, 0), (2, ended))
    }
    statuses = {1: ClientStatus.RUNNING, 2: ClientStatus.FAILED}

    def place(change):
        for number in states:
            change.put_allocation(make_allocation(job, number))

    def report(change):
        for number, state in states.items():
            put_found(change, make_allocation(
                job, number, client_status=statuses[number], task_states={"web": state},
                modify_time=NOW,
            ))  # fmt: skip

    store.write(WriteKind.PLAN_RESULT, place, now=NOW)
    store.write(WriteKind.ALLOCATION_UPDATED, report, now=NOW)
    # One more runs that did not change in that time.
    line = asked(store, running=2).running.line
    heights = [int(point.split(",")[1]) for point in line.split()]
    assert heights == [22] * 6 + [2] * 3 + [12] * 2
    assert asked(store, frozenset({"team"}), running=2).running.line == swing([2] * 11)


def test_what_runs_now_and_began_or_ended_since_is_counted_back():
    instants = [0, 10, 20, 30]
    runs = [Ran(5, 0), Ran(5, 15), Ran(25, 0)]
    assert ran_at(instants, 3, runs) == [1, 3, 2, 3]


def test_a_node_that_was_lost_or_closed_did_not_take_work():
    def line(message, at, index):
        return NodeEvent(message=message, timestamp=at * SECOND, create_index=index)

    def face(key, **how):
        known = {"status": "ready", "eligibility": "eligible", "is_draining": False, **how}
        return NodeFace(id=key, name=key, **known)

    joined = line("Node registered", 1, 1)
    nodes = [
        face("same"),
        face("back"),
        face("closed", eligibility="ineligible"),
        face("young"),
    ]
    changed = {
        "back": NodeThen(1, 30 * SECOND, (
            joined, line("Node heartbeat missed", 20, 5),
            line("Node reregistered by heartbeat", 30, 7),
        )),
        "closed": NodeThen(1, SECOND, (
            joined, line("Node marked as ineligible for scheduling", 20, 6),
        )),
        "young": NodeThen(6, 25 * SECOND, (line("Node registered", 25, 6),)),
    }  # fmt: skip
    instants = [at * SECOND for at in (10, 22, 28, 40)]
    assert ready_at(instants, nodes, changed) == [3, 1, 2, 3]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([0, 0, 0], "0,22 40,22 80,22", id="nothing"),
        pytest.param([0, 5, 10], "0,22 40,12 80,2", id="up"),
        pytest.param([], "", id="none"),
    ],
)
def test_a_line_goes_from_the_first_to_the_last_and_its_top_is_the_largest(values, line):
    assert points(values) == line


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([60, 60, 60], "0,12 40,12 80,12", id="level"),
        pytest.param([60, 55, 60], "0,2 40,22 80,2", id="a-dip"),
        pytest.param([], "", id="none"),
    ],
)
def test_of_what_hardly_changes_the_change_is_drawn(values, line):
    assert swing(values) == line
