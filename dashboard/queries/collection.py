"""What is collected, on the page "Inside": how old it must be, what went last, when next.

In: the newest run of each core job, and the settings. Out: lines of a table.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.translation import gettext

from dashboard.texts import plural
from dashboard.wording import NONE, age, count_of, span
from scheduler.ports import StateReader
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.structs.collection import Collection, CollectionSettings, CoreJob

_SECOND = 1_000_000_000
_COUNTED = (
    ("evaluations", *plural("{count} evaluation", "{count} evaluations")),
    ("allocations", *plural("{count} allocation", "{count} allocations")),
    ("jobs", *plural("{count} job", "{count} jobs")),
    ("deployments", *plural("{count} deployment", "{count} deployments")),
    ("nodes", *plural("{count} node", "{count} nodes")),
    ("tokens", *plural("{count} token", "{count} tokens")),
)


class CollectionLine(NamedTuple):
    """One core job."""

    core_job: str
    what: str
    #: How old its rows must be.
    kept: str
    #: When it last ended, ns; 0 for never.
    ended_at: int
    #: What it deleted, and how long that took.
    last: str
    #: When it runs next.
    upcoming: str


def collection_lines(
    stored: Mapping[str, Collection], settings: CollectionSettings, now: int
) -> list[CollectionLine]:
    """A line for each core job that has work, and one for what operators demand."""
    hours = {
        name: span(round(getattr(settings, name) * _SECOND)) for name in settings.__struct_fields__
    }
    of_batch = hours["batch_evaluation_age"]
    told = (
        (
            CoreJob.EVALUATIONS,
            gettext("Ended evaluations, with their allocations"),
            gettext("{evaluation_age} ({of_batch} of batch jobs) after the last change").format(
                evaluation_age=hours["evaluation_age"], of_batch=of_batch
            ),
        ),
        (
            CoreJob.JOBS,
            gettext("Dead jobs, with all that is theirs"),
            gettext("{job_age} after they were submitted; tagged ones for ever").format(
                job_age=hours["job_age"]
            ),
        ),
        (
            CoreJob.DEPLOYMENTS,
            gettext("Ended deployments"),
            gettext("{deployment_age} after the last change").format(
                deployment_age=hours["deployment_age"]
            ),
        ),
        (
            CoreJob.NODES,
            gettext("Nodes that are down and empty"),
            gettext("{node_age} after they went down").format(node_age=hours["node_age"]),
        ),
        *(
            (
                core_job,
                gettext("Expired {word}API tokens").format(word=word),
                gettext("{token_age} after they expired").format(token_age=hours["token_age"]),
            )
            for core_job, word in (
                (CoreJob.LOCAL_TOKENS, ""),
                (CoreJob.GLOBAL_TOKENS, gettext("global ")),
            )
        ),
    )
    lines = [
        _line(stored, core_job, what, f"{kept}.", _upcoming(stored, core_job, settings, now))
        for core_job, what, kept in told
    ]
    forced = stored.get(CoreJob.FORCED, Collection(name=CoreJob.FORCED))
    awaited = (
        gettext("asked for {demanded_at} ago").format(demanded_at=age(forced.demanded_at, now))
        if forced.is_awaited
        else NONE
    )
    what = gettext("All of these, on demand")
    return [*lines, _line(stored, CoreJob.FORCED, what, gettext("However young it is."), awaited)]


def read_collections(reader: StateReader) -> dict[str, Collection]:
    """The newest runs, by core job."""
    return {row.name: row for row in reader.list_all(COLLECTIONS)}


def _line(
    stored: Mapping[str, Collection],
    core_job: CoreJob,
    what: str,
    kept: str,
    upcoming: str,
) -> CollectionLine:
    row = stored.get(core_job, Collection(name=core_job))
    return CollectionLine(core_job.value, what, kept, row.ended_at, _last(row), upcoming)


def _last(row: Collection) -> str:
    if not row.started_at:
        return gettext("never yet")
    counts = [
        count_of(count, one, many)
        for field, one, many in _COUNTED
        if (count := getattr(row, field))
    ]
    told = ", ".join(counts) or "nothing"
    if not row.ended_at:
        return gettext("{told}, and it goes on").format(told=told)
    return gettext("{told}, in {ended_at}").format(
        told=told, ended_at=span(row.ended_at - row.started_at)
    )


def _upcoming(
    stored: Mapping[str, Collection], core_job: CoreJob, settings: CollectionSettings, now: int
) -> str:
    interval = round(settings.intervals[core_job] * _SECOND)
    row = stored.get(core_job)
    due = row.started_at + interval if row else 0
    # A leader that took over since began its intervals anew.
    return (
        gettext("runs {due}").format(due=age(due, now))
        if due > now
        else gettext("runs within {interval}").format(interval=span(interval))
    )
