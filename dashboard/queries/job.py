"""One job's page: how it stands, its groups, allocations, evaluations, versions and its text.

In: a reader and the job. Out: the context of `job.html`, in a number of reads that does not grow
with the job. Head and groups are read again for live frames; rows come from changed values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cluster.jobspec.diff import diff_jobs
from cluster.store import codec
from cluster.store.reader import DjangoStateReader
from dashboard.live.rooms import register_panel, register_rows
from dashboard.live.subscriptions import Subscription
from dashboard.outcomes import why_waiting
from dashboard.queries.allocations import cell_context, newest_of_job, open_of_job, row_context
from dashboard.queries.differences import DiffLine, diff_lines
from dashboard.queries.evaluations import evaluation_rows
from dashboard.queries.evaluations import row_context as evaluation_row
from dashboard.queries.jobs import Counts, group_counts, status_of, total
from dashboard.queries.rollout import rollout_of
from dashboard.viewer import Absent, Viewer, crumbs, own
from dashboard.wording import count_of
from scheduler.ports import StateReader
from scheduler.state.events import Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobType
from scheduler.structs.task_group import TaskGroup

#: Rows of the tables; what is left out is counted.
MAX_ALLOCATIONS, MAX_EVALUATIONS, MAX_CELLS = 100, 30, 200
#: What the record says of a job; its author does not.
_KEPT_BY_RECORD = frozenset(
    [
        "Status",
        "StatusDescription",
        "Stop",
        "Version",
        "Stable",
        "CreateIndex",
        "ModifyIndex",
        "JobModifyIndex",
        "SubmitTime",
        "NomadTokenID",
        "VersionTag",
    ]
)
_TABS = (("overview", "Overview"), ("versions", "Versions"), ("definition", "Definition"))


class GroupLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group: what it asks for, its counts, and its open allocations."""

    group: TaskGroup
    counts: Counts
    cpu_mhz: int
    memory_mb: int
    cells: tuple[dict[str, Any], ...]


class VersionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One version, and what it changed from the one before."""

    job: Job
    lines: tuple[DiffLine, ...]
    is_first: bool


def job_page(reader: DjangoStateReader, viewer: Viewer, key: JobKey, tab: str) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    job = reader.job(key) if viewer.sees(key.namespace) else None
    if job is None:
        raise Absent
    chosen = tab if tab in dict(_TABS) else "overview"
    context = {
        "tab": chosen,
        "tabs": [
            {"word": word, "url": f"?tab={name}", "is_current": name == chosen}
            for name, word in _TABS
        ],
        "crumbs": crumbs(("Jobs", "/jobs/"), (job.id, "")),
        "live_topics": f"job:{key.namespace}/{key.job_id}",
        "namespace": key.namespace,
        **_standing(reader, job),
        **_READ[chosen](reader, job, viewer.now),
    }
    return context | {"now": viewer.now}


def _head_panel(reader: StateReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    job = reader.job(_key(subscription))
    return {"job": None} if job is None else _standing(own(reader), job)


def _job_panel(reader: StateReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    return {"job": reader.job(_key(subscription))}


def _groups_panel(reader: StateReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    job = reader.job(_key(subscription))
    if job is None:
        return {"groups": ()}
    return _groups_context(own(reader), job)


def _standing(reader: DjangoStateReader, job: Job) -> dict[str, Any]:
    counts = total(group_counts(job, reader.job_summary(job.key)).values())
    waiting = reader.select(
        codec.EVALUATION,
        "namespace = %s AND job_id = %s AND status = 'blocked'",
        job.key,
        "create_index DESC LIMIT 1",
    )
    rollout = rollout_of(reader, job)
    strong, rest = _sentence(job, counts, waiting[0] if waiting else None)
    if rollout is not None and rollout.sentence and not job.stop:
        rest = f"{rest} {rollout.sentence}".strip()
    return {
        "job": job,
        "standing": status_of(job),
        "counts": counts,
        "strong": strong,
        "rest": rest,
        "waiting": waiting[0] if waiting else None,
        "rollout": rollout,
    }


def _replaces_at_once(job: Job) -> bool:
    """Whether a change is not rolled out step by step."""
    if job.type != JobType.SERVICE.value or job.stop:
        return False
    return any(group.update is None or not group.update.max_parallel for group in job.task_groups)


def _rollout_panel(
    reader: StateReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    job = reader.job(_key(subscription))
    return {"rollout": None if job is None else rollout_of(own(reader), job)}


def _sentence(job: Job, counts: Counts, waiting: Evaluation | None) -> tuple[str, str]:
    if job.stop:
        left = counts.running + counts.starting
        return ("Stopped.", f"{count_of(left, 'allocation')} still ending." if left else "")
    if job.is_periodic or job.is_parameterized:
        kind = "at its times" if job.is_periodic else "when it is dispatched"
        return (f"Runs {kind}.", "It places nothing by itself.")
    parts = []
    if job.type == JobType.SERVICE.value and counts.running > counts.wanted:
        parts.append(f"{counts.running - counts.wanted} more while its version changes")
    if counts.starting:
        parts.append(f"{counts.starting} starting")
    if counts.queued and waiting is not None:
        reason = why_waiting(waiting.failed_task_groups.values())
        parts.append(f"{counts.queued} waiting" + (f": {reason}" if reason else ""))
    elif counts.queued:
        parts.append(f"{counts.queued} waiting")
    if counts.failed:
        parts.append(f"{counts.failed} failed so far")
    rest = ", ".join(parts)
    if job.type == JobType.BATCH.value and counts.complete:
        strong = f"{counts.complete} of {counts.wanted} complete."
    elif job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value}:
        strong = f"Running on {count_of(counts.running, 'node')}."
    else:
        strong = f"{min(counts.running, counts.wanted)} of {counts.wanted} running."
    return strong, (rest[:1].upper() + rest[1:] + "." if rest else "")


def _overview(reader: DjangoStateReader, job: Job, now: int) -> dict[str, Any]:
    allocations = newest_of_job(reader, job.key, MAX_ALLOCATIONS)
    evaluations = reader.select(
        codec.EVALUATION,
        "namespace = %s AND job_id = %s",
        job.key,
        f"create_index DESC, id DESC LIMIT {MAX_EVALUATIONS + 1}",
    )
    return {
        **_groups_context(reader, job),
        "allocations": [row_context(alloc, 0) for alloc in allocations[:MAX_ALLOCATIONS]],
        "has_more_allocations": len(allocations) > MAX_ALLOCATIONS,
        "evaluations": evaluation_rows(reader, evaluations[:MAX_EVALUATIONS], now),
        "has_more_evaluations": len(evaluations) > MAX_EVALUATIONS,
    }


def _groups_context(reader: DjangoStateReader, job: Job) -> dict[str, Any]:
    return {
        "job": job,
        "groups": _groups(reader, job),
        "replaces_at_once": _replaces_at_once(job),
        "is_everywhere": job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value},
    }


def _groups(reader: DjangoStateReader, job: Job) -> tuple[GroupLine, ...]:
    counts = group_counts(job, reader.job_summary(job.key))
    cells: dict[str, list[dict[str, Any]]] = {}
    for alloc in open_of_job(reader, job.key, MAX_CELLS):
        cells.setdefault(alloc.task_group, []).append(cell_context(alloc))
    return tuple(
        GroupLine(
            group=group,
            counts=counts[group.name],
            cpu_mhz=sum(task.resources.cpu for task in group.tasks),
            memory_mb=sum(task.resources.memory_mb for task in group.tasks),
            cells=tuple(cells.get(group.name, ())),
        )
        for group in job.task_groups
    )


def _versions(reader: DjangoStateReader, job: Job, _now: int) -> dict[str, Any]:
    versions: Sequence[Job] = reader.job_versions(job.key)
    older = [*versions[1:], None]
    return {
        "versions": [
            VersionLine(
                job=version,
                lines=diff_lines(diff_jobs(before, version)) if before is not None else (),
                is_first=before is None,
            )
            for version, before in zip(versions, older, strict=True)
        ]
    }


def _definition(reader: DjangoStateReader, job: Job, _now: int) -> dict[str, Any]:
    text, language, is_source = source_of(reader, job)
    return {
        "source": text,
        "source_lines": text.splitlines(),
        "language": language,
        "is_source": is_source,
    }


def source_of(reader: StateReader, job: Job) -> tuple[str, str, bool]:
    """The text a job came as, its format, and whether it is that text or our own JSON of it."""
    submission = submission_of(reader, job)
    if submission is not None and submission.source:
        return submission.source, submission.format, True
    document = msgspec.to_builtins(job)
    said = {name: value for name, value in document.items() if name not in _KEPT_BY_RECORD}
    return (
        msgspec.json.format(msgspec.json.encode({"Job": said}), indent=2).decode(),
        "json",
        False,
    )


def submission_of(reader: StateReader, job: Job) -> JobSubmission | None:
    """The text of a job; that of a stopped one came with the version before the stop."""
    if not job.stop:
        return reader.job_submission(job.key, job.version)
    before = (each for each in reader.job_versions(job.key) if not each.stop)
    running = next(before, None)
    return reader.job_submission(job.key, running.version) if running is not None else None


_READ = {"overview": _overview, "versions": _versions, "definition": _definition}


def _key(subscription: Subscription) -> JobKey:
    namespace, _, job_id = subscription.key.partition("/")
    return JobKey(namespace, job_id)


def _alloc_row(value: Allocation, now: int) -> Mapping[str, Any]:
    return row_context(value, now)


register_panel(
    "job", "job-standing", "dashboard/partials/_job_standing.html", _head_panel,
    Topic.JOB, Topic.JOB_SUMMARY, Topic.EVALUATION, Topic.DEPLOYMENT,
)  # fmt: skip
register_panel("job", "job-actions", "dashboard/partials/_job_actions.html", _job_panel, Topic.JOB)
register_panel(
    "job", "stop-job-told", "dashboard/partials/_job_stop_told.html", _head_panel,
    Topic.JOB, Topic.JOB_SUMMARY,
)  # fmt: skip
register_panel(
    "job", "purge-job-told", "dashboard/partials/_job_purge_told.html", _head_panel,
    Topic.JOB, Topic.JOB_SUMMARY,
)  # fmt: skip
register_panel(
    "job", "job-rollout", "dashboard/partials/_job_rollout.html", _rollout_panel,
    Topic.JOB, Topic.DEPLOYMENT,
)  # fmt: skip
register_panel(
    "job", "job-groups", "dashboard/partials/_job_groups.html", _groups_panel,
    Topic.JOB, Topic.JOB_SUMMARY, Topic.ALLOCATION,
)  # fmt: skip
register_rows(
    "job", Topic.ALLOCATION, "job-allocations", "dashboard/partials/_job_allocation_row.html",
    _alloc_row,
)  # fmt: skip
register_rows(
    "job", Topic.EVALUATION, "job-evaluations", "dashboard/partials/_job_evaluation_row.html",
    evaluation_row,
)  # fmt: skip
