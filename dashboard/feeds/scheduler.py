"""The scheduler, live: read again each second while somebody looks, for its memory moves so.

In: time, and changes of its settings. Out: the panels that look different.
"""

from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic

#: Nanoseconds between two readings: the leader tells no more often.
BETWEEN = 1_000_000_000


class SchedulerFeed(Feed):
    """The one page."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._read_at = 0

    def concerns(self, event: StateEvent) -> bool:
        """Its settings; all else is read as time passes."""
        return event.topic is Topic.SCHEDULER_SETTINGS

    def is_due(self, now: int) -> bool:
        """Whether the last reading is old enough."""
        if now < self._read_at + BETWEEN:
            return False
        self._read_at = now
        self._stale |= {panel.target for panel in self.panels}
        return True
