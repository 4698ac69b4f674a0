"""Versions of a job: storing, stopping, purging, marking them (control-plane.md 11.3, 11.4)."""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.writes.job_status import job_status
from scheduler.state.writes.launches import follow_schedule
from scheduler.state.writes.scaling import drop_policies, keep_policies
from scheduler.state.writes.summaries import count_child, prepare_summary
from scheduler.state.writes.volumes import drop_claims_of_job
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus, VersionTag
from scheduler.structs.task_group import TaskGroup

#: Versions without a tag that `job_versions` lists.
KEPT_VERSIONS = 6


def has_same_spec(one: Job, other: Job) -> bool:
    """Whether two jobs ask for the same: what the record keeps about them is not compared."""
    return _spec(one) == _spec(other)


def write_job(change: Change, job: Job) -> Job:
    """Store a job as a new version (or as a new job) and return it as stored.

    The evaluation belongs to the same write but is the caller's. A larger version number than the
    next one is kept.
    """
    before = change.job(job.key)
    index = change.index
    stored = replace(
        job,
        create_index=before.create_index if before else index,
        modify_index=index,
        job_modify_index=index,
        version=max(job.version, before.version + 1) if before else job.version,
    )
    old_status = before.status if before else ""
    stored = keep_policies(change, before, stored)
    stored = replace(stored, status=job_status(change, stored).value)
    prepare_summary(change, stored)
    change.put_job(stored)
    follow_schedule(change, before, stored)
    count_child(change, stored, old_status, stored.status)
    _prune_versions(change, stored)
    return stored


def stop_job(change: Change, key: JobKey) -> Job | None:
    """Store a further version that wants nothing to run; None when there is no such job."""
    job = change.job(key)
    if job is None:
        return None
    groups = tuple(_without_scaling(group) for group in job.task_groups)
    return write_job(
        change,
        replace(
            job,
            stop=True,
            task_groups=groups,
            submit_time=change.now,
            version_tag=None,
        ),
    )


def purge_job(change: Change, key: JobKey) -> Job | None:
    """Delete a job and all that belongs to it; its pending evaluations end complete.

    Returns the job as it was; None when there was none.
    """
    job = change.job(key)
    if job is None:
        return None
    for alloc in change.allocations_by_job(key):
        change.delete_allocation(alloc.id)
    for deployment in change.deployments_by_job(key):
        change.delete_deployment(deployment.id)
    for evaluation in change.evaluations_by_job(key):
        if evaluation.status is EvalStatus.PENDING:
            change.put_evaluation(
                evaluation.changed(
                    status=EvalStatus.COMPLETE,
                    status_description=f"job {key.job_id} deleted",
                    modify_index=change.index,
                    modify_time=max(change.now, evaluation.create_time + 1),
                )
            )
    drop_policies(change, job)
    drop_claims_of_job(change, key)
    change.delete_job(key)
    count_child(change, job, job.status, JobStatus.DEAD.value)
    return job


def mark_stable(change: Change, key: JobKey, version: int, *, stable: bool = True) -> bool:
    """Set the stable flag of one version; False when it is not there.

    The running job is touched only when that version is the running one.
    """
    return _rewrite_version(change, key, version, stable=stable)


def version_to_go_back_to(versions: Iterable[Job]) -> Job | None:
    """Of the versions of a job, newest first: the newest stable one that runs anything.

    A stop is a version that keeps the mark of the one before, but a failed rollout that brought
    it back would stop the job.
    """
    return next((version for version in versions if version.stable and not version.stop), None)


def name_version(change: Change, key: JobKey, version: int, tag: VersionTag | None) -> bool:
    """Name a version, or take its name away; False when it is not there."""
    return _rewrite_version(change, key, version, version_tag=tag)


def _rewrite_version(change: Change, key: JobKey, version: int, **fields: object) -> bool:
    current = change.job(key)
    # Of those that are listed: one that is kept for its allocations alone must not come back.
    found = next((each for each in change.job_versions(key) if each.version == version), None)
    if found is None:
        return False
    rewritten = replace(found, **fields, modify_index=change.index)
    if current is not None and current.version == version:
        change.put_job(rewritten)
    else:
        change.put_job_version(rewritten)
    return True


def _prune_versions(change: Change, job: Job) -> None:
    """Take at most one version off the list: the oldest untagged that is not the newest stable.

    The text it came as goes with it.
    """
    versions = [
        version
        for version in change.job_versions(job.key)
        if version.create_index == job.create_index
    ]
    untagged = [version for version in versions if version.version_tag is None]
    if len(untagged) <= KEPT_VERSIONS:
        return
    newest_stable = version_to_go_back_to(versions)
    oldest = untagged[-1]
    if newest_stable is not None and oldest.version == newest_stable.version:
        oldest = untagged[-2]
    change.delete_job_version(oldest)
    change.delete(JOB_SUBMISSIONS, (oldest.key, oldest.version))


def _without_scaling(group: TaskGroup) -> TaskGroup:
    if group.scaling is None or not group.scaling.enabled:
        return group
    return replace(group, scaling=replace(group.scaling, enabled=False))


def _spec(job: Job) -> Job:
    return replace(
        job,
        status="",
        status_description="",
        stable=False,
        version=0,
        create_index=0,
        modify_index=0,
        job_modify_index=0,
        submit_time=0,
    )
