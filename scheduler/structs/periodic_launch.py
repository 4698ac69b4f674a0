"""What became of the launches of a periodic job: kept beside it, newest last, a bounded number."""

from enum import StrEnum

from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.wire import Nanoseconds, Wire

#: Launches that are kept beside a job.
KEPT_LAUNCHES = 50
SECOND = 1_000_000_000
#: A clock may be set back by an hour or two, ns; what is decided further ahead was a mistake.
FAR_AHEAD = 24 * 3600 * SECOND


class LaunchOutcome(StrEnum):
    """What was done when a launch was due."""

    RAN = "ran"
    #: The one before still ran, and the job forbids overlap.
    SKIPPED = "skipped"
    #: Nobody led when it was due; one later launch stands for all that were missed.
    MISSED = "missed"
    #: Asked for by a person, whatever the schedule says.
    FORCED = "forced"


class PastLaunch(Wire, frozen=True):
    """One launch that was due, or asked for."""

    #: The time that the schedule names; of a forced one, when it was asked for.
    due: Nanoseconds = 0
    outcome: LaunchOutcome = LaunchOutcome.RAN
    #: When that was decided.
    at: Nanoseconds = 0
    #: The job it made; of a skipped one, the job that still ran. Empty for a missed one.
    child_id: str = ""

    @property
    def is_late(self) -> bool:
        """Whether it ran, but long after it was due: it stands for those missed before it."""
        return self.outcome is LaunchOutcome.RAN and self.at - self.due >= SECOND


class PeriodicLaunch(Wire, frozen=True):
    """How far the launches of a periodic job are decided, and what became of the last ones."""

    namespace: str = DEFAULT_NAMESPACE
    job_id: str = ""
    #: The newest launch; before the first one, when the job was registered.
    launch: Nanoseconds = 0
    #: Everything due until then is decided; the next launch is the first one after it. 0: nothing
    #: is, and the leader begins when it first sees the job.
    decided_to: Nanoseconds = 0
    #: Children that were made in all.
    launched: int = 0
    #: The newest last; at most `KEPT_LAUNCHES`.
    history: tuple[PastLaunch, ...] = ()
    create_index: int = 0
    modify_index: int = 0

    @property
    def key(self) -> JobKey:
        """Of the job."""
        return JobKey(self.namespace, self.job_id)


def is_credible(decided_to: int, now: int) -> bool:
    """Whether launches are decided up to there: not never, and not by a clock that was wrong."""
    return 0 < decided_to <= now + FAR_AHEAD


def child_id(parent_id: str, at: int) -> str:
    """The id of the child that is launched at an instant, in ns: whole seconds name it."""
    return f"{child_prefix(parent_id)}{at // SECOND}"


def child_prefix(parent_id: str) -> str:
    """What the ids of all launched children of a job begin with."""
    return f"{parent_id}/periodic-"
