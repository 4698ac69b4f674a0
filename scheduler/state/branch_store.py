"""A record that leaves another one at a snapshot and goes its own way, in memory.

In: a snapshot that stays, and writes. Out: every lookup, as if the snapshot's record had been
written to; nobody else sees any of it. A row of the snapshot is asked for when it is needed, and
never copied: a rehearsal touches few of many. Not for two threads at a time.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import islice
from typing import TypeVar

from scheduler.access.caller import CLUSTER, Caller
from scheduler.errors import StaleSnapshot
from scheduler.ports import Change, Fence, MirroredSnapshot, StateReader, StateStore
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import AnyKey, AnyNoun, Key, Noun, Value
from scheduler.state.nouns import (
    ALLOCATIONS,
    EVALUATIONS,
    JOB_VERSIONS,
    NODE_USES,
    NOUN_OF_TOPIC,
    owned_by,
)
from scheduler.state.open_change import OpenChange
from scheduler.state.record import Record, version_key
from scheduler.state.snapshot import TableSnapshot, moved_table
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

Result = TypeVar("Result")


class BranchRecord(StateReader):
    """The snapshot with rows of its own over it; of each key its own row counts."""

    def __init__(self, base: MirroredSnapshot) -> None:
        self._base = base
        self._index = base.index
        #: What was put since.
        self._own = Record()
        #: Keys of the snapshot's rows that are gone.
        self._gone: dict[object, dict[AnyKey, None]] = {}

    @property
    def index(self) -> int:
        """Of the newest write."""
        return self._index

    @property
    def own(self) -> Record:
        """What was put since the snapshot, and nothing else. Treat as read-only."""
        return self._own

    @property
    def base(self) -> MirroredSnapshot:
        """What it left."""
        return self._base

    def apply(self, index: int, events: Iterable[StateEvent]) -> None:
        """Move to `index`."""
        moved = tuple(events)
        for event in moved:
            if event.deleted:
                self._hide(NOUN_OF_TOPIC[event.topic], event)
        # Versions that nobody names any more are kept: a branch does not live long.
        self._own.apply(index, moved, ())
        self._index = index

    def _hide(self, noun: AnyNoun, event: StateEvent) -> None:
        key = noun.key(event.value)
        self._gone.setdefault(noun, {})[key] = None
        for owned, index in owned_by(noun.topic):
            gone = self._gone.setdefault(owned, {})
            gone.update((owned.key(row), None) for row in self.list_by(owned, index, key))
        if noun.topic == Topic.JOB and isinstance(event.value, Job):
            gone = self._gone.setdefault(JOB_VERSIONS, {})
            versions = self._base.job_versions(event.value.key)
            gone.update((version_key(version), None) for version in versions)

    def table_index(self, table: str) -> int:
        """Of the last write to a table; 0 when never written."""
        return self._own.table_index(table) or self._base.table_index(table)

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """A hint, for the snapshot."""
        missing = [alloc for alloc in allocs if self._own.allocation(alloc) is None]
        self._base.preload(allocs=missing, nodes=nodes)

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""
        own = self._own.get(noun, key)
        if own is not None or key in self._gone.get(noun, ()):
            return own
        return self._base.get(noun, key)

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order."""
        return self._merged(noun, self._base.list_all(noun), self._own.list_all(noun))

    def list_by(self, noun: Noun[Key, Value], index: str, place: AnyKey) -> Sequence[Value]:
        """The rows in one place of an index, in the noun's order."""
        base = self._base.list_by(noun, index, place)
        return self._merged(noun, base, self._own.list_by(noun, index, place))

    def _merged(
        self, noun: Noun[Key, Value], base: Sequence[Value], own: Sequence[Value]
    ) -> Sequence[Value]:
        gone = self._gone.get(noun, ())
        kept = [
            row
            for row in base
            if self._own.get(noun, key := noun.key(row)) is None and key not in gone
        ]
        return sorted([*kept, *own], key=noun.order) if own else kept

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if create_index:
            own = self._own.job_version(key, version, create_index)
            return own or self._base.job_version(key, version, create_index)
        return next((job for job in self.job_versions(key) if job.version == version), None)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        gone = self._gone.get(JOB_VERSIONS, ())
        kept = [
            job
            for job in self._base.job_versions(key)
            if self._own.get(JOB_VERSIONS, name := version_key(job)) is None and name not in gone
        ]
        listed = [*kept, *self._own.job_versions(key)]
        return sorted(listed, key=lambda job: (job.create_index, job.version), reverse=True)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node, also of one that is gone."""
        return self._own.get(NODE_USES, node_id) or self._base.node_use(node_id)

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        allocs = self.list_by(ALLOCATIONS, "job", key)
        return list(islice((alloc.id for alloc in allocs if not alloc.is_terminal), at_most))

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        rows = self.list_by(EVALUATIONS, "job", key)
        found = (row.id for row in rows if not (only_open and row.is_terminal))
        return list(islice(found, at_most))

    def frozen(self) -> "BranchRecord":
        """The branch as it is now; later writes do not reach it."""
        twin = copy(self)
        twin._own = self._own.frozen()
        twin._gone = {noun: gone.copy() for noun, gone in self._gone.items()}
        return twin


class BranchSnapshot(BranchRecord, TableSnapshot):
    """A branch as it was when this was made."""

    def __init__(self, branch: BranchRecord, table: NodeTable) -> None:
        vars(self).update(vars(branch.frozen()))
        self._table = table


class BranchStore(BranchRecord, StateStore):
    """The branch itself: reads on it see the newest write; `snapshot()` gives one that stays.

    Frames are kept from the snapshot on.
    """

    def __init__(self, base: MirroredSnapshot) -> None:
        super().__init__(base)
        self._begin = base.index
        self._frames: list[EventFrame] = []
        self._node_table = base.node_table
        self._table_frames = 0

    def write(
        self,
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        by: Caller = CLUSTER,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """See `StateStore.write`. Nobody else writes here, so a fence always holds."""
        del fence
        change = OpenChange(self, now, by)
        result = work(change)
        events = change.events
        if events:
            self._frames.append(EventFrame(index=change.index, kind=kind, at=now, events=events))
            self.apply(change.index, events)
        return self.index, result

    def read(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on the branch; nothing else runs meanwhile."""
        return work(self)

    def frames_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """Frames with a larger index, in order."""
        if index < self._begin:
            raise StaleSnapshot(f"the branch begins at {self._begin}")
        start = index - self._begin
        return self._frames[start : start + limit]

    def snapshot(self) -> BranchSnapshot:
        """The branch as it is now, with its nodes as columns."""
        new = self._frames[self._table_frames :]
        events = [event for frame in new for event in frame.events]
        if events:
            self._node_table = moved_table(self._node_table, events, self.node_use)
        self._table_frames = len(self._frames)
        return BranchSnapshot(self, self._node_table)
