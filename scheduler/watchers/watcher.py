"""What every watcher of the leader is: something that follows the log, and acts as time passes."""

from collections.abc import Sequence
from typing import Protocol

from scheduler.commands import Command
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame
from scheduler.structs.moment import Moment


class Watcher(Protocol):
    """Decides nothing from memory alone: what it remembers says where to look in the record."""

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Start from the record, forgetting whatever was known."""

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Take in one frame of the event log."""

    def next_deadline(self, moment: Moment) -> float | None:
        """When `tick` has something to do, on the monotonic clock; None until a frame comes."""

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """What is to be done now. Commands repeat until the record shows them done."""
