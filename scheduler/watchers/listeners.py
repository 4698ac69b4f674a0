"""Whether anybody was there to hear the nodes: the web processes, by their signs of life.

In: how many signs each has given, as they were written down; time that never jumps. Out: whether
all of them are silent. What a silence means for a node is not decided here.
"""

from collections.abc import Mapping

#: Seconds between two signs of one listener.
SIGN_INTERVAL = 1.0
#: Seconds without a sign of any listener after which nodes cannot have been heard.
SILENT_AFTER = 3.0
#: From so many signs on a listener is taken to be there to stay.
SETTLED_AT = 3


class Listeners:
    """The listeners of one cluster. While none is known, none is ever missed."""

    def __init__(self) -> None:
        self._signs: Mapping[str, int] = {}
        #: Up to when somebody listened; None while no listener is known.
        self._heard_until: float | None = None

    def restore(self, monotonic: float) -> None:
        """Miss nobody before this moment."""
        if self._heard_until is not None:
            self._heard_until = monotonic

    def hear(self, signs: Mapping[str, int], *, has_beats: bool = False, monotonic: float) -> bool:
        """Take in how many signs each listener gave so far; True when a silence has just ended.

        A new beat is a sign as well. Who looks seldom finds many signs, and so no silence.
        """
        was_known = self._heard_until is not None
        given = max((self._given(name, count) for name, count in signs.items()), default=0)
        self._signs = signs
        if given <= 0 and not (has_beats and was_known):
            return False
        ended = self._silence(monotonic) - given * SIGN_INTERVAL > SILENT_AFTER
        self._heard_until = monotonic
        return ended

    def _given(self, name: str, count: int) -> int:
        """Since the last look; what a new one gave before it was seen says nothing of now.

        The first signs of a process count for nothing: one that dies and starts again and again
        gives them, and no node ever gets through to it.
        """
        before = self._signs.get(name)
        if self._heard_until is None:
            return count
        if count < SETTLED_AT:
            return 0
        return 1 if before is None else count - before

    def are_silent(self, monotonic: float) -> bool:
        """Whether no sign was seen for too long."""
        return self._silence(monotonic) > SILENT_AFTER

    def _silence(self, monotonic: float) -> float:
        return 0.0 if self._heard_until is None else monotonic - self._heard_until
