"""What of an earlier launch prohibits the next one, and children that launch children."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.job_dispatch import Dispatch, dispatch_job
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.periodic import launch_due
from scheduler.access.caller import CLUSTER
from scheduler.collection.rules import is_garbage_job
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.job_status import refresh_job_status
from scheduler.state.writes.jobs import purge_job
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobChildrenSummary
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
)
from tests.callers import MANAGER

MINUTE = 60 * SECOND
#: A full minute.
NOW = SOME_MOMENT - SOME_MOMENT % MINUTE
KEY = JobKey("default", "etl")


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, **fields):
    task = {"Name": "main", "Driver": "mock_driver"}
    periodic = {"Specs": ["* * * * *"], "ProhibitOverlap": True}
    document = {
        "ID": "etl",
        "Type": "batch",
        "TaskGroups": [{"Name": "group", "Tasks": [task]}],
        "Periodic": periodic,
    }
    job = parse_job(document | fields)
    register_job(store, JobRegistration(job=job), by=MANAGER, now=NOW, ids=ids)


def launch(store, ids, minute, key=KEY):
    return launch_due(store, key, by=CLUSTER, now=NOW + minute * MINUTE, ids=ids).child_id


def decide(store, child, status):
    """The child's evaluation comes to this."""

    def work(change):
        (evaluation,) = change.evaluations_by_job(child.key)
        write_evaluations(change, (evaluation.changed(status=status),))

    store.write(WriteKind.EVALUATION_UPDATED, work, now=NOW)


def leave(store, child, row):
    """Its evaluation is complete, and has left this."""

    def work(change):
        put_found(change, row)
        refresh_job_status(change, child.key)

    decide(store, child, EvalStatus.COMPLETE)
    store.write(WriteKind.PLAN_RESULT, work, now=NOW)


def place(store, child, **fields):
    leave(store, child, make_allocation(child, **fields))


def waits(store, child, _ids):
    assert store.job(child.key).status == "pending"


def blocked(store, child, _ids):
    waiting = make_evaluation(2, job_id=child.id, type="batch", status=EvalStatus.BLOCKED)
    leave(store, child, waiting)


def running(store, child, _ids):
    place(store, child, client_status=ClientStatus.RUNNING)


def unknown(store, child, _ids):
    place(store, child, client_status=ClientStatus.UNKNOWN)


def being_stopped(store, child, ids):
    running(store, child, ids)
    deregister_job(store, child.key, by=MANAGER, now=NOW, ids=ids)


def failed_evaluation(store, child, _ids):
    decide(store, child, EvalStatus.FAILED)


def complete(store, child, _ids):
    place(store, child, client_status=ClientStatus.COMPLETE)


def told_to_stop(store, child, _ids):
    place(store, child, desired_status=DesiredStatus.STOP, client_status=ClientStatus.RUNNING)


def purged(store, child, ids):
    deregister_job(store, child.key, by=MANAGER, purge=True, now=NOW, ids=ids)


@pytest.mark.parametrize("state", [waits, blocked, running, unknown, being_stopped])
def test_a_child_that_has_not_ended_prohibits_the_next(store, ids, state):
    register(store, ids)
    child = store.job(JobKey("default", launch(store, ids, 1)))
    state(store, child, ids)
    assert launch(store, ids, 2) == ""
    skipped = store.get(PERIODIC_LAUNCHES, KEY).history[-1]
    assert (skipped.outcome.value, skipped.child_id) == ("skipped", child.id)


@pytest.mark.parametrize("state", [failed_evaluation, complete, told_to_stop, purged])
def test_a_child_that_has_ended_does_not(store, ids, state):
    register(store, ids)
    child = store.job(JobKey("default", launch(store, ids, 1)))
    state(store, child, ids)
    assert launch(store, ids, 2) == f"etl/periodic-{NOW // SECOND + 120}"


def test_a_job_that_only_names_it_as_its_parent_prohibits_nothing(store, ids):
    register(store, ids)
    other = make_job(id="etl/by-hand", type="batch", parent_id="etl", status="running")
    store.write(WriteKind.JOB_REGISTERED, lambda change: change.put_job(other), now=NOW)
    assert launch(store, ids, 1)


def test_a_dispatched_child_that_is_periodic_launches_children_itself(store, ids):
    register(store, ids, ParameterizedJob={"MetaOptional": ["day"]})
    assert launch(store, ids, 1) == ""

    asked = Dispatch(meta={"day": "monday"})
    name = dispatch_job(store, KEY, asked, by=MANAGER, now=NOW, ids=ids).job_id

    of_dispatch = JobKey("default", name)
    child = launch(store, ids, 1, of_dispatch)
    assert child == f"{name}/periodic-{NOW // SECOND + 60}"
    launched = store.job(JobKey("default", child))
    assert (launched.parent_id, launched.meta, launched.is_parameterized) == (
        name,
        {"day": "monday"},
        False,
    )
    assert store.get(JOB_SUMMARIES, of_dispatch).children == JobChildrenSummary(pending=1)
    assert launch(store, ids, 2, of_dispatch) == ""


def test_children_are_collected_as_batch_jobs_and_a_parent_only_once_it_is_stopped(store, ids):
    def is_garbage(key):
        return is_garbage_job(store, store.job(key), cutoff=NOW + 60 * MINUTE)

    register(store, ids)
    child = store.job(JobKey("default", launch(store, ids, 1)))
    assert not is_garbage(child.key)
    complete(store, child, ids)
    assert is_garbage(child.key)
    assert not is_garbage(KEY)

    deregister_job(store, KEY, by=MANAGER, now=NOW + 2 * MINUTE, ids=ids)

    assert is_garbage(KEY)


def test_a_collected_child_stays_counted_as_dead(store, ids):
    register(store, ids)
    child = store.job(JobKey("default", launch(store, ids, 1)))
    complete(store, child, ids)
    store.write(WriteKind.COLLECTED, lambda change: purge_job(change, child.key), now=NOW)
    assert store.get(JOB_SUMMARIES, KEY).children == JobChildrenSummary(dead=1)
