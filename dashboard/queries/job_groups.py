"""The groups of a job's page: what each asks for, its counts, and its open allocations drawn.

In: a reader, a job, an order of the drawing. Out: the context of `_job_groups.html`. Each order is
a topic of its own, so that an open page is told what it shows and nothing else.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext_noop

from cluster.jobspec.left_out import left_out_warnings
from cluster.page_addresses import job_url
from cluster.store.ports import Listing, RecordReader
from dashboard.hundreds import (
    HundredLine,
    StandingAlloc,
    by_node,
    exceptions_of,
    hundreds_of,
    rank_of,
)
from dashboard.queries.allocations import cell_context, index_of, open_of_job, state_of
from dashboard.queries.job_lists import BY_NAME
from dashboard.queries.jobs import Counts, group_counts
from dashboard.queries.list_wish import place_text
from dashboard.subscription import Subscription
from dashboard.topology_view import TopologyView
from scheduler.state import nouns
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType
from scheduler.structs.task_group import TaskGroup

#: Open allocations that are read for the groups; more are counted only.
MAX_OPEN = 2000
#: The provider whose services are in the record.
_OF_RECORD = "nomad"
#: So many are shown one by one; of more, what is as wanted is behind a fold.
MOST_CELLS = 24
#: Lines of one group by node; more are counted only.
MOST_NODES = 60
#: How the drawing is ordered, and the topic of each order.
VIEWS: Mapping[str, tuple[str, str]] = {
    "number": ("job-by-number", gettext_noop("By number")),
    "state": ("job-by-state", gettext_noop("By state")),
    "node": ("job-by-node", gettext_noop("By node")),
}
#: What a list of allocations is narrowed to for a count of `Counts.named`.
_LISTED = frozenset({"running", "pending", "unknown", "complete", "failed", "lost"})


class CountLink(msgspec.Struct, frozen=True, kw_only=True):
    """How many allocations of a group are in one state, and where they are listed."""

    tone: str
    word: str
    count: int
    url: str


class LineShown(msgspec.Struct, frozen=True, kw_only=True):
    """A line of many, and where it leads."""

    line: HundredLine
    url: str


class GroupLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group: what it asks for, its counts, and its open allocations."""

    group: TaskGroup
    counts: Counts
    links: tuple[CountLink, ...]
    cpu_mhz: int
    memory_mb: int
    #: In sight one by one: all of a few, of many those that are not as wanted.
    cells: tuple[dict[str, Any], ...]
    #: Behind a fold: all of more than a few.
    folded: tuple[dict[str, Any], ...]
    #: In place of the cells where there are many.
    lines: tuple[LineShown, ...]
    #: How many are not as wanted, and how many of these are not shown; 0 of a few.
    apart: int
    more: int
    #: Lines that are not drawn.
    hidden: int


def view_of(text: str) -> str:
    """The order that an address asks for."""
    return text if text in VIEWS else "number"


def _services_url(job: Job) -> str:
    """Where its services are listed; empty where the record has none of them."""
    offers = any(
        service.provider == _OF_RECORD
        for group in job.task_groups
        for services in (group.services, *(task.services for task in group.tasks))
        for service in services
    )
    wish = urlencode({"namespace": job.namespace, "job": job.id})
    return f"/services/?{wish}" if offers else ""


def groups_context(reader: RecordReader, job: Job, view: str) -> dict[str, Any]:
    """The groups and their open allocations."""
    allocs = open_of_job(reader, job.key, MAX_OPEN + 1)
    groups = _groups(reader, job, allocs[:MAX_OPEN], view)
    return {
        "job": job,
        "groups": groups,
        "is_folded": any(line.lines or line.folded for line in groups),
        "views": _views(job, view) if allocs else (),
        "drawn": MAX_OPEN if len(allocs) > MAX_OPEN else 0,
        "open_allocations": min(len(allocs), MAX_OPEN),
        "allocations_url": job_url(job.key, tab="allocations"),
        "services_url": _services_url(job),
        "topology_url": TopologyView(namespace=job.namespace, job=job.id).address(),
        "replaces_at_once": _replaces_at_once(job),
        "is_everywhere": job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value},
        "left_out": () if job.stop else left_out_warnings(job),
    }


def groups_panel(
    reader: RecordReader, subscription: Subscription, _now: int, *, view: str
) -> Mapping[str, Any]:
    """Its groups and their open allocations; none once it is purged."""
    namespace, _, job_id = subscription.key.partition("/")
    job = reader.job(JobKey(namespace, job_id))
    if job is None:
        return {"groups": ()}
    return {**groups_context(reader, job, view), "may": subscription.may}


#: By the topic of the order.
PANELS = {topic: partial(groups_panel, view=view) for view, (topic, _) in VIEWS.items()}


def _views(job: Job, chosen: str) -> tuple[dict[str, Any], ...]:
    page = job_url(job.key, tab="overview")
    return tuple(
        {"word": word, "url": f"{page}&groups={view}", "is_current": view == chosen}
        for view, (_, word) in VIEWS.items()
    )


def _replaces_at_once(job: Job) -> bool:
    """Whether a change is not rolled out step by step."""
    if job.type != JobType.SERVICE.value or job.stop:
        return False
    return any(group.update is None or not group.update.max_parallel for group in job.task_groups)


def _groups(
    reader: RecordReader, job: Job, allocs: Sequence[Allocation], view: str
) -> tuple[GroupLine, ...]:
    counts = group_counts(job, reader.get(JOB_SUMMARIES, job.key))
    open_here: dict[str, list[Allocation]] = {}
    for alloc in allocs:
        open_here.setdefault(alloc.task_group, []).append(alloc)
    return tuple(
        _group_line(reader, job, group, counts[group.name], open_here.get(group.name, ()), view)
        for group in job.task_groups
    )


def _group_line(
    reader: RecordReader, job: Job, group: TaskGroup, counts: Counts,
    allocs: Sequence[Allocation], view: str,
) -> GroupLine:  # fmt: skip
    standings = [StandingAlloc(alloc, index_of(alloc), state_of(alloc)) for alloc in allocs]
    if view == "state":
        standings.sort(key=lambda each: rank_of(each.state))
    hundreds = hundreds_of(standings, by_turn=view == "state")
    lines: Sequence[HundredLine] = hundreds.lines if hundreds is not None else ()
    if view == "node":
        lines = by_node(standings)
    apart = exceptions_of(standings)
    is_few = len(standings) <= MOST_CELLS and not lines
    shown = standings if is_few else apart[:MOST_CELLS]
    return GroupLine(
        group=group,
        counts=counts,
        links=_links(job, group, counts),
        cpu_mhz=sum(task.resources.cpu for task in group.tasks),
        memory_mb=sum(task.resources.memory_mb for task in group.tasks),
        cells=_cells(shown),
        folded=() if is_few or lines else _cells(standings),
        lines=tuple(
            LineShown(line=line, url=_line_url(reader, job, group, line, view))
            for line in lines[:MOST_NODES]
        ),
        apart=0 if is_few else len(apart),
        more=0 if is_few else max(len(apart) - MOST_CELLS, 0),
        hidden=max(len(lines) - MOST_NODES, 0),
    )


def _cells(standings: Sequence[StandingAlloc]) -> tuple[dict[str, Any], ...]:
    return tuple(cell_context(each.alloc) for each in standings)


def _links(job: Job, group: TaskGroup, counts: Counts) -> tuple[CountLink, ...]:
    return tuple(
        CountLink(tone=tone, word=word, count=count, url=_count_url(job, group, tone))
        for tone, word, count, _ in counts.named
    )


def _count_url(job: Job, group: TaskGroup, state: str) -> str:
    if state == "blocked":
        return f"{job_url(job.key, tab='evaluations')}&status=blocked"
    if state not in _LISTED:
        return ""
    return f"{_listed(job, group)}&{urlencode({'status': state})}"


def _listed(job: Job, group: TaskGroup) -> str:
    return f"{job_url(job.key, tab='allocations')}&{urlencode({'group': group.name})}"


def _line_url(
    reader: RecordReader, job: Job, group: TaskGroup, line: HundredLine, view: str
) -> str:
    """The list from the first of a line on, in the order of the drawing; of a node, what is on it.

    One order by state there is none of: its lines lead nowhere.
    """
    if view == "state":
        return ""
    if view == "node":
        return f"{_listed(job, group)}&{urlencode({'node': line.first.node_id})}"
    listing = Listing(sort=BY_NAME.columns)
    place = place_text(reader.place_in(nouns.ALLOCATIONS, listing, line.first))
    return f"{_listed(job, group)}&{urlencode({'wanted': 'run', 'sort': 'name', 'after': place})}"
