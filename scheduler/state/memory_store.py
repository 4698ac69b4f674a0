"""Both store ports in memory, for simulation, tests and dry runs.

In: writes. Out: frames, snapshots, every lookup. Not for two threads at a time, and nothing is
durable; otherwise it behaves as `cluster.store` does, and one conformance suite holds both to it.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from scheduler.access.caller import CLUSTER, Caller
from scheduler.errors import Fenced, StaleSnapshot
from scheduler.ports import Change, Fence, StateReader, StateStore
from scheduler.state.events import EventFrame
from scheduler.state.node_table import NodeTable
from scheduler.state.nouns import NAMESPACES
from scheduler.state.open_change import OpenChange
from scheduler.state.record import Record
from scheduler.state.seeds import seed_record
from scheduler.state.snapshot import RecordSnapshot, moved_table

Result = TypeVar("Result")


class MemoryStateStore(Record, StateStore):
    """The record itself: reads on it see the newest write; `snapshot()` gives one that stays."""

    def __init__(self) -> None:
        super().__init__()
        self._frames: list[EventFrame] = []
        self._oldest_kept = 1
        self._leases: dict[str, int] = {}
        self._node_table = NodeTable()
        self._table_frames = 0
        self.write(NAMESPACES.upserted, seed_record, now=0)

    def write(
        self,
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        by: Caller = CLUSTER,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """See `StateStore.write`. A fence holds when no newer epoch of its lease was granted."""
        if fence is not None and self._leases.get(fence.name, fence.epoch) != fence.epoch:
            raise Fenced(f"lease {fence.name!r} has epoch {self._leases[fence.name]}")
        change = OpenChange(self, now, by)
        result = work(change)
        events = change.events
        if events:
            self._frames.append(EventFrame(index=change.index, kind=kind, at=now, events=events))
            self.apply(change.index, events, change.unnamed)
        return self.index, result

    def read(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on the record; nothing else runs meanwhile."""
        return work(self)

    def frames_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """Frames with a larger index, in order."""
        if index + 1 < self._oldest_kept:
            raise StaleSnapshot(f"frames before {self._oldest_kept} were trimmed")
        start = max(0, index + 1 - self._oldest_kept)
        return self._frames[start : start + limit]

    def trim_frames(self, oldest: int) -> None:
        """Forget frames below an index."""
        self._current_table()
        gone = min(max(0, oldest - self._oldest_kept), len(self._frames))
        del self._frames[:gone]
        self._oldest_kept += gone
        self._table_frames = max(0, self._table_frames - gone)

    def grant_lease(self, name: str, epoch: int) -> None:
        """From now on only writes under this epoch pass a fence of that name."""
        self._leases[name] = epoch

    def snapshot(self) -> RecordSnapshot:
        """The record as it is now, with its nodes as columns."""
        return RecordSnapshot(self, self._current_table())

    def _current_table(self) -> NodeTable:
        events = [event for frame in self._frames[self._table_frames :] for event in frame.events]
        if events:
            self._node_table = moved_table(self._node_table, events, self.node_use)
            self._table_frames = len(self._frames)
        return self._node_table
