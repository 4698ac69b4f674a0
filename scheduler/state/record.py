"""The whole record in memory: one table per noun, read by the state ports, moved by events.

In: the events of committed writes. Out: every lookup of `StateReader`. Knows no rules: what one
write does to other tables was decided before its events were made.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from scheduler.ports import StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import AnyKey, AnyNoun, Key, Noun, Value
from scheduler.state.nouns import (
    ALLOCATIONS,
    EVALUATION_STUBS,
    EVALUATIONS,
    JOB_VERSIONS,
    NODE_USES,
    NOUN_OF_TOPIC,
    owned_by,
)
from scheduler.state.stub import evaluation_stub
from scheduler.state.table import Table
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Wire

#: A stored version: job, incarnation (its CreateIndex), version.
VersionKey = tuple[JobKey, int, int]


class _Tables(dict[object, Table[AnyKey, Wire]]):
    """By noun; one that was never written is empty."""

    def __missing__(self, noun: AnyNoun) -> Table[AnyKey, Wire]:
        places = {name: index.place for name, index in noun.indexes.items()}
        table = self[noun] = Table(places)
        return table


class Record(StateReader):
    """All tables at one index."""

    def __init__(self) -> None:
        self._index = 0
        self._table_indexes: dict[str, int] = {}
        self._tables = _Tables()
        #: Versions that only allocations still name.
        self._hidden: Table[VersionKey, bool] = Table()

    def frozen(self) -> "Record":
        """The record as it is now; later writes do not reach it."""
        twin = Record()
        twin._index = self._index
        twin._table_indexes = self._table_indexes.copy()
        twin._tables.update((noun, table.frozen()) for noun, table in self._tables.items())
        twin._hidden = self._hidden.frozen()
        return twin

    def apply(self, index: int, events: Iterable[StateEvent], unnamed: Iterable[JobKey]) -> None:
        """Move to `index`. Of the jobs in `unnamed`, versions that nobody names any more go."""
        # A row has one event only; what a deletion takes along must not take what was put anew.
        for event in sorted(events, key=lambda event: not event.deleted):
            noun = NOUN_OF_TOPIC[event.topic]
            if event.deleted:
                self._apply_deletion(noun, event.value)
            else:
                self._apply_put(noun, event.value)
            if noun.table_index:
                self._table_indexes[noun.table_index] = index
        for key in unnamed:
            self._drop_unnamed_versions(key)
        self._index = index

    @property
    def index(self) -> int:
        """Of the newest write."""
        return self._index

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Everything is at hand already."""

    def table_index(self, table: str) -> int:
        """Of the last write to a table; 0 when never written."""
        return self._table_indexes.get(table, 0)

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""
        value = self._tables[noun].get(key)
        assert value is None or isinstance(value, noun.struct)
        return value

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order."""
        return sorted(self._table_of(noun).values(), key=noun.order)

    def list_by(self, noun: Noun[Key, Value], index: str, place: AnyKey) -> Sequence[Value]:
        """The rows in one place of an index, in the noun's order."""
        return sorted(self._table_of(noun).bucket(index, place), key=noun.order)

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if create_index:
            return self.get(JOB_VERSIONS, (key, create_index, version))
        return next((job for job in self.job_versions(key) if job.version == version), None)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        listed = [
            job
            for job in self._table_of(JOB_VERSIONS).bucket("job", key)
            if self._hidden.get(version_key(job)) is None
        ]
        return sorted(listed, key=lambda job: (job.create_index, job.version), reverse=True)

    def node_uses(self) -> Iterable[NodeUse]:
        """Of all nodes that ever held something."""
        return self._table_of(NODE_USES).values()

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        bucket = self._table_of(ALLOCATIONS).bucket("job", key)
        live = (alloc.id for alloc in bucket if not alloc.is_terminal)
        return list(islice(live, at_most))

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        bucket = self._table_of(EVALUATIONS).bucket("job", key)
        found = (row.id for row in bucket if not (only_open and row.is_terminal))
        return list(islice(found, at_most))

    def _table_of(self, noun: Noun[Key, Value]) -> Table[Key, Value]:
        return self._tables[noun]  # type: ignore[return-value] # it holds what its noun says

    def _apply_put(self, noun: AnyNoun, value: Wire) -> None:
        self._tables[noun].put(noun.key(value), value)
        if noun.topic == Topic.JOB and isinstance(value, Job):
            self._table_of(JOB_VERSIONS).put(version_key(value), value)
            self._hidden.remove(version_key(value))

    def _apply_deletion(self, noun: AnyNoun, value: Wire) -> None:
        key = noun.key(value)
        if noun.topic == Topic.JOB_VERSION and isinstance(value, Job):
            # It goes when nobody names it any more.
            self._tables[noun].put(key, value)
            self._hidden.put(version_key(value), value=True)
            return
        self._tables[noun].remove(key)
        for owned, index in owned_by(noun.topic):
            for row in self._tables[owned].bucket(index, key):
                self._tables[owned].remove(owned.key(row))
        if isinstance(value, Evaluation):
            self._table_of(EVALUATION_STUBS).put(value.id, evaluation_stub(value))
        elif isinstance(value, Job):
            for version in self._table_of(JOB_VERSIONS).bucket("job", value.key):
                self._hidden.put(version_key(version), value=True)

    def _drop_unnamed_versions(self, key: JobKey) -> None:
        named = {
            (alloc.job_create_index, alloc.job_version)
            for alloc in self._table_of(ALLOCATIONS).bucket("job", key)
        }
        versions = self._table_of(JOB_VERSIONS)
        for job in versions.bucket("job", key):
            name = version_key(job)
            if self._hidden.get(name) and name[1:] not in named:
                versions.remove(name)
                self._hidden.remove(name)


def version_key(job: Job) -> VersionKey:
    """What names a stored version."""
    return job.key, job.create_index, job.version
