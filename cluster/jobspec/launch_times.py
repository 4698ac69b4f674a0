"""When a periodic job is due: the times that its cron expressions name, in its zone.

In: a job, instants in ns since the Unix epoch. Out: the same. Reads no clock.
"""

from collections import deque
from datetime import UTC, datetime, timedelta, tzinfo

from cluster.jobspec.cron import next_launch, time_zone
from scheduler.structs.job import Job, Periodic
from scheduler.structs.periodic_launch import KEPT_LAUNCHES

SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Of more times that have passed the first ones are looked at, then those that come last.
_FIRST_TIMES = 200
_MOST_TIMES = 1_000


def next_due(job: Job, after: int) -> int | None:
    """The first time after an instant at which the job is due; None when there is none."""
    found = next_local(job, after)
    return None if found is None else _instant(found)


def next_local(job: Job, after: int) -> datetime | None:
    """The same as a time in the zone of the job."""
    periodic = job.periodic
    if periodic is None:
        return None
    start = (_EPOCH + timedelta(seconds=after // SECOND)).astimezone(zone_of(periodic))
    found = [next_launch(each, start) for each in _expressions(periodic)]
    # Not by the clock on the wall, which shows some times twice.
    return min((each for each in found if each is not None), key=_instant, default=None)


def due_times(job: Job, after: int, until: int) -> tuple[int, ...]:
    """The times after one instant and up to another at which the job was due, newest last.

    At most those that are kept beside a job, and where there were very many perhaps fewer; never
    none when there was one.
    """
    found: deque[int] = deque(maxlen=KEPT_LAUNCHES)
    begin = after
    for number in range(1, _MOST_TIMES + 1):
        due = next_due(job, after)
        if due is None or due > until:
            break
        found.append(due)
        after = due
        if number == _FIRST_TIMES:
            spacing = (after - begin) // _FIRST_TIMES
            after = max(after, until - KEPT_LAUNCHES * spacing)
    return tuple(found)


def zone_of(periodic: Periodic) -> tzinfo:
    """The zone in which its times are meant."""
    return time_zone(periodic.time_zone) or UTC


def _expressions(periodic: Periodic) -> tuple[str, ...]:
    return (periodic.spec, *periodic.specs) if periodic.spec else periodic.specs


def _instant(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1) * SECOND
