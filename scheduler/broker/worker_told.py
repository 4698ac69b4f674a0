"""What the leader tells of its worker processes. Plain values for pages."""

from scheduler.structs.counted import MINUTE, CountedTime
from scheduler.structs.wire import Wire


class HeldFor(Wire, frozen=True):
    """An evaluation in the hands of a worker process."""

    eval_id: str = ""
    #: Whether its run has begun.
    begun: bool = False
    seconds: float = 0.0


class WorkerTold(Wire, frozen=True):
    """One worker process that lives."""

    process: str = ""
    #: Within the last minute: `held`, seconds in which it held work, and `plans`.
    lately: CountedTime = CountedTime(stretch=MINUTE, seconds=0.0)
    held: tuple[HeldFor, ...] = ()
