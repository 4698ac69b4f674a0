"""What the checks of a job's services found: how many pass, which fail, and where.

In: the record, and what agents told of each running allocation. Out: the context of
`job_checks.html` and of the panel within other pages, a row for each check and version of the job.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.operations.checks import JobChecks
from cluster.page_addresses import job_checks_url, job_url
from cluster.store.ports import RecordReader
from dashboard.queries.allocations import index_of
from dashboard.queries.checks import AnsweredCheck, answered_checks
from dashboard.queries.left_out import missing_told
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, natural, number
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Allocations that are named in a row.
_NAMED = 6


class FailingPlace(msgspec.Struct, frozen=True):
    """One allocation in which a check does not pass."""

    alloc_id: str
    name: str
    node_name: str


class _Row(NamedTuple):
    group: str
    task: str
    service: str
    check: str
    version: int


class CheckedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One check in all allocations of one version."""

    check: str
    service: str
    group: str
    task: str
    version: int
    #: A key of the labels of checks: that of the worst of them.
    status: str
    passing: int
    asked: int
    #: Where it fails, then where it was not asked yet; beyond the named ones a number.
    where: tuple[FailingPlace, ...]
    more: int
    answer: str
    asked_at: int

    @property
    def key(self) -> str:
        """Of the row."""
        return f"{self.group}/{self.task}/{self.service}/{self.check}/{self.version}"


def has_checks(job: Job) -> bool:
    """Whether any service of it asks for a check."""
    return any(
        service.checks
        for group in job.task_groups
        for services in (group.services, *(task.services for task in group.tasks))
        for service in services
    )


def checks_url(job: Job | None) -> str:
    """Where its checks are shown; empty where it asks for none, or is gone."""
    return job_checks_url(job.key) if job is not None and has_checks(job) else ""


def checks_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """Whether there are checks to show: its newest version may ask for the first ones."""
    namespace, _, job_id = subscription.key.partition("/")
    return {"checks_url": checks_url(reader.job(JobKey(namespace, job_id)))}


def job_checks_page(
    reader: RecordReader, viewer: Viewer, key: JobKey, told: JobChecks
) -> dict[str, Any]:
    """The page of a job's checks. Raises Absent."""
    job = reader.job(key)
    if job is None or not viewer.sees(key.namespace):
        raise Absent
    allocs = {
        each.id: each for each in reader.open_allocations(key, told.asked) if each.id in told.found
    }
    lines = _lines(told, allocs)
    return {
        "title": gettext("Checks of {job}").format(job=job.id),
        "crumbs": crumbs(("Jobs", "/jobs/"), (job.id, job_url(key)), ("checks", "")),
        "namespace": key.namespace,
        "address": job_checks_url(key),
        "lines": lines,
        "told": _sentence(told, lines, allocs) if lines else "",
        "why_none": "" if lines else _why_none(job, told),
        "warnings": missing_told(reader, told),
    }


def _lines(told: JobChecks, allocs: dict[str, Allocation]) -> list[CheckedVersion]:
    rows: dict[_Row, list[tuple[Allocation, AnsweredCheck]]] = {}
    for alloc_id, alloc in allocs.items():
        for line in answered_checks(told.found[alloc_id]):
            asked = line.told
            key = _Row(alloc.task_group, asked.task, asked.service, asked.check, alloc.job_version)
            rows.setdefault(key, []).append((alloc, line))
    lines = [_line(key, found) for key, found in rows.items()]
    ranks = ("failure", "pending", "success")
    return sorted(
        lines, key=lambda line: (ranks.index(line.status), -line.version, natural(line.key))
    )


def _line(row: _Row, found: Sequence[tuple[Allocation, AnsweredCheck]]) -> CheckedVersion:
    failing = [each for each in found if each[1].status == "failure"]
    pending = [each for each in found if each[1].status == "pending"]
    wrong = sorted(failing, key=_place) + sorted(pending, key=_place)
    # What is told of one that fails stands for the row; of those that pass, the newest answer.
    shown = wrong[0][1] if wrong else max((line for _, line in found), key=_asked_at)
    return CheckedVersion(
        check=row.check,
        service=row.service,
        group=row.group,
        task=row.task,
        version=row.version,
        status="failure" if failing else "pending" if pending else "success",
        passing=len(found) - len(wrong),
        asked=len(found),
        where=tuple(
            FailingPlace(alloc.id, index_of(alloc), alloc.node_name) for alloc, _ in wrong[:_NAMED]
        ),
        more=max(0, len(wrong) - _NAMED),
        answer=shown.answer,
        asked_at=shown.asked_at,
    )


def _place(each: tuple[Allocation, AnsweredCheck]) -> tuple[Any, ...]:
    return natural(each[0].name), each[0].id


def _asked_at(line: AnsweredCheck) -> int:
    return line.asked_at


def _sentence(
    told: JobChecks, lines: Sequence[CheckedVersion], allocs: dict[str, Allocation]
) -> str:
    """`10 of 12 pass in 4 running allocations; 2 of these have one that fails`."""
    failing = {
        alloc_id
        for alloc_id in allocs
        if any(line.status == "failure" for line in answered_checks(told.found[alloc_id]))
    }
    passing = gettext("{passing} of {count} pass in {allocation}").format(
        passing=number(sum(line.passing for line in lines)),
        count=number(sum(line.asked for line in lines)),
        allocation=count_of(len(allocs), "{count} allocation", "{count} allocations"),
    )
    if not failing:
        return passing
    told_failing = ngettext(
        "{count} has one that fails", "{count} have one that fails", len(failing)
    )
    return f"{passing}; {told_failing.format(count=number(len(failing)))}"


def _why_none(job: Job, told: JobChecks) -> str:
    if not has_checks(job):
        return gettext("Its services ask for no checks.")
    if not told.running:
        return gettext("Nothing of it runs, so nothing is checked.")
    if told.away == told.asked:
        return gettext("No node of this job answers.")
    return gettext(
        "No check was begun: that is so until tasks have started, and always on simulated nodes."
    )
