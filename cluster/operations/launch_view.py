"""What a page says of the launches of a periodic job: the next ones, and what became of the last.

In: a job, what the record keeps of its launches (`PERIODIC_LAUNCHES`), `now`. Out: a value. Reads
nothing itself.
"""

import msgspec

from cluster.jobspec.launch_times import next_due
from scheduler.structs.job import Job
from scheduler.structs.periodic_launch import PastLaunch, PeriodicLaunch, is_credible

UPCOMING = 5


class LaunchView(msgspec.Struct, frozen=True, kw_only=True):
    """The launches of one job; instants in ns since the Unix epoch."""

    #: None when it is switched off or stopped, or its schedule has ended. In the past while nobody
    #: leads, or until the leader has decided it.
    next_due: int | None
    #: The next ones after now.
    upcoming: tuple[int, ...]
    #: What became of the last ones that are kept, newest first.
    past: tuple[PastLaunch, ...]
    #: Children that were made in all, and when the newest was; 0 when there was none.
    launched: int
    last_launch: int


def launch_view(
    job: Job, launches: PeriodicLaunch | None, *, now: int, at_most: int = UPCOMING
) -> LaunchView:
    """The launches of a job as they look now."""
    known = launches or PeriodicLaunch()
    upcoming: list[int] = []
    after = now
    while job.launches_by_time and len(upcoming) < at_most:
        due = next_due(job, after)
        if due is None:
            break
        upcoming.append(due)
        after = due
    decided_to = known.decided_to if is_credible(known.decided_to, now) else now
    return LaunchView(
        next_due=next_due(job, decided_to) if job.launches_by_time else None,
        upcoming=tuple(upcoming),
        past=known.history[::-1],
        launched=known.launched,
        last_launch=known.launch if known.launched else 0,
    )
