"""The event log as people look through it: what of it is kept, and when each write was."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from scheduler.state.events import EventFrame

#: Of a frame's kind, and of an event's topic, namespace and key: whether it is wanted.
IsWanted = Callable[[str, str, str, str], bool]
#: So many places are asked for at once when an instant is looked for.
_PLACES = 64


class LogReader(Protocol):
    """The part of a record's reader that is asked for the event log."""

    @property
    def index(self) -> int:
        """The index that is read at."""

    @property
    def oldest_event(self) -> int:
        """Events below this index are not in the log any more."""

    def frames_after(self, index: int, limit: int) -> Sequence[EventFrame]:
        """Frames of larger indexes, in order. Raises StaleSnapshot when some were trimmed."""

    def frames_back(self, index: int, is_wanted: IsWanted) -> Iterator[EventFrame]:
        """Frames at or before `index`, newest first, as far back as the log is kept.

        Each with its wanted events alone, so perhaps without any; others are not decoded. Frames
        are read as they are taken.
        """

    def moments_of(self, indexes: Collection[int]) -> dict[int, int]:
        """When each of these indexes was written, ns; without those that are not kept."""


def index_at(reader: LogReader, at: int) -> int:
    """The last index that was written no later than an instant; 0 where none is kept.

    A few statements, whatever the length of the log.
    """
    low, high, found = reader.oldest_event, reader.index, 0
    while low <= high:
        step = max((high - low) // _PLACES, 1)
        moments = reader.moments_of(range(low, high + 1, step))
        earlier = [index for index, moment in moments.items() if moment <= at]
        if not earlier:
            break
        found = max(earlier)
        low, high = found + 1, min(found + step - 1, high)
    return found
