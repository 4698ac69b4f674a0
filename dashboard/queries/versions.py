"""The versions of a job: the list, two of them compared, and what going back to one would change.

In: a reader, the job, and which two an address asks for. Out: contexts of `_job_versions.html` and
`_version_difference.html`. Versions are few: they are read whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from django.utils.translation import gettext

from cluster.jobspec.diff import diff_jobs
from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.queries.differences import DiffLine, diff_lines
from dashboard.queries.listings import newest_of_job
from dashboard.queries.version_authors import Author, authors_of
from dashboard.queries.version_texts import FILE, VIEWS, WholeTexts, whole_texts
from dashboard.subscription import Subscription
from dashboard.versions import (
    changes_told,
    comparison_told,
    counts_told,
    going_back,
    kept_told,
    version_state,
)
from scheduler.state import nouns
from scheduler.state.writes.jobs import KEPT_VERSIONS
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Deployments that are looked at for how versions fared; more than versions are kept.
_DEPLOYMENTS = 100


class VersionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One version: how it stands, what it changed, whether one may go back to it."""

    job: Job
    state: str
    word: str
    told: str
    #: What going back to it means; empty for the current one.
    consequence: str
    #: Counts of today that differ from its own; empty where none do.
    counts: str
    author: Author
    #: Where its text stands whole.
    url: str
    is_from: bool
    is_to: bool


class TwoVersions(msgspec.Struct, frozen=True, kw_only=True):
    """Two versions side by side."""

    older: Job
    newer: Job
    told: str
    lines: tuple[DiffLine, ...]
    #: Why there are none of whole texts; empty where there are, or nothing differs.
    why_none: str
    #: Links to the same two as changes, as files, as JSON: word, address, whether it is shown.
    views: tuple[tuple[str, str, bool], ...]
    #: The address of the same two, the other way round.
    turned: str


def versions_context(
    reader: RecordReader, job: Job, chosen: tuple[str, str] = ("", ""), shown_as: str = ""
) -> dict[str, Any]:
    """The list and the comparison that the address asks for, else that of the newest two.

    `shown_as` is a word of `VIEWS`; any other is as good as none.
    """
    view = shown_as if shown_as in {word for word, _ in VIEWS} else ""
    versions: Sequence[Job] = reader.job_versions(job.key)
    by_number = {str(version.version): version for version in versions}
    wants_two = any(chosen)
    pair = tuple(by_number.get(each) for each in chosen) if wants_two else _newest_two(versions)
    older, newer = pair
    is_whole = older is not None and newer is not None
    return {
        "job": job,
        "versions": _lines(reader, versions, older, newer),
        "current": versions[0].version if versions else 0,
        "kept": kept_told(versions),
        "kept_limit": KEPT_VERSIONS,
        "compare": _form(job.key),
        "own_url": f"{job_url(job.key, tab='versions')}&own=1#own-text",
        "comparison": _compared(reader, older, newer, view) if older and newer else None,
        # Such a comparison is not exchanged for that of the newest two.
        "is_chosen": wants_two or view != "",
        "view": view,
        "misses": not is_whole and (wants_two or len(versions) > 1),
    }


def versions_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """The list and the newest two; nothing once the job is purged."""
    namespace, _, job_id = subscription.key.partition("/")
    job = reader.job(JobKey(namespace, job_id))
    if job is None:
        return {"job": None, "versions": (), "comparison": None}
    return {**versions_context(reader, job), "may": subscription.may}


def _newest_two(versions: Sequence[Job]) -> tuple[Job | None, Job | None]:
    newest = versions[0] if versions else None
    return (versions[1] if len(versions) > 1 else None), newest


def _compared(reader: RecordReader, older: Job, newer: Job, view: str) -> TwoVersions:
    diff = diff_jobs(older, newer)
    is_one = older.version == newer.version and view != ""
    told = "" if is_one else comparison_told(older, newer, diff)
    whole = whole_texts(reader, older, newer, view) if view else WholeTexts(diff_lines(diff))
    return TwoVersions(
        older=older,
        newer=newer,
        told=told,
        lines=whole.lines,
        why_none=whole.why_none,
        views=tuple(
            (gettext(word), _address(older, newer, name), name == view) for name, word in VIEWS
        ),
        turned=_address(newer, older, view),
    )


def _address(older: Job, newer: Job, view: str) -> str:
    """Where two versions are compared."""
    wish = {"from": older.version, "to": newer.version} | ({"as": view} if view else {})
    return f"{job_url(older.key, tab='versions')}&{urlencode(wish)}"


def _form(key: JobKey) -> dict[str, Any]:
    """Where the form that compares leads: a GET form loses the query of its address."""
    path, _, query = job_url(key, tab="versions").partition("?")
    return {"path": path, "fields": parse_qsl(query, keep_blank_values=True)}


def _lines(
    reader: RecordReader, versions: Sequence[Job], older: Job | None, newer: Job | None
) -> tuple[VersionLine, ...]:
    if not versions:
        return ()
    rollouts: dict[int, DeploymentStatus] = {}
    for each in reader.page(nouns.DEPLOYMENTS, newest_of_job(versions[0].key, _DEPLOYMENTS)):
        if each.job_create_index == versions[0].create_index:
            rollouts.setdefault(each.job_version, each.status)
    authors = authors_of(reader, versions)
    lines = []
    for version, before in zip(versions, [*versions[1:], None], strict=True):
        state, word = version_state(version, versions[0], rollouts.get(version.version))
        is_current = version.version == versions[0].version
        lines.append(
            VersionLine(
                job=version,
                state=state,
                word=word,
                told=changes_told(diff_jobs(before, version))
                if before
                else gettext("the oldest kept"),
                consequence="" if is_current else going_back(versions[0], version),
                counts="" if is_current else counts_told(versions[0], version),
                author=authors[version.version],
                url=_address(version, version, FILE),
                is_from=older is not None and version.version == older.version,
                is_to=newer is not None and version.version == newer.version,
            )
        )
    return tuple(lines)
