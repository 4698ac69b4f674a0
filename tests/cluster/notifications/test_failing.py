"""Which jobs count as failing."""

import pytest

from cluster.notifications.failing import failing
from cluster.store.ports import JobFace
from scheduler.structs.job import JobStatus, JobSummary, JobType, TaskGroupSummary


@pytest.mark.parametrize(
    ("kind", "status", "is_stopped", "expected"),
    [
        pytest.param(JobType.SERVICE, JobStatus.RUNNING, False, True, id="service"),
        pytest.param(JobType.SERVICE, JobStatus.DEAD, False, True, id="service-given-up"),
        pytest.param(JobType.SERVICE, JobStatus.DEAD, True, False, id="service-stopped"),
        pytest.param(JobType.BATCH, JobStatus.RUNNING, False, True, id="batch"),
        pytest.param(JobType.BATCH, JobStatus.DEAD, False, False, id="batch-ended"),
    ],
)
def test_what_has_ended_by_itself_or_was_stopped_fails_no_more(kind, status, is_stopped, expected):
    face = JobFace("default", "web", kind, status, is_stopped, 2)
    summary = JobSummary(job_id="web", summary={"web": TaskGroupSummary(failed=3)})
    assert (failing(face, summary) is not None) is expected
