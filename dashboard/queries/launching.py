"""What a job launches: by time, with its strip and list, or because somebody dispatches it.

In: a reader and a periodic or parameterized job. Out: the contexts of `_job_launches.html` and
`_job_dispatched.html`, in four reads. Other jobs cost none.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from django.utils.translation import gettext_noop

from cluster.jobspec.launch_times import next_due, zone_of
from cluster.operations.launch_view import UPCOMING, LaunchView, launch_view
from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.graphs.launches import Due, launch_strip
from dashboard.labels import label_for
from dashboard.launches import (
    LaunchFate,
    LaunchLine,
    fate_of,
    launch_lines,
    launches_counted,
    launches_told,
    usual_span,
)
from dashboard.queries.version_authors import Author, authors_of_jobs
from dashboard.subscription import Subscription
from dashboard.wording import due_time, has_seconds
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobChildrenSummary
from scheduler.structs.periodic_launch import KEPT_LAUNCHES, PeriodicLaunch

#: Children that are listed, and among how many of the newest those of one state are looked for.
MAX_CHILDREN, MAX_LOOKED_AT = 50, 500
_HOUR = 3600 * 10**9


class Drawn(NamedTuple):
    """Which launches the strip draws."""

    topic: str
    word: str
    heading: str
    #: How far back, ns; 0: the newest, however old.
    back: int = 0


class Dispatched(NamedTuple):
    """Which of the dispatched jobs are listed."""

    topic: str
    word: str
    #: Empty: all.
    states: frozenset[str] = frozenset()


DRAWN: Mapping[str, Drawn] = {
    "last": Drawn("job-launches", gettext_noop("Newest"), gettext_noop("The last launches")),
    "day": Drawn(
        "job-launches-day", gettext_noop("1 day"), gettext_noop("The last day"), 24 * _HOUR
    ),
    "week": Drawn(
        "job-launches-week", gettext_noop("1 week"), gettext_noop("The last week"), 7 * 24 * _HOUR
    ),
}
DISPATCHED: Mapping[str, Dispatched] = {
    "all": Dispatched("job-dispatched", gettext_noop("All")),
    "running": Dispatched(
        "job-dispatched-running", gettext_noop("Running"), frozenset({"running", "pending"})
    ),
    "failed": Dispatched("job-dispatched-failed", gettext_noop("Failed"), frozenset({"failed"})),
}
#: Launches that the strip draws.
MAX_MARKS = 40


class ChildLine(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was dispatched."""

    job: Job
    #: Its id without that of the job it was made from.
    name: str
    url: str
    fate: LaunchFate
    #: What it was given, of the keys that its parent asks for.
    given: tuple[tuple[str, str], ...]
    payload_bytes: int
    #: Who dispatched it.
    author: Author


class KeyLine(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of mark of the strip, counted."""

    kind: str
    tone: str
    count: int
    word: str


def launches_of(reader: RecordReader, job: Job, now: int) -> tuple[PeriodicLaunch, LaunchView]:
    """What is kept of the launches of a periodic job, and how they look now."""
    kept = reader.get(PERIODIC_LAUNCHES, job.key)
    return kept or PeriodicLaunch(), launch_view(job, kept, now=now)


def children_counts(reader: RecordReader, job: Job) -> JobChildrenSummary:
    """How many children are kept, by status."""
    summary = reader.get(JOB_SUMMARIES, job.key)
    return summary.children if summary is not None else JobChildrenSummary()


def launching_choices(query: Mapping[str, str]) -> tuple[str, str]:
    """Which launches and which dispatched jobs an address asks for, else the first choices."""
    drawn, dispatched = query.get("launches", ""), query.get("dispatched", "")
    return (
        drawn if drawn in DRAWN else "last",
        dispatched if dispatched in DISPATCHED else "all",
    )


def launching_topics(job: Job, query: Mapping[str, str]) -> tuple[str, ...]:
    """What the sections of a job follow; none of one that launches nothing."""
    drawn, dispatched = launching_choices(query)
    return (
        *([DRAWN[drawn].topic] if job.is_periodic else []),
        *([DISPATCHED[dispatched].topic] if job.is_parameterized else []),
    )


def launching_context(
    reader: RecordReader, job: Job, now: int, query: Mapping[str, str]
) -> dict[str, Any]:
    """Both sections; those that a job has nothing for are None."""
    drawn, choice = launching_choices(query)
    launches = _launches(reader, job, now, drawn) if job.is_periodic else None
    return {
        "job": job,
        "launches": launches,
        "dispatched": _dispatched(reader, job, choice) if job.is_parameterized else None,
    }


def launches_panel(
    reader: RecordReader, subscription: Subscription, now: int, *, drawn: str
) -> Mapping[str, Any]:
    """The launches again; None once the job is purged."""
    job = reader.job(_job_key(subscription))
    if job is None or not job.is_periodic:
        return {"job": job, "launches": None, "may": subscription.may}
    launches = _launches(reader, job, now, drawn)
    return {"job": job, "launches": launches, "may": subscription.may}


def dispatched_panel(
    reader: RecordReader, subscription: Subscription, _now: int, *, choice: str
) -> Mapping[str, Any]:
    """The dispatched jobs of a choice again; None once the job is purged."""
    job = reader.job(_job_key(subscription))
    if job is None or not job.is_parameterized:
        return {"job": job, "dispatched": None}
    return {"job": job, "dispatched": _dispatched(reader, job, choice)}


#: By the topic of the choice.
LAUNCH_PANELS = {view.topic: partial(launches_panel, drawn=drawn) for drawn, view in DRAWN.items()}
PANELS = {
    view.topic: partial(dispatched_panel, choice=choice) for choice, view in DISPATCHED.items()
}


def _job_key(subscription: Subscription) -> JobKey:
    namespace, _, job_id = subscription.key.partition("/")
    return JobKey(namespace, job_id)


def _launches(reader: RecordReader, job: Job, now: int, drawn: str) -> dict[str, Any]:
    kept, view = launches_of(reader, job, now)
    lines = launch_lines(view, launch_fates(reader, job, view))
    exact = any(has_seconds(due) for due in (*(line.due for line in lines), view.next_due or 0))
    word = partial(_due_word, exact=exact)
    back = DRAWN[drawn].back
    # From what is decided, not from now: nobody changes the page meanwhile.
    since = kept.decided_to - back if back else None
    shown = lines[:MAX_MARKS] if since is None else [x for x in lines if x.due >= since]
    is_cut = since is not None and len(lines) == len(shown) >= KEPT_LAUNCHES
    periodic = job.periodic
    assert periodic is not None, "only periodic jobs come here"
    return {
        "view": view,
        "lines": [
            {
                "line": line,
                "due": word(line.due, kept.decided_to),
                "url": job_url(JobKey(job.namespace, line.child)) if line.child else "",
                "why": _why(job, line),
            }
            for line in lines
        ],
        "next_word": word(view.next_due, kept.decided_to) if view.next_due else "",
        "told": launches_told(shown),
        "key": _key(shown),
        "strip": launch_strip(_dues(shown, view, kept.decided_to, word), now, since),
        "shown": len(shown),
        "heading": DRAWN[drawn].heading,
        "is_last": since is None,
        # The record holds no older ones, though there were some in this time.
        "kept_since": word(lines[-1].due, kept.decided_to) if is_cut else "",
        "choices": _choices(job, DRAWN, drawn, "launches=%s#strip-title"),
        "usual": usual_span(lines),
        "specs": (periodic.spec, *periodic.specs) if periodic.spec else periodic.specs,
        "zone": str(zone_of(periodic)),
        "overlaps": not periodic.prohibit_overlap,
        "upcoming": _upcoming(job, kept.decided_to) if view.next_due is not None else [],
        "kept_limit": KEPT_LAUNCHES,
    }


def _why(job: Job, line: LaunchLine) -> str:
    """Where it stands why it failed or was skipped; "" where there is nothing to see."""
    key = JobKey(job.namespace, line.child)
    if line.state == "failed":
        return f"{job_url(key, tab='allocations')}&status=failed"
    return job_url(key) if line.state == "skipped" and line.child else ""


def _choices(
    job: Job, views: Mapping[str, Drawn] | Mapping[str, Dispatched], chosen: str, address: str
) -> tuple[dict[str, Any], ...]:
    """Links to the views of one part of the overview; `address`: its query and anchor."""
    page = job_url(job.key, tab="overview")
    return tuple(
        {"word": view.word, "url": f"{page}&{address % choice}", "is_current": choice == chosen}
        for choice, view in views.items()
    )


def _upcoming(job: Job, decided_to: int) -> list[str]:
    """The next ones after what is decided, not after now: nobody changes the page meanwhile."""
    dues = [decided_to]
    while len(dues) <= UPCOMING and (due := next_due(job, dues[-1])) is not None:
        dues.append(due)
    exact = any(map(has_seconds, dues[1:]))
    return [due_time(due, before, with_seconds=exact) for before, due in pairwise(dues)]


def _key(lines: Sequence[LaunchLine]) -> list[KeyLine]:
    lines_of_key = []
    for kind, count in launches_counted(lines).items():
        label = label_for("launch", kind)
        lines_of_key.append(KeyLine(kind=kind, tone=label.tone, count=count, word=label.word))
    return lines_of_key


def _dues(
    lines: Sequence[LaunchLine],
    view: LaunchView,
    decided_to: int,
    word: Callable[[int, int], str],
) -> list[Due]:
    newest = lines[0].due if lines else decided_to
    dues = [
        Due(
            line.due,
            line.counted_as,
            label_for("launch", line.counted_as).tone,
            line.took,
            word(line.due, newest),
        )
        for line in lines
    ]
    if view.next_due is not None:
        dues.append(Due(view.next_due, "next", "", 0, word(view.next_due, newest)))
    return dues


def _due_word(instant: int, beside: int, *, exact: bool) -> str:
    """All of them are in UTC: it is said once. `exact`: one of them has seconds, so all do."""
    return due_time(instant, beside, with_seconds=exact).removesuffix(" UTC")


def _dispatched(reader: RecordReader, job: Job, choice: str) -> dict[str, Any]:
    states = DISPATCHED[choice].states
    looked_at = reader.children_of(job.key, MAX_LOOKED_AT if states else MAX_CHILDREN)
    summaries = reader.summaries_among({child.key for child in looked_at})
    spans = reader.spans_of(job.namespace, {child.id for child in looked_at})
    fates = {
        child.key: fate_of(child, summaries.get(child.key), spans.get(child.id))
        for child in looked_at
    }
    shown = [child for child in looked_at if not states or fates[child.key].state in states]
    del shown[MAX_CHILDREN:]
    authors = authors_of_jobs(reader, shown)
    rules = job.parameterized_job
    asked = (*rules.meta_required, *rules.meta_optional) if rules is not None else ()
    counts = children_counts(reader, job)
    return {
        "counts": counts,
        "limit": MAX_CHILDREN,
        "is_narrowed": bool(states),
        "looked_at": len(looked_at),
        "is_cut": len(looked_at) < counts.pending + counts.running + counts.dead,
        "choices": _choices(job, DISPATCHED, choice, "dispatched=%s#dispatched-title"),
        "lines": [
            ChildLine(
                job=child,
                name=child.id.removeprefix(f"{job.id}/"),
                url=job_url(child.key),
                fate=fates[child.key],
                given=tuple((name, child.meta[name]) for name in asked if name in child.meta),
                payload_bytes=_payload_bytes(child.payload),
                author=authors[child.key],
            )
            for child in shown
        ],
    }


def _payload_bytes(encoded: str) -> int:
    """Of base64 text; nothing is decoded."""
    return len(encoded) // 4 * 3 - encoded[-2:].count("=") if encoded else 0


def launch_fates(reader: RecordReader, job: Job, view: LaunchView) -> dict[str, LaunchFate]:
    """How far the launched jobs are that are kept, by their ids."""
    keys = {JobKey(job.namespace, each.child_id) for each in view.past if each.child_id}
    if not keys:
        return {}
    summaries = reader.summaries_among(keys)
    spans = reader.spans_of(job.namespace, {key.job_id for key in keys})
    return {
        child.id: fate_of(child, summaries.get(child.key), spans.get(child.id))
        for child in reader.jobs_among(keys)
        if child.parent_id == job.id
    }
