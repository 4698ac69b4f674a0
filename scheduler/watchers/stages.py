"""Let staged drains go on: the next node begins when one is done.

In: the log, the record, time. Out: `AdvanceDrain`. Whether anything is due is read from the record
whenever a staged drain or one of its nodes has changed; memory only says where to look.
"""

from collections.abc import Sequence

from scheduler.commands import AdvanceDrain, Command
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.writes.staged_drains import is_due
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus

#: Everything is looked at again this often, seconds, should a command have failed.
LOOK_AGAIN = 10.0


class Stages:
    """All staged drains under way."""

    def __init__(self) -> None:
        #: Their nodes, by id.
        self._running: dict[str, frozenset[str]] = {}
        self._dirty: set[str] = set()
        self._looked_at = 0.0

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Find those that run and look at all of them."""
        self._running.clear()
        self._dirty.clear()
        self._looked_at = moment.monotonic
        for drain in reader.list_by(STAGED_DRAINS, "status", StagedDrainStatus.RUNNING.value):
            self._follow(drain)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Note which staged drains are to be looked at."""
        del moment
        for event in frame.events:
            if isinstance(event.value, StagedDrain):
                self._running.pop(event.value.id, None)
                if not event.deleted:
                    self._follow(event.value)
            elif isinstance(event.value, Node):
                node_id = event.value.id
                self._dirty |= {key for key, nodes in self._running.items() if node_id in nodes}

    def _follow(self, drain: StagedDrain) -> None:
        if drain.status is StagedDrainStatus.RUNNING:
            self._running[drain.id] = frozenset(drain.node_ids)
            self._dirty.add(drain.id)

    def next_deadline(self, moment: Moment) -> float | None:
        """At once when something has changed; else the next general look."""
        if not self._running:
            return None
        return moment.monotonic if self._dirty else self._looked_at + LOOK_AGAIN

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Those of which something is due."""
        if moment.monotonic >= self._looked_at + LOOK_AGAIN:
            self._looked_at = moment.monotonic
            self._dirty |= set(self._running)
        dirty, self._dirty = self._dirty, set()
        drains = (reader.get(STAGED_DRAINS, key) for key in sorted(dirty))
        return [
            AdvanceDrain(drain_id=drain.id)
            for drain in drains
            if drain is not None and is_due(reader, drain)
        ]
