"""Committing plans (evaluations.md 106-109; control-plane.md J25)."""

import pytest

from scheduler.errors import PlanRefused
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.jobs import stop_job, write_job
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.allocation import (
    AllocState,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    TaskState,
)
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    DeploymentStatusUpdate,
    GroupRollout,
)
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeEligibility
from scheduler.structs.plan import Plan, PlanResult
from tests.builders import make_allocation, make_evaluation, make_job, make_node

KEY = JobKey("default", "web")
NODE = make_node().id
KIND = WriteKind.PLAN_RESULT
PLAN = Plan(id="p", eval_id=make_evaluation().id, namespace="default", job_id="web", job_version=0)


@pytest.fixture
def store():
    """A record with a job `web`, its evaluation, and a node."""
    fresh = MemoryStateStore()

    def begin(change):
        write_job(change, make_job())
        write_evaluations(change, [make_evaluation()])
        put_found(change, make_node())

    fresh.write(WriteKind.JOB_REGISTERED, begin, now=1)
    return fresh


def commit(store, result, *, plan=PLAN, evaluations=(), now=100):
    return store.write(
        KIND, lambda change: commit_plan(change, plan, result, evaluations), now=now
    )


def placed(store, number=0, **fields):
    return make_allocation(store.job(KEY), number, **fields)


def placing(*allocs):
    return PlanResult(node_allocation={NODE: allocs})


def test_a_placement_is_stored_with_the_index_and_the_instant_of_the_commit(store):
    alloc = placed(store, deployment_status=DeploymentHealth(canary=True), create_time=0)
    index, result = commit(store, placing(alloc))
    assert store.allocation(alloc.id) == alloc.changed(
        create_index=index,
        modify_index=index,
        alloc_modify_index=index,
        create_time=100,
        modify_time=100,
        deployment_status=DeploymentHealth(canary=True, modify_index=index),
    )
    assert (result.alloc_index, result.refresh_index) == (index, 0)
    assert store.evaluation(PLAN.eval_id).modify_index == index
    assert store.evaluation(PLAN.eval_id).modify_time == make_evaluation().modify_time
    assert store.job(KEY).status == "running"


def test_a_partial_commit_asks_for_its_own_index(store):
    index, result = commit(
        store, PlanResult(node_allocation={NODE: (placed(store),)}, refresh_index=2)
    )
    assert result.refresh_index == index


def test_106_a_stop_and_an_eviction_keep_what_the_record_knows(store):
    commit(store, placing(placed(store, 0), placed(store, 1)))
    states = {"web": TaskState(state="running")}

    def run(change):
        for number in (0, 1):
            alloc = change.allocation(placed(store, number).id)
            put_found(
                change,
                alloc.changed(
                    client_status=ClientStatus.RUNNING,
                    task_states=states,
                    alloc_states=(AllocState(value="unknown", time=1),),
                ),
            )

    store.write(WriteKind.ALLOCATION_UPDATED, run, now=101)
    lost = placed(
        store,
        0,
        desired_status=DesiredStatus.STOP,
        desired_description="alloc is lost since its node is down",
        client_status=ClientStatus.LOST,
        alloc_states=(AllocState(value="lost", time=5),),
    )
    evicted = placed(store, 1, preempted_by_allocation="winner")
    index, _ = commit(
        store, PlanResult(node_update={NODE: (lost,)}, node_preemptions={NODE: (evicted,)})
    )
    stored = [store.allocation(alloc.id) for alloc in (lost, evicted)]
    assert [
        (alloc.desired_status, alloc.client_status, alloc.desired_description) for alloc in stored
    ] == [
        (DesiredStatus.STOP, ClientStatus.LOST, "alloc is lost since its node is down"),
        (DesiredStatus.EVICT, ClientStatus.RUNNING, "Preempted by alloc ID winner"),
    ]
    assert [alloc.task_states for alloc in stored] == [states, states]
    assert [state.value for state in stored[0].alloc_states] == ["unknown", "lost"]
    assert [alloc.job_version for alloc in stored] == [0, 0]
    assert store.evaluation(PLAN.eval_id).modify_index == index


def test_107_evaluations_of_preempted_jobs_keep_those_jobs_pending(store):
    victim = make_job(id="victim")
    evaluation = make_evaluation(2, job_id="victim", triggered_by="preemption")

    def begin(change):
        stored = write_job(change, victim)
        put_found(change, make_allocation(stored, 7))

    store.write(WriteKind.JOB_REGISTERED, begin, now=2)
    loser = store.allocation(make_allocation(victim, 7).id).changed(
        preempted_by_allocation="winner"
    )
    index, _ = commit(
        store,
        PlanResult(node_allocation={NODE: (placed(store),)}, node_preemptions={NODE: (loser,)}),
        evaluations=[evaluation],
    )
    stored = store.evaluation(evaluation.id)
    assert (stored.create_index, stored.previous_eval, stored.next_eval) == (index, "", "")
    assert store.job(JobKey("default", "victim")).status == "pending"


REFUSALS = [
    pytest.param({"job_version": None}, "plan missing embedded job", id="108-job-absent"),
    pytest.param(
        {"namespace": "gone"}, 'namespace "gone" not found for job "web"', id="namespace-absent"
    ),
    pytest.param({"eval_id": "gone"}, 'unable to find eval id "gone"', id="evaluation-absent"),
]


@pytest.mark.parametrize(("fields", "text"), REFUSALS)
def test_a_plan_that_may_not_be_committed_leaves_nothing(store, fields, text):
    plan = Plan(**{name: getattr(PLAN, name) for name in PLAN.__struct_fields__} | fields)
    before = store.index
    with pytest.raises(PlanRefused, match=text):
        commit(store, placing(placed(store)), plan=plan)
    assert store.index == before


def test_109_a_placement_for_a_job_stopped_meanwhile_is_left_out(store):
    alloc = placed(store)
    store.write(WriteKind.JOB_DEREGISTERED, lambda change: stop_job(change, KEY), now=5)
    _, result = commit(store, placing(alloc))
    assert store.allocation(alloc.id) is None
    assert result.node_allocation == {NODE: (alloc,)}


def test_j25_of_a_stopped_job_an_allocation_is_updated_and_none_is_placed(store):
    commit(store, placing(placed(store)))
    old = store.allocation(placed(store).id)
    store.write(WriteKind.JOB_DEREGISTERED, lambda change: stop_job(change, KEY), now=5)
    new = make_allocation(store.job(KEY), 1)
    stopped = old.changed(desired_status=DesiredStatus.STOP)
    commit(store, PlanResult(node_allocation={NODE: (new,)}, node_update={NODE: (stopped,)}))
    assert store.allocation(new.id) is None
    assert store.allocation(old.id).desired_status is DesiredStatus.STOP


def test_a_stop_only_plan_of_a_purged_job_is_committed(store):
    commit(store, placing(placed(store)))
    alloc = store.allocation(placed(store).id)
    store.write(KIND, lambda change: change.delete_job(KEY), now=5)
    plan = Plan(id="q", eval_id=PLAN.eval_id, namespace="default", job_id="web")
    commit(store, PlanResult(node_update={NODE: (alloc,)}), plan=plan)
    assert store.allocation(alloc.id).desired_status is DesiredStatus.STOP


def test_an_update_keeps_what_the_node_reported_since_the_snapshot(store):
    alloc = placed(store, deployment_id="d", deployment_status=DeploymentHealth(canary=True))
    commit(store, placing(alloc))
    reported = store.allocation(alloc.id).changed(
        client_status=ClientStatus.RUNNING,
        deployment_status=DeploymentHealth(canary=True, healthy=True, timestamp=9),
    )
    store.write(WriteKind.ALLOCATION_UPDATED, lambda change: put_found(change, reported), now=101)
    commit(store, placing(alloc.changed(deployment_status=DeploymentHealth(canary=False))))
    stored = store.allocation(alloc.id)
    assert stored.client_status is ClientStatus.RUNNING
    assert stored.deployment_status == DeploymentHealth(
        canary=False, healthy=True, timestamp=9, modify_index=store.index
    )


def test_a_replacement_is_linked_from_the_one_it_replaces(store):
    failed = placed(store, 0, client_status=ClientStatus.FAILED)
    store.write(KIND, lambda change: put_found(change, failed), now=100)
    old, new = placed(store, 0), placed(store, 1, previous_allocation=placed(store, 0).id)
    index, _ = commit(store, placing(new))
    assert (store.allocation(old.id).next_allocation, store.allocation(old.id).modify_index) == (
        new.id,
        index,
    )


def test_a_node_that_refused_too_often_is_closed(store):
    commit(store, PlanResult(ineligible_nodes=(NODE,)))
    node = store.node(NODE)
    assert node.scheduling_eligibility is NodeEligibility.INELIGIBLE
    assert [event.subsystem for event in node.events] == ["Scheduler"]


DEPLOYMENT = Deployment(
    id="d",
    job_id="web",
    job_create_index=2,
    task_groups={"web": GroupRollout(desired_total=2, progress_deadline=60)},
)


def test_placements_and_health_move_the_deployment(store):
    allocs = [placed(store, number, deployment_id="d", modify_time=0) for number in (0, 1)]
    commit(
        store,
        PlanResult(node_allocation={NODE: tuple(allocs)}, deployment=DEPLOYMENT),
    )
    group = store.deployment("d").task_groups["web"]
    assert (group.placed_allocs, group.require_progress_by) == (2, 160)
    commit(store, PlanResult(deployment=DEPLOYMENT), now=200)
    assert store.deployment("d").task_groups["web"] == group
    assert store.deployment("d").create_index < store.deployment("d").modify_index


def test_a_successful_deployment_makes_its_version_stable(store):
    commit(store, PlanResult(deployment=DEPLOYMENT))
    update = DeploymentStatusUpdate(deployment_id="d", status=DeploymentStatus.SUCCESSFUL)
    commit(store, PlanResult(deployment_updates=(update,)))
    assert store.job(KEY).stable
    assert store.job_versions(KEY)[0].stable


def test_a_status_for_an_ended_deployment_does_not_fail_the_plan(store):
    commit(store, PlanResult(deployment=DEPLOYMENT))
    updates = [
        DeploymentStatusUpdate(deployment_id="gone", status=DeploymentStatus.FAILED),
        DeploymentStatusUpdate(deployment_id="d", status=DeploymentStatus.CANCELLED),
        DeploymentStatusUpdate(deployment_id="d", status=DeploymentStatus.RUNNING),
    ]
    commit(store, PlanResult(deployment_updates=tuple(updates)))
    assert store.deployment("d").status is DeploymentStatus.CANCELLED
