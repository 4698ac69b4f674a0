"""Node pools, live: what is held there is summed over all allocations, so not at every commit.

In: frames. Out: the panels of the page, read again when nodes or pools change, and at most once
a second when only what is held there does.
"""

from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic

#: Nanoseconds between two sums while allocations come and go.
BETWEEN_SUMS = 1_000_000_000


class PoolsFeed(Feed):
    """The list of pools, or one of them."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._has_moved = False
        self._summed_at = 0

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        self._has_moved |= event.topic is Topic.NODE_USE

    def is_due(self, now: int) -> bool:
        """Whether what is held has moved, and the last sum is old enough."""
        if not self._has_moved or now < self._summed_at + BETWEEN_SUMS:
            return False
        self._has_moved, self._summed_at = False, now
        self._stale |= {panel.target for panel in self.panels}
        return True

    @property
    def asks_at(self) -> int | None:
        """The next sum, where what is held has moved since the last."""
        return self._summed_at + BETWEEN_SUMS if self._has_moved else None
