"""What is under way when somebody goes on from a snapshot, and what rests."""

import pytest

from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.under_way import under_way
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus, DeploymentHealth, DesiredStatus
from scheduler.structs.job import JobType
from tests.builders import SOME_MOMENT, make_allocation, make_job

RUNNING = {"client_status": ClientStatus.RUNNING}
HEALTHY = {"deployment_status": DeploymentHealth(healthy=True)}


@pytest.mark.parametrize(
    ("kind", "fields", "is_under_way"),
    [
        pytest.param(JobType.SERVICE, {**RUNNING, **HEALTHY}, False, id="healthy"),
        pytest.param(JobType.SERVICE, RUNNING, True, id="not-judged"),
        pytest.param(
            JobType.SERVICE,
            {**RUNNING, "deployment_status": DeploymentHealth(canary=True)},
            True,
            id="canary-not-judged",
        ),
        pytest.param(JobType.BATCH, RUNNING, False, id="batch-is-never-judged"),
        pytest.param(JobType.SERVICE, {}, True, id="not-begun"),
        pytest.param(
            JobType.SERVICE,
            {**RUNNING, **HEALTHY, "desired_status": DesiredStatus.STOP},
            True,
            id="told-to-stop",
        ),
        pytest.param(JobType.SERVICE, {"client_status": ClientStatus.COMPLETE}, False, id="ended"),
    ],
)
def test_what_is_on_its_way_is_found(sqlite_store, kind, fields, is_under_way):
    job = make_job(type=kind)
    alloc = make_allocation(job, 1, **fields)

    def work(change):
        write_job(change, job)
        put_found(change, alloc)

    sqlite_store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    cache = SnapshotCache(sqlite_store.alias)
    try:
        with cache.batch():
            found = under_way(cache.snapshot_at())
    finally:
        cache.close()
    assert [each.id for each in found] == ([alloc.id] if is_under_way else [])
