"""A rehearsal as the record keeps it for a while: what was asked, how far it is, what was found.

It is no state of the cluster: nothing is scheduled by it. What was found is packed, and unpacked
where rehearsals are known.
"""

from enum import StrEnum

from scheduler.structs.wire import Duration, Instant, Wire


class RehearsalStatus(StrEnum):
    """Where a rehearsal stands."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED = frozenset({RehearsalStatus.COMPLETE, RehearsalStatus.FAILED, RehearsalStatus.CANCELED})


class StoredRehearsal(Wire, frozen=True):
    """One that was asked for, and what became of it."""

    id: str = ""
    status: RehearsalStatus = RehearsalStatus.WAITING
    #: Why it failed or was canceled.
    reason: str = ""
    #: Who asked for it: id and name of the caller.
    by_id: str = ""
    by_name: str = ""
    #: The changes, as they were sent, in JSON.
    scenario: str = ""
    #: The process that runs it.
    process: str = ""
    asked_at: Instant = 0
    begun_at: Instant = 0
    #: Of its newest sign of life.
    seen_at: Instant = 0
    ended_at: Instant = 0
    #: Of the record it looked at; 0 until that is known.
    snapshot_index: int = 0
    #: How far it is: evaluations made, allocations placed and groups that wait, virtual time.
    evaluations: int = 0
    placed: int = 0
    waiting: int = 0
    lasts: Duration = 0
    #: Real time it took, and the most memory it held.
    took: Duration = 0
    memory_mb: int = 0
    #: What was found, packed; empty until it is complete.
    packed: bytes = b""
    create_index: int = 0
    modify_index: int = 0

    @property
    def has_ended(self) -> bool:
        """Nothing of it changes any more."""
        return self.status in ENDED
