"""The rollout of a job's version: its newest deployment, as the job's page tells it.

In: a reader and the job. Out: the RolloutProgress that `_job_rollout.html` shows, and what the
job's sentence says of it.
"""

from cluster.store.ports import RecordReader
from dashboard.queries.listings import newest_of_job
from dashboard.rollouts import RolloutProgress, progress_of
from scheduler.state import nouns
from scheduler.structs.job import Job


def rollout_of(reader: RecordReader, job: Job) -> RolloutProgress | None:
    """Of the newest deployment, unless a later version has gone past it without one."""
    newest = reader.page(nouns.DEPLOYMENTS, newest_of_job(job.key, 1))
    if not newest or (newest[0].job_version != job.version and not newest[0].is_active):
        return None
    return progress_of(newest[0])
