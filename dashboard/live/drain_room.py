"""The board of one drain, live: its node, what was on it, and what replaces it or fails to."""

from dashboard.live.rooms import Room, panels_of
from dashboard.live.subscriptions import Subscription
from dashboard.queries.drains import may_be_held_up, on_board
from scheduler.ports import StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import LastDrain


class DrainRoom(Room):
    """Without a key: the list of drains. With one: the board of that node."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self._moving: set[str] = set()
        #: The jobs of all that is here: a blocked evaluation of one holds its allocations up.
        self._jobs: set[JobKey] = set()
        if subscription.key:
            self.panels = panels_of("drain")

    def load(self, reader: StateReader) -> None:
        """Know who is here, so that replacements and what they wait for are recognised."""
        node = reader.node(self.subscription.key) if self.subscription.key else None
        if node is not None:
            last = node.last_drain or LastDrain()
            here = reader.allocations_by_node(node.id)
            self._moving = {alloc.id for alloc in on_board(here, last)}
            self._jobs = {alloc.job_key for alloc in here if may_be_held_up(alloc)}

    def concerns(self, event: StateEvent) -> bool:
        """The node, what is on it, what replaces that, and what keeps it from being replaced."""
        if not self.subscription.key:
            return event.topic in (Topic.NODE, Topic.NODE_USE)
        if event.topic is Topic.NODE:
            return event.key == self.subscription.key
        value = event.value
        if isinstance(value, Evaluation):
            return self.subscription.shows(value.namespace) and value.job_key in self._jobs
        return isinstance(value, Allocation) and self._concerns_allocation(value)

    def _concerns_allocation(self, alloc: Allocation) -> bool:
        if alloc.node_id != self.subscription.key:
            return alloc.previous_allocation in self._moving
        self._moving.add(alloc.id)
        if may_be_held_up(alloc):
            self._jobs.add(alloc.job_key)
        return True
