"""How far the launches of a periodic job are decided: kept beside it (control-plane.md 12).

In: writes of jobs, and what became of launches. Out: a `PeriodicLaunch` put. Computes no times.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.job import Job
from scheduler.structs.periodic_launch import (
    KEPT_LAUNCHES,
    LaunchOutcome,
    PastLaunch,
    PeriodicLaunch,
)

_MADE_A_CHILD = (LaunchOutcome.RAN, LaunchOutcome.FORCED)


def launches_of(change: Change, job: Job) -> PeriodicLaunch:
    """What is known of a job's launches; of one that was never followed, nothing."""
    found = change.get(PERIODIC_LAUNCHES, job.key)
    return found or PeriodicLaunch(
        namespace=job.namespace, job_id=job.id, create_index=change.index
    )


def follow_schedule(change: Change, before: Job | None, job: Job) -> None:
    """Begin from now with a schedule that is new, was changed, or was switched on again.

    As long as a job's schedule stays, a new version of it loses none of its launches.
    """
    if not job.launches_by_time:
        return
    launches = launches_of(change, job)
    goes_on = before is not None and before.launches_by_time and before.periodic == job.periodic
    if goes_on and launches.decided_to:
        return
    # What was launched before is not launched again, should the clock have been set back.
    decided_to = max(launches.decided_to, change.now)
    first = launches.launch or change.now
    _put(change, replace(launches, launch=first, decided_to=decided_to))


def note_launches(
    change: Change, launches: PeriodicLaunch, news: Iterable[PastLaunch], *, launch: int = 0
) -> None:
    """Add to what became of launches; `launch` is when one was made, 0 when none was.

    What somebody asked for twice in one second is one launch.
    """
    asked = {each.child_id for each in launches.history if each.outcome is LaunchOutcome.FORCED}
    news = tuple(
        each
        for each in news
        if each.outcome is not LaunchOutcome.FORCED or each.child_id not in asked
    )
    made = sum(each.outcome in _MADE_A_CHILD for each in news)
    _put(
        change,
        replace(
            launches,
            launch=launch or launches.launch,
            launched=launches.launched + made,
            history=(*launches.history, *news)[-KEPT_LAUNCHES:],
        ),
    )


def _put(change: Change, launches: PeriodicLaunch) -> None:
    change.put(PERIODIC_LAUNCHES, replace(launches, modify_index=change.index))
