"""News that comes too late is sorted out by who may receive it; it raises for nobody."""

import pytest

from scheduler.commands import FailEvaluation
from scheduler.errors import PlanRefused
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.allocations import update_from_client
from scheduler.state.writes.evaluations import write_outcomes
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.allocation import AllocState, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, follow_up_evaluation
from scheduler.structs.plan import Plan, PlanResult
from scheduler.watchers.reaper import write_failed
from tests.builders import CountingIDs, make_allocation, make_evaluation, make_job, make_node

EVAL = make_evaluation()
NODE = make_node()


@pytest.fixture
def store():
    store = MemoryStateStore()

    def begin(change):
        write_job(change, make_job())
        put_found(change, NODE)
        put_found(change, EVAL)

    write(store, begin)
    return store


def write(store, work):
    return store.write(WriteKind.PLAN_RESULT, work, now=100)


def alloc_of(store, **fields):
    job = store.job(make_job().key)
    alloc = make_allocation(job, node_id=NODE.id, **fields)
    write(store, lambda change: put_found(change, alloc))
    return alloc


def commit(store, **result):
    plan = Plan(id="p", namespace="default", job_id="web", eval_id=EVAL.id, job_version=0)
    write(store, lambda change: commit_plan(change, plan, PlanResult(**result)))


@pytest.mark.parametrize("ended", [ClientStatus.COMPLETE, ClientStatus.FAILED])
def test_an_ended_allocation_is_not_reported_running_again(store, ended):
    alloc = alloc_of(store, client_status=ended)
    late = alloc.changed(client_status=ClientStatus.RUNNING)
    index, update = write(store, lambda c: update_from_client(c, [late], CountingIDs()))
    assert store.allocation(alloc.id) == alloc
    assert (update.evaluations, update.freed) == ((), ())
    assert store.node(NODE.id).last_alloc_update_index == index


@pytest.mark.parametrize("really", [ClientStatus.RUNNING, ClientStatus.COMPLETE])
def test_a_node_that_was_given_up_says_what_its_allocations_do(store, really):
    alloc = alloc_of(store, client_status=ClientStatus.LOST, desired_status=DesiredStatus.STOP)
    told = alloc.changed(client_status=really)
    write(store, lambda change: update_from_client(change, [told], CountingIDs()))
    assert store.allocation(alloc.id).client_status is really


@pytest.mark.parametrize("verdict", [ClientStatus.LOST, ClientStatus.UNKNOWN])
@pytest.mark.parametrize("bucket", ["node_update", "node_allocation"])
def test_a_plan_does_not_give_up_what_has_ended_since(store, bucket, verdict):
    alloc = alloc_of(store, client_status=ClientStatus.COMPLETE)
    stopped = DesiredStatus.STOP if bucket == "node_update" else DesiredStatus.RUN
    planned = alloc.changed(
        client_status=verdict,
        desired_status=stopped,
        alloc_states=(AllocState(value=verdict.value, time=1),),
    )
    commit(store, **{bucket: {NODE.id: (planned,)}})
    stored = store.allocation(alloc.id)
    assert (stored.client_status, stored.desired_status) == (ClientStatus.COMPLETE, stopped)


def test_a_plan_does_not_want_again_what_was_evicted_since(store):
    alloc = alloc_of(store, desired_status=DesiredStatus.EVICT, desired_description="made room")
    updated = alloc.changed(desired_status=DesiredStatus.RUN, desired_description="")
    commit(store, node_allocation={NODE.id: (updated,)})
    stored = store.allocation(alloc.id)
    assert (stored.desired_status, stored.desired_description) == (
        DesiredStatus.EVICT,
        "made room",
    )


def test_a_plan_for_a_rollout_that_has_ended_is_refused(store):
    rollout = Deployment(id="d", job_id="web", status=DeploymentStatus.FAILED)
    write(store, lambda change: put_found(change, rollout))
    index = store.index
    with pytest.raises(PlanRefused, match="d is failed and may not become running"):
        commit(store, deployment=Deployment(id="d", job_id="web"))
    assert (store.index, store.deployment("d")) == (index, rollout)


def test_a_follow_up_that_failed_is_not_canceled(store):
    failed = make_evaluation(9, status=EvalStatus.FAILED)
    write(store, lambda change: put_found(change, failed))
    alloc = alloc_of(
        store,
        client_status=ClientStatus.UNKNOWN,
        followup_eval_id=failed.id,
        alloc_states=(AllocState(value="unknown", time=1),),
    )
    back = alloc.changed(client_status=ClientStatus.RUNNING)
    _, update = write(store, lambda change: update_from_client(change, [back], CountingIDs()))
    assert store.allocation(alloc.id).followup_eval_id == ""
    assert (store.evaluation(failed.id), update.canceled) == (failed, ())


def test_a_collected_evaluation_does_not_come_back_by_its_outcome(store):
    gone = make_evaluation(8, status=EvalStatus.COMPLETE)
    created = make_evaluation(9)
    write(store, lambda change: write_outcomes(change, (created, gone)))
    assert store.evaluation(gone.id) is None
    assert store.evaluation(created.id) is not None


def test_writing_off_a_collected_evaluation_still_tries_again(store):
    gone = make_evaluation(8, status=EvalStatus.FAILED)
    again = follow_up_evaluation(
        gone, eval_id="again", trigger=EvalTrigger.FAILED_FOLLOW_UP, wait=1, now=100
    )
    command = FailEvaluation(evaluation=gone, follow_up=again, token="t")
    write(store, lambda change: write_failed(change, command))
    assert store.evaluation(gone.id) is None
    assert store.evaluation("again").status is EvalStatus.PENDING
