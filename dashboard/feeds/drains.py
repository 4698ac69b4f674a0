"""Drains, live: their list, and the board of one: its node, what was on it, what replaces that."""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.queries.drains import may_be_held_up, on_board
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import LastDrain


class DrainsFeed(Feed):
    """The list of drains."""

    def concerns(self, event: StateEvent) -> bool:
        """Nodes, and what is left on them."""
        return event.topic in (Topic.NODE, Topic.NODE_USE, Topic.STAGED_DRAIN)


class StagedDrainFeed(Feed):
    """One staged drain."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._nodes: frozenset[str] = frozenset()

    def load(self, reader: RecordReader) -> None:
        """Know its nodes, which never change."""
        drain = reader.get(STAGED_DRAINS, self.subscription.key)
        self._nodes = frozenset(drain.node_ids) if drain is not None else frozenset()

    def concerns(self, event: StateEvent) -> bool:
        """The drain, its nodes, and what is left on them."""
        if event.topic == Topic.STAGED_DRAIN:
            return event.key == self.subscription.key
        return event.topic in (Topic.NODE, Topic.NODE_USE) and event.key in self._nodes


class DrainFeed(Feed):
    """The board of one node."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._moving: set[str] = set()
        #: The jobs of all that is here: a blocked evaluation of one holds its allocations up.
        self._jobs: set[JobKey] = set()

    def load(self, reader: RecordReader) -> None:
        """Know who is here, so that replacements and what they wait for are recognised."""
        node = reader.node(self.subscription.key)
        if node is not None:
            last = node.last_drain or LastDrain()
            here = reader.allocations_by_node(node.id)
            self._moving = {alloc.id for alloc in on_board(here, last)}
            self._jobs = {alloc.job_key for alloc in here if may_be_held_up(alloc)}

    def concerns(self, event: StateEvent) -> bool:
        """The node, what is on it, what replaces that, and what keeps it from being replaced."""
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
