"""A drain of many nodes, a few at a time: the next begins when one is done."""

from enum import StrEnum

from scheduler.structs.wire import Duration, Instant, Wire


class StagedDrainStatus(StrEnum):
    """Where a staged drain stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    CANCELED = "canceled"


class StagedDrain(Wire, frozen=True):
    """Nodes in the order in which they drain. What each does stands in its own drain."""

    id: str = ""
    node_ids: tuple[str, ...] = ()
    #: So many of them have had their turn, from the first on.
    begun: int = 0
    #: Of those, the ones that were not seen done yet.
    draining: tuple[str, ...] = ()
    #: So many drain at once.
    at_once: int = 1
    #: Of each node's drain: none (0), by force (less than 0), or so long after its own beginning.
    deadline: Duration = 0
    ignore_system_jobs: bool = False
    #: Nodes that were closed before their turn, so that nothing moves to them from another.
    closed: tuple[str, ...] = ()
    #: Who asked, and what was said about it.
    by_id: str = ""
    by_name: str = ""
    meta: dict[str, str] = {}
    status: StagedDrainStatus = StagedDrainStatus.RUNNING
    create_time: Instant = 0
    modify_time: Instant = 0
    create_index: int = 0
    modify_index: int = 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """Those whose turn has not come; of one that ended none."""
        is_running = self.status is StagedDrainStatus.RUNNING
        return self.node_ids[self.begun :] if is_running else ()
