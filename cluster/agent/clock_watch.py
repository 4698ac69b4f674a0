"""Whether a node's clock agrees with the server's: told in the node's history when that changes.

In: a node, and when it says that it sent a beat. Out: a line for its history, or None. One beat
may have been under way for long, so it says nothing; what was told last stands in the history.
"""

from scheduler.structs.node import CLOCK_OFF_BY, Node, NodeEvent
from scheduler.structs.wire import Duration, Nanoseconds

#: A beat that is under way for longer has been given up by its node.
_LONGEST_WAY_S = 5.0
#: Beats in a row that must say the same.
_AT_LEAST = 2
_SECOND = 1_000_000_000


def tolerance(min_ttl_s: float) -> Duration:
    """By how much a clock may be off: a heartbeat, and more than a beat may take."""
    return round(max(min_ttl_s, _LONGEST_WAY_S) * _SECOND)


class ClockWatch:
    """What one web process has heard of the clocks of nodes."""

    def __init__(self) -> None:
        #: By node: how many beats in a row were ahead; below 0: behind.
        self._in_a_row: dict[str, int] = {}

    def hear(
        self, node: Node, sent_at: Nanoseconds, *, now: Nanoseconds, limit: Duration
    ) -> NodeEvent | None:
        """Take in a beat of a node that says when it sent it (0: it does not)."""
        if not sent_at:
            return None
        ahead = sent_at - now
        if abs(ahead) <= limit:
            self._in_a_row.pop(node.id, None)
            return (
                _event("Node clock agrees with the server's again", 0)
                if (node.clock_off_by_ms)
                else None
            )
        side = 1 if ahead > 0 else -1
        before = self._in_a_row.get(node.id, 0)
        self._in_a_row[node.id] = before + side if before * side > 0 else side
        if node.clock_off_by_ms or abs(self._in_a_row[node.id]) < _AT_LEAST:
            return None
        word = "ahead of" if ahead > 0 else "behind"
        seconds = abs(ahead) / _SECOND
        return _event(f"Node clock is {seconds:.0f} s {word} the server's", ahead)


def _event(message: str, ahead: Duration) -> NodeEvent:
    details = {CLOCK_OFF_BY: str(round(ahead / 1_000_000))}
    return NodeEvent(message=message, subsystem="Cluster", details=details)


CLOCKS = ClockWatch()
