"""Which connections wait for the rest of a request, and which goes when there are many.

In: connections as their requests begin and become whole. Out: the oldest of an address is dropped.
Knows nothing of sockets.
"""

from collections import defaultdict
from typing import Protocol

#: One that began less than this ago may be waiting for us: nothing of it has been read yet.
_YOUNG_S = 2.0


class Droppable(Protocol):
    """A connection whose request may never become whole."""

    def drop(self, why: str) -> None:
        """Hang up, and tell the log why."""


class Unfinished:
    """The connections of each address whose request is not whole yet, oldest first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of_address: dict[str, dict[Droppable, float]] = defaultdict(dict)

    def begin(self, channel: Droppable, address: str, now: float) -> None:
        """One more. Above the limit the oldest is dropped, unless it may wait for us."""
        waiting = self._of_address[address]
        waiting[channel] = now
        if len(waiting) > self._limit:
            oldest, since = next(iter(waiting.items()))
            if now - since > _YOUNG_S:
                oldest.drop("too many unfinished requests of one address")

    def end(self, channel: Droppable, address: str) -> None:
        """It is whole, or gone."""
        waiting = self._of_address.get(address)
        if waiting is not None:
            waiting.pop(channel, None)
            if not waiting:
                del self._of_address[address]
