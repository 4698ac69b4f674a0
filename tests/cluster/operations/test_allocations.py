"""Allocations: reports of nodes, stops, marks of the drainer."""

import pytest

from cluster.operations.allocations import (
    NodeReport,
    mark_draining,
    report_from_client,
    stop_allocation,
)
from cluster.operations.errors import NotFound
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredTransition
from scheduler.structs.evaluation import Cause, CauseKind
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import ReschedulePolicy
from tests.builders import CountingIDs, make_allocation, make_job, make_node, make_task_group
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def store():
    """Two nodes, one job that is rescheduled, an allocation of it on each node."""
    store = MemoryStateStore()
    job = make_job(
        task_groups=(make_task_group(reschedule_policy=ReschedulePolicy(unlimited=True)),)
    )

    def work(change):
        change.put_job(job)
        for number in (1, 2):
            change.put_node(make_node(number))
            change.put_allocation(make_allocation(job, number - 1, node_id=make_node(number).id))

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)
    return store


FIRST, SECOND = make_allocation().id, make_allocation(number=1).id


def report(node_number, alloc_id, status=ClientStatus.RUNNING):
    return NodeReport(
        node_id=make_node(node_number).id,
        allocations=(Allocation(id=alloc_id, client_status=status),),
    )


def refusals(store, ids, *reports):
    _, answers = report_from_client(store, reports, by=MANAGER, now=NOW, ids=ids)
    return [None if answer is None else (answer.status, str(answer)) for answer in answers]


def test_reports_of_several_nodes_are_one_write(store, ids):
    before = store.index
    assert refusals(store, ids, report(1, FIRST), report(2, SECOND)) == [None, None]
    statuses = [store.allocation(each).client_status for each in (FIRST, SECOND)]
    assert (store.index, statuses) == (before + 1, ["running", "running"])


def test_two_failures_of_a_job_make_one_evaluation(store, ids):
    failed = ClientStatus.FAILED
    assert refusals(store, ids, report(1, FIRST, failed), report(2, SECOND, failed)) == [None] * 2
    made = store.evaluations_by_job(make_job().key)
    assert [(each.triggered_by, each.status) for each in made] == [("alloc-failure", "pending")]


def test_a_refused_report_leaves_the_others_alone(store, ids):
    foreign = report(2, FIRST, ClientStatus.FAILED)
    answers = refusals(store, ids, report(1, FIRST), foreign)
    assert answers == [None, (403, f"allocation {FIRST} is not on node {make_node(2).id}")]
    assert store.allocation(FIRST).client_status is ClientStatus.RUNNING


def test_a_node_that_is_down_may_not_report(store, ids):
    down = make_node(status=NodeStatus.DOWN)
    store.write(WriteKind.NODE_REGISTRATION, lambda change: change.put_node(down), now=NOW)
    text = f"node {down.id} is not allowed to update allocs while in status down"
    assert refusals(store, ids, report(1, FIRST)) == [(400, text)]


def test_lost_is_not_a_nodes_to_say(store, ids):
    answers = refusals(store, ids, report(1, FIRST, ClientStatus.LOST))
    assert answers == [(400, 'a node does not report "lost"')]


def test_stopping_marks_the_allocation_and_evaluates_its_job(store, ids):
    stopped = stop_allocation(store, FIRST, by=MANAGER, now=NOW, ids=ids, no_shutdown_delay=True)
    evaluation = store.evaluation(stopped.eval_id)
    assert store.allocation(FIRST).desired_transition == DesiredTransition(
        migrate=True, no_shutdown_delay=True, reschedule=False
    )
    assert (evaluation.triggered_by, evaluation.create_index) == ("alloc-stop", stopped.index)
    assert evaluation.cause.kind is CauseKind.OPERATOR


def test_an_unknown_allocation_cannot_be_stopped(store, ids):
    with pytest.raises(NotFound, match="allocation not found"):
        stop_allocation(store, "nobody", by=MANAGER, now=NOW, ids=ids)


def test_a_drain_marks_allocations_with_one_evaluation_per_job(store, ids):
    leave = DesiredTransition(migrate=True)
    mark_draining(
        store, {FIRST: leave, SECOND: leave, "gone": leave}, by=MANAGER, now=NOW, ids=ids
    )
    made = store.evaluations_by_job(make_job().key)
    assert [(each.triggered_by, each.node_id) for each in made] == [("node-drain", "")]
    assert made[0].cause == Cause(
        kind=CauseKind.DRAIN, id=make_node().id, text="node node-1 is draining"
    )
    assert store.allocation(SECOND).desired_transition == leave
