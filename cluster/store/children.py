"""What a periodic or parameterized job has launched, from the database.

In: a reader and the parent's key. Out: its children, newest first, and when work of them began and
changed last; one statement each.
"""

from collections.abc import Collection

from cluster.store.ports import Span
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.timestamps import instant
from scheduler.state.nouns import JOBS
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.periodic_launch import PeriodicLaunch

#: The second half lets the planner see that the partial index will do.
_OF_PARENT = "namespace = %s AND parent_id = %s AND NOT (parent_id = '')"


def children_of(reader: DjangoStateReader, key: JobKey, at_most: int) -> list[Job]:
    """Those made last, newest first."""
    return reader.select(
        JOBS, _OF_PARENT, tuple(key), f"create_index DESC, job_id DESC LIMIT {int(at_most)}"
    )


def spans_of(
    reader: DjangoStateReader, namespace: str, job_ids: Collection[str]
) -> dict[str, Span]:
    """By job of a namespace: when its first allocation came and the last one changed, ns."""
    wanted = tuple(sorted(job_ids))
    if not wanted:
        return {}
    found = reader.rows(
        "SELECT job_id, MIN(created_at), MAX(modified_at) FROM allocation"  # noqa: S608 - names of our own tables only
        f" WHERE namespace = %s AND job_id IN ({placeholders(len(wanted))}) GROUP BY job_id",
        (namespace, *wanted),
    )
    return {str(job_id): Span(instant(first), instant(last)) for job_id, first, last in found}


def launches_among(
    reader: DjangoStateReader, keys: Collection[JobKey]
) -> dict[JobKey, PeriodicLaunch]:
    """What is kept of the launches of those of these jobs that have any."""
    ids = sorted({key.job_id for key in keys})
    if not ids:
        return {}
    spaces = sorted({key.namespace for key in keys})
    where = f"namespace IN ({placeholders(len(spaces))}) AND job_id IN ({placeholders(len(ids))})"
    found = reader.select(PERIODIC_LAUNCHES, where, (*spaces, *ids))
    return {each.key: each for each in found if each.key in keys}
