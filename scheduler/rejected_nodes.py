"""Nodes that refuse plan after plan: probably they lie about what is free on them.

In: rejections with their moment. Out: whether a node should get no more placements (evaluations.md
10). Off unless settings say otherwise. Knows nothing of why a plan was rejected.
"""

from collections import OrderedDict, deque

import msgspec
from msgspec.structs import replace

from scheduler.structs.scheduler_settings import NodeRejection

_SECOND = 1_000_000_000


class RejectionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When a node is bad. Seconds."""

    enabled: bool = False
    threshold: int = 100
    window: float = 300.0
    #: At most this many nodes at once, one more every `refill` seconds.
    burst: int = 10
    refill: float = 360.0
    #: No more than this share of all nodes is closed, whoever closed them: on few nodes much work
    #: at once looks like a node that lies.
    largest_share: float = 1.0
    #: Nodes remembered; the one rejected longest ago goes first.
    capacity: int = 50

    def __post_init__(self) -> None:
        if self.window <= 0:
            raise ValueError("window must be positive")


class RejectedNodes:
    """Counts rejections per node in a sliding window."""

    def __init__(self, settings: RejectionSettings | None = None) -> None:
        #: As this process was started.
        self._started = self._settings = settings or RejectionSettings()
        self._records: OrderedDict[str, deque[float]] = OrderedDict()
        self._tokens = float(self._settings.burst)
        self._refilled_at = 0.0

    def follow(self, stored: NodeRejection | None) -> None:
        """Go by what the record says, by what the process was started with where it says nothing.

        Refusals that were counted before stay counted.
        """
        self._settings = (
            self._started
            if stored is None
            else replace(
                self._started,
                enabled=stored.enabled,
                threshold=stored.refusals,
                window=stored.window / _SECOND,
            )
        )

    def may_close(self, closed: int, nodes: int) -> bool:
        """Whether one more of so many nodes may be closed, beside those that are already."""
        return closed + 1 <= self._settings.largest_share * nodes

    def add(self, node_id: str, monotonic: float) -> bool:
        """Record a rejection; whether the node is to be made ineligible now."""
        if not self._settings.enabled:
            return False
        self._records.setdefault(node_id, deque()).append(monotonic)
        self._records.move_to_end(node_id)
        while len(self._records) > self._settings.capacity:
            self._records.popitem(last=False)
        over = self.score(node_id, monotonic) >= self._settings.threshold
        return over and self._take_token(monotonic)

    def score(self, node_id: str, monotonic: float) -> int:
        """Rejections in the window; one exactly at its edge counts."""
        records = self._records.get(node_id)
        if records is None:
            return 0
        while records and records[0] < monotonic - self._settings.window:
            records.popleft()
        return len(records)

    def _take_token(self, monotonic: float) -> bool:
        gained = (monotonic - self._refilled_at) / self._settings.refill
        self._tokens = min(float(self._settings.burst), self._tokens + gained)
        self._refilled_at = monotonic
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
