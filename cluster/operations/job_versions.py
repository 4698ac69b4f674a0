"""Stored versions of a job: go back to one, call one stable, name one, find one.

In: a store, a job's name, a version. Out: facts for the answer, or a refusal with nothing written
(control-plane.md 11.3, 11.7; doors.md 4).
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from cluster.jobspec.names import name_fault
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate import judge_job
from cluster.operations.admission import JobMovedOn, admit
from cluster.operations.errors import OperationRefused
from cluster.operations.job_rights import require_registration
from cluster.operations.jobs import JobRegistration, JobWritten, NewIds, register_in
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.state.writes.jobs import has_same_spec, mark_stable, name_version
from scheduler.state.writes.stories import goes_back
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, VersionTag


class VersionNotFound(OperationRefused):
    """The job, or that version of it, is not there (any more)."""


class AlreadyCurrent(OperationRefused):
    """The version to go back to is the one that is wanted already."""


class TagTaken(OperationRefused):
    """Another version of the job has that tag."""


class TagNotFound(OperationRefused):
    """No version of the job has that tag."""


class VersionTagged(msgspec.Struct, frozen=True, kw_only=True):
    """Which version has which tag now; an empty tag when it was taken away."""

    index: int
    version: int
    tag: VersionTag = VersionTag()


def revert_job(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    key: JobKey,
    version: int,
    *,
    enforce_prior_version: int | None = None,
    keeps_counts: bool = False,
    by: Caller,
    now: int,
    ids: IDSource,
) -> JobWritten:
    """Register a stored version again, as a new one without its tag, not stable.

    With `enforce_prior_version` only while that is the current one; with `keeps_counts` groups of
    the same name keep the counts of the current one. A version that asks for what
    the current one asks for is evaluated and makes no new one. Raises `VersionNotFound`,
    `AlreadyCurrent`, `JobMovedOn`, or what registering it raises.
    """
    require(by, key.namespace, "submit-job", "revert-job")
    eval_id = ids.next_id()
    seen = store.read(lambda reader: _version(reader, key, version)) or Job()
    # Before the transaction, which must be short.
    judged = judge_job(seen)

    def work(change: Change) -> JobWritten:
        old = _version_to_revert_to(change, key, version)
        if enforce_prior_version is not None:
            _check_prior(change, key, enforce_prior_version)
        require_registration(by, old, "revert-job")
        # A job of that name may have been purged and registered anew meanwhile.
        wanted = replace(old, version_tag=None, stable=False)
        if keeps_counts:
            wanted = with_counts_of(wanted, change.job(key))
        is_seen = has_same_spec(seen, wanted)
        admitted = admit(change, wanted, judged if is_seen else judge_job(wanted))
        submission = change.get(JOB_SUBMISSIONS, (key, version))
        request = JobRegistration(job=wanted, submission=submission)
        left = change.job(key)
        written = register_in(change, request, admitted, NewIds(eval_id, ids))
        back = change.job(key)
        if left is not None and back is not None and back.version != left.version:
            goes_back(change, left, back, version)
        return written

    index, written = store.write(WriteKind.JOB_REVERTED, work, now=now, by=by)
    return replace(written, index=index)


def with_counts_of(job: Job, other: Job | None) -> Job:
    """The job, its groups with the counts that groups of the same name have in the other."""
    counts = {group.name: group.count for group in other.task_groups} if other is not None else {}
    groups = tuple(
        replace(group, count=counts.get(group.name, group.count)) for group in job.task_groups
    )
    return replace(job, task_groups=groups)


def mark_job_stable(
    store: StateStore, key: JobKey, version: int, *, stable: bool = True, by: Caller, now: int
) -> int:
    """Say that a version is good to go back to, or not; the index of the write.

    The running job is touched only when that version is the running one. Raises `VersionNotFound`.
    """
    require(by, key.namespace, "submit-job", "stable-job")

    def work(change: Change) -> None:
        found = _version(change, key, version)
        if found is None:
            raise _not_found(key, version)
        if found.stable != stable:
            mark_stable(change, key, version, stable=stable)

    index, _ = store.write(WriteKind.JOB_STABILITY_SET, work, now=now, by=by)
    return index


def tag_version(  # noqa: PLR0913 - the options of one request
    store: StateStore,
    key: JobKey,
    name: str,
    *,
    version: int | None = None,
    description: str = "",
    by: Caller,
    now: int,
) -> VersionTagged:
    """Name a version (None: the newest), so that it is kept as long as it has the tag.

    A tag that the version had is replaced. Raises `VersionNotFound`, or `TagTaken` when another
    version has it.
    """
    require(by, key.namespace, "submit-job", "tag-job-version")
    fault = name_fault(name) if name else "is missing"
    if fault:
        raise OperationRefused(f"the name of the tag {fault}")

    def work(change: Change) -> VersionTagged:
        versions = change.job_versions(key)
        found = next((each for each in versions if version in (None, each.version)), None)
        if found is None:
            raise VersionNotFound(f"job {quoted(key.job_id)} version {version or 0} not found")
        holder = _tagged(change, key, name)
        if holder is not None and holder.version != found.version:
            raise TagTaken(
                f"tag {quoted(name)} already exists on a different version of job"
                f" {quoted(key.job_id)}"
            )
        tag = VersionTag(name=name, description=description, tagged_time=change.now)
        name_version(change, key, found.version, tag)
        return VersionTagged(index=0, version=found.version, tag=tag)

    index, tagged = store.write(WriteKind.JOB_VERSION_TAGGED, work, now=now, by=by)
    return replace(tagged, index=index)


def untag_version(
    store: StateStore, key: JobKey, name: str, *, by: Caller, now: int
) -> VersionTagged:
    """Take a tag away; the version goes like the others then. Raises `TagNotFound`."""
    require(by, key.namespace, "submit-job", "tag-job-version")

    def work(change: Change) -> VersionTagged:
        holder = _tagged(change, key, name)
        if holder is None:
            raise TagNotFound(f"tag {quoted(name)} not found on job {quoted(key.job_id)}")
        name_version(change, key, holder.version, None)
        return VersionTagged(index=0, version=holder.version)

    index, untagged = store.write(WriteKind.JOB_VERSION_TAGGED, work, now=now, by=by)
    return replace(untagged, index=index)


def version_among(versions: Sequence[Job], version: int) -> Job:
    """The version of that number. Raises `VersionNotFound`."""
    found = next((each for each in versions if each.version == version), None)
    if found is None:
        raise VersionNotFound(f"version {version} not found")
    return found


def tagged_among(versions: Sequence[Job], name: str) -> Job:
    """The version that has the tag. Raises `TagNotFound`."""
    found = next((each for each in versions if _has_tag(each, name)), None)
    if found is None:
        raise TagNotFound(f"tag {quoted(name)} not found")
    return found


def _version_to_revert_to(change: Change, key: JobKey, version: int) -> Job:
    current = change.job(key)
    if current is None:
        raise VersionNotFound(f"job {quoted(key.job_id)} not found")
    if current.version == version:
        raise AlreadyCurrent("can't revert to current version")
    old = _version(change, key, version)
    if old is None:
        raise _not_found(key, version)
    return old


def _check_prior(change: Change, key: JobKey, enforced: int) -> None:
    current = change.job(key)
    if current is not None and current.version != enforced:
        raise JobMovedOn(
            f"Current job has version {current.version}; enforcing version {enforced}"
        )


def _version(reader: StateReader, key: JobKey, version: int) -> Job | None:
    """A listed one; those that are kept for their allocations alone are gone for people."""
    versions = reader.job_versions(key)
    return next((each for each in versions if each.version == version), None)


def _tagged(reader: StateReader, key: JobKey, name: str) -> Job | None:
    return next((each for each in reader.job_versions(key) if _has_tag(each, name)), None)


def _has_tag(job: Job, name: str) -> bool:
    return job.version_tag is not None and job.version_tag.name == name


def _not_found(key: JobKey, version: int) -> VersionNotFound:
    return VersionNotFound(
        f"job {quoted(key.job_id)} in namespace {quoted(key.namespace)} at version {version}"
        " not found"
    )
