"""Summaries counted anew: of allocations, and of the children of a parent."""

import pytest
from msgspec.structs import replace

from cluster.operations.job_summaries import reconcile_summaries
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import (
    JobChildrenSummary,
    JobSummary,
    ParameterizedJob,
    TaskGroupSummary,
)
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.callers import MANAGER

PARENT = make_job(id="etl", type="batch", parameterized_job=ParameterizedJob())
STATUSES = ("pending", "running", "running", "dead", "dead", "dead")


@pytest.fixture
def store():
    store = MemoryStateStore()

    def fill(change):
        change.put_job(PARENT)
        for number, status in enumerate(STATUSES):
            child = make_job(id=f"etl/dispatch-{number}", parent_id="etl", status=status)
            change.put_job(child)
        # Its parent is of another namespace, or none at all.
        change.put_job(make_job(id="etl/x", parent_id="etl", namespace="team", status="running"))
        job = make_job(id="web", status="running")
        change.put_job(job)
        for number in range(2):
            alloc = make_allocation(job, number=number, client_status=ClientStatus.RUNNING)
            put_found(change, replace(alloc, job_create_index=job.create_index))
        for each, summary in WRONG.items():
            change.put(JOB_SUMMARIES, replace(summary, job_id=each, create_index=10))

    store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)
    return store


WRONG = {
    "etl": JobSummary(
        summary={"web": TaskGroupSummary()}, children=JobChildrenSummary(pending=9, dead=1)
    ),
    "web": JobSummary(summary={"web": TaskGroupSummary(queued=3, starting=5, running=7)}),
}


def summary(store, job_id):
    return store.get(JOB_SUMMARIES, JobKey("default", job_id))


def test_what_is_there_is_counted_and_what_is_queued_stays(store):
    index = reconcile_summaries(store, by=MANAGER, now=SOME_MOMENT)
    parent, web = summary(store, "etl"), summary(store, "web")
    assert parent.children == JobChildrenSummary(pending=1, running=2, dead=3)
    assert web.summary == {"web": TaskGroupSummary(queued=3, running=2)}
    assert web.children == JobChildrenSummary()
    assert parent.modify_index == web.modify_index == index


def test_right_summaries_are_not_written_again(store):
    reconcile_summaries(store, by=MANAGER, now=SOME_MOMENT)
    before = store.index
    assert reconcile_summaries(store, by=MANAGER, now=SOME_MOMENT) == 0
    assert store.index == before
