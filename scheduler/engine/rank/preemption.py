"""Which lower-priority allocations to evict from one node, at least cost (placement.md 10)."""

from typing import NamedTuple

from scheduler.engine.context import EvalContext
from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.rank.grant import Grant
from scheduler.engine.rank.room import Room
from scheduler.state.node_use import UseSum
from scheduler.structs.allocation import Allocation
from scheduler.structs.job import Job


class Eviction(NamedTuple):
    """Who has to go from a node, and what the placement is then given."""

    victims: tuple[Allocation, ...]
    grant: Grant
    #: What the fit is scored on (placement.md 10.5).
    after: UseSum
    score: float


class Preemptor:
    """Finds evictions for one group."""

    def __init__(self, context: EvalContext, job: Job, ask: GroupAsk, room: Room) -> None:
        self._context = context

    def evict_for(self, row: int) -> Eviction | None:
        """The cheapest eviction that makes room on a row; None when none does."""
        return None
