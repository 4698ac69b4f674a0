"""The rows N of control-plane.md 16.6 that are about what nodes report of their allocations."""

import pytest

from cluster.operations.allocations import NodeReport, report_from_client
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import (
    Allocation,
    AllocState,
    ClientStatus,
    DeploymentHealth,
)
from scheduler.structs.evaluation import EvalStatus, EvalTrigger
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import ReschedulePolicy
from tests.builders import (
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000
NODE, OTHER = make_node(1), make_node(2)
GROUP = make_task_group(reschedule_policy=ReschedulePolicy(unlimited=True))
JOB = make_job(task_groups=(GROUP,))
UNKNOWN = {
    "client_status": ClientStatus.UNKNOWN,
    "alloc_states": (AllocState(field=0, value="unknown", time=1),),
}


def store_with(*allocs, job=JOB, nodes=(NODE, OTHER), evaluations=()):
    store = MemoryStateStore()

    def work(change):
        change.put_job(job)
        for row in (*nodes, *evaluations, *allocs):
            put_found(change, row)

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)
    return store


def told(alloc, status, **fields):
    return Allocation(id=alloc.id, client_status=ClientStatus(status), **fields)


def report(store, *allocs, node_id=NODE.id):
    """The evaluations that a report made, or its refusal."""
    before = store.index
    given = NodeReport(node_id=node_id, allocations=allocs)
    _, (refusal,) = report_from_client(store, (given,), by=MANAGER, now=NOW, ids=CountingIDs())
    if refusal is not None:
        assert store.index == before
        return refusal
    return [row for row in store.evaluations() if row.create_index > before]


def running(number=0, **fields):
    return make_allocation(JOB, number, **({"client_status": ClientStatus.RUNNING} | fields))


def test_n17_a_failure_that_may_be_replaced_makes_an_evaluation_without_delay():
    alloc = running()
    (made,) = report(store_with(alloc), told(alloc, "failed"))
    assert (made.triggered_by, made.status, made.wait_until, made.node_id) == (
        EvalTrigger.ALLOC_FAILURE, EvalStatus.PENDING, 0, "",
    )  # fmt: skip


@pytest.mark.parametrize("status", ["running", "failed", "complete"])
def test_n18_an_unknown_allocation_that_is_told_of_makes_a_reconnect_evaluation(status):
    alloc = running(**UNKNOWN)
    (made,) = report(store_with(alloc), told(alloc, status))
    assert made.triggered_by == EvalTrigger.RECONNECT


def test_n19_reports_that_ask_for_nothing_make_no_evaluation():
    alloc = running()
    assert report(store_with(alloc), told(alloc, "running")) == []
    assert report(store_with(alloc), told(alloc, "complete")) == []
    assert report(store_with(), told(alloc, "failed")) == []
    of_gone_group = running(task_group="gone")
    assert report(store_with(of_gone_group), told(of_gone_group, "failed")) == []


@pytest.mark.parametrize("status", [NodeStatus.DOWN, NodeStatus.DISCONNECTED])
def test_n20_a_node_that_counts_as_gone_may_not_report(status):
    alloc = running()
    store = store_with(alloc, nodes=(make_node(1, status=status),))
    refusal = report(store, told(alloc, "complete"))
    assert refusal.status == 400
    assert status.value in str(refusal)


@pytest.mark.parametrize("node_id", ["", make_node(9).id])
def test_n20_nobody_reports_for_a_node_that_is_not_there(node_id):
    alloc = running()
    refusal = report(store_with(alloc), told(alloc, "complete"), node_id=node_id)
    assert (refusal.status, str(refusal)) == (404, f"node {node_id} not found")


def test_n20_a_report_has_no_place_for_evaluations():
    """The reference refuses them; here a report cannot carry any."""
    assert NodeReport.__struct_fields__ == (
        "node_id", "secret", "allocations", "asks_ready",
    )  # fmt: skip


def test_n21_two_failures_of_a_job_in_one_batch_make_one_evaluation():
    one, two = running(0), running(1)
    store = store_with(one, two)
    made = report(store, told(one, "failed"), told(two, "failed"))
    assert [row.triggered_by for row in made] == [EvalTrigger.ALLOC_FAILURE]
    failed = [store.allocation(alloc.id).client_status for alloc in (one, two)]
    assert failed == [ClientStatus.FAILED] * 2


def test_n22_a_shared_follow_up_is_canceled_when_the_last_of_its_allocations_is_back():
    follow_up = make_evaluation(7, wait_until=NOW + 1)
    one, two = (running(number, **UNKNOWN, followup_eval_id=follow_up.id) for number in (0, 1))
    store = store_with(one, two, evaluations=(follow_up,))

    report(store, told(one, "running"))
    assert store.evaluation(follow_up.id).status is EvalStatus.PENDING
    report(store, told(two, "running"))

    after = store.evaluation(follow_up.id)
    assert (after.status, after.status_description) == (EvalStatus.CANCELED, "allocs reconnected")
    assert [store.allocation(alloc.id).followup_eval_id for alloc in (one, two)] == ["", ""]


def test_n23_a_node_cannot_make_a_canary_of_an_allocation_or_unmake_it():
    alloc = running(deployment_status=DeploymentHealth(canary=True))
    store = store_with(alloc)
    report(
        store,
        told(alloc, "running", deployment_status=DeploymentHealth(healthy=True, canary=False)),
    )
    after = store.allocation(alloc.id).deployment_status
    assert (after.healthy, after.canary) == (True, True)


def test_n24_a_batch_for_two_nodes_moves_the_marker_of_both():
    one, two = running(0), running(1, node_id=OTHER.id)
    store = store_with(one, two)
    reports = tuple(
        NodeReport(node_id=node.id, allocations=(told(alloc, "complete"),))
        for node, alloc in ((NODE, one), (OTHER, two))
    )
    index, refusals = report_from_client(store, reports, by=MANAGER, now=NOW, ids=CountingIDs())
    assert refusals == (None, None)
    markers = [store.node(node.id).last_alloc_update_index for node in (NODE, OTHER)]
    assert markers == [index, index]
