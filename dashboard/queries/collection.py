"""What is collected, on the page "Inside": how old it must be, what went last, when next.

In: the newest run of each core job, and the settings. Out: lines of a table.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dashboard.wording import NONE, age, count_of, span
from scheduler.ports import StateReader
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.structs.collection import Collection, CollectionSettings, CoreJob

_SECOND = 1_000_000_000
_COUNTED = (
    ("evaluations", "evaluation"),
    ("allocations", "allocation"),
    ("jobs", "job"),
    ("deployments", "deployment"),
    ("nodes", "node"),
    ("tokens", "token"),
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
            "Ended evaluations, with their allocations",
            f"{hours['evaluation_age']} ({of_batch} of batch jobs) after the last change",
        ),
        (
            CoreJob.JOBS,
            "Dead jobs, with all that is theirs",
            f"{hours['job_age']} after they were submitted; tagged ones for ever",
        ),
        (
            CoreJob.DEPLOYMENTS,
            "Ended deployments",
            f"{hours['deployment_age']} after the last change",
        ),
        (
            CoreJob.NODES,
            "Nodes that are down and empty",
            f"{hours['node_age']} after they went down",
        ),
        *(
            (
                core_job,
                f"Expired {word}API tokens",
                f"{hours['token_age']} after they expired",
            )
            for core_job, word in ((CoreJob.LOCAL_TOKENS, ""), (CoreJob.GLOBAL_TOKENS, "global "))
        ),
    )
    lines = [
        _line(stored, core_job, what, f"{kept}.", _upcoming(stored, core_job, settings, now))
        for core_job, what, kept in told
    ]
    forced = stored.get(CoreJob.FORCED, Collection(name=CoreJob.FORCED))
    awaited = f"asked for {age(forced.demanded_at, now)} ago" if forced.is_awaited else NONE
    what = "All of these, on demand"
    return [*lines, _line(stored, CoreJob.FORCED, what, "However young it is.", awaited)]


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
        return "never yet"
    counts = [
        count_of(getattr(row, field), word) for field, word in _COUNTED if getattr(row, field)
    ]
    told = ", ".join(counts) or "nothing"
    if not row.ended_at:
        return f"{told}, and it goes on"
    return f"{told}, in {span(row.ended_at - row.started_at)}"


def _upcoming(
    stored: Mapping[str, Collection], core_job: CoreJob, settings: CollectionSettings, now: int
) -> str:
    interval = round(settings.intervals[core_job] * _SECOND)
    row = stored.get(core_job)
    due = row.started_at + interval if row else 0
    # A leader that took over since began its intervals anew.
    return f"runs {age(due, now)}" if due > now else f"runs within {span(interval)}"
