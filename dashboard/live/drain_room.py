"""The board of one drain, live: its node, what was on it, and replacements elsewhere."""

from dashboard.live.rooms import PANELS, Room
from dashboard.live.subscriptions import Subscription
from dashboard.queries.drains import on_board
from scheduler.ports import StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import LastDrain


class DrainRoom(Room):
    """Without a key: the list of drains. With one: the board of that node."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self._moving: set[str] = set()
        if subscription.key:
            self.panels = PANELS.get("drain", [])

    def load(self, reader: StateReader) -> None:
        """Know who is on the board, so that replacements are recognised."""
        node = reader.node(self.subscription.key) if self.subscription.key else None
        if node is not None:
            last = node.last_drain or LastDrain()
            moving = on_board(reader.allocations_by_node(node.id), last)
            self._moving = {alloc.id for alloc in moving}

    def concerns(self, event: StateEvent) -> bool:
        """The node, what is on it, and what replaces that."""
        if not self.subscription.key:
            return event.topic in (Topic.NODE, Topic.NODE_USE)
        if event.topic is Topic.NODE:
            return event.key == self.subscription.key
        alloc = event.value
        if not isinstance(alloc, Allocation):
            return False
        if alloc.node_id == self.subscription.key:
            self._moving.add(alloc.id)
            return True
        return alloc.previous_allocation in self._moving
