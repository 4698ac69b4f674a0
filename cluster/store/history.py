"""The record as it was at an earlier index: its rows of now, rolled back by the event log.

In: a reader and an index. Out: rows as they stood then, and the names of those of which the log
has forgotten how they stood.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from cluster.store.log_reader import IsWanted
from cluster.store.ports import RecordReader
from scheduler.errors import StaleSnapshot
from scheduler.state import nouns
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings

_Named = Namespace | NodePool | QuotaSpec
Row = Allocation | Deployment | Evaluation | Job | Node | SchedulerSettings | _Named
Value = TypeVar(
    "Value",
    Allocation,
    Deployment,
    Evaluation,
    Job,
    Namespace,
    Node,
    NodePool,
    QuotaSpec,
    SchedulerSettings,
)

_TOPIC_OF: dict[type[Row], Topic] = {
    Allocation: Topic.ALLOCATION,
    Deployment: Topic.DEPLOYMENT,
    Evaluation: Topic.EVALUATION,
    Job: Topic.JOB,
    Namespace: Topic.NAMESPACE,
    Node: Topic.NODE,
    NodePool: Topic.NODE_POOL,
    QuotaSpec: Topic.QUOTA,
    SchedulerSettings: Topic.SCHEDULER_SETTINGS,
}
_TOPICS = frozenset(_TOPIC_OF.values())
_FRAMES_AT_ONCE = 500


class RowName(NamedTuple):
    """What names a row in the event log."""

    topic: str
    namespace: str
    key: str


class Past:
    """The rows of one earlier index. The reader must see everything up to now."""

    def __init__(self, reader: RecordReader, index: int) -> None:
        self.index = index
        #: Frames after `index` are gone: rows deleted since are not known at all.
        self.is_trimmed = False
        #: Rows that changed since, and how they stood before is forgotten.
        self.forgotten: set[RowName] = set()
        self._then: dict[RowName, Row | None] = {}
        self._reader = reader
        try:
            self._look_back(self._changed_since())
        except StaleSnapshot:
            self.is_trimmed = True

    def rows(self, struct: type[Value], now: Iterable[Value]) -> list[Value]:
        """The rows of then, given those of now; rows of then that are gone come last.

        A row that was forgotten stands as it does now.
        """
        topic = _TOPIC_OF[struct]
        found: dict[RowName, Row | None] = {name_of(topic, row): row for row in now}
        if self.is_trimmed:
            self._without_newer(found)
        found |= {name: row for name, row in self._then.items() if name.topic == topic}
        return [row for row in found.values() if isinstance(row, struct)]

    def row(
        self, now: Value | None, struct: type[Value], namespace: str, key: str
    ) -> Value | None:
        """One row of then, given the one of now."""
        rows = self.rows(struct, () if now is None else (now,))
        wanted = RowName(_TOPIC_OF[struct], namespace, key)
        return next((row for row in rows if name_of(wanted.topic, row) == wanted), None)

    def _without_newer(self, found: dict[RowName, Row | None]) -> None:
        for name, row in found.items():
            if row is None or _made_at(row) > self.index:
                found[name] = None
            elif _changed_at(row) > self.index:
                self.forgotten.add(name)

    def _changed_since(self) -> set[RowName]:
        """Note how rows stood whose first change tells it; the names of the others."""
        sought: set[RowName] = set()
        after = self.index
        while after < self._reader.index:
            frames = self._reader.frames_after(after, _FRAMES_AT_ONCE)
            if not frames:
                break
            for frame in frames:
                for event in frame.events:
                    self._note_change(event, sought)
            after = frames[-1].index
        return sought

    def _note_change(self, event: StateEvent, sought: set[RowName]) -> None:
        name = RowName(event.topic, event.namespace, event.key)
        row = event.value
        if event.topic not in _TOPICS or name in self._then or name in sought:
            return
        assert isinstance(row, Row), "the topic says so"
        if _made_at(row) > self.index:
            self._then[name] = None
        elif event.deleted:
            # A deletion carries the row as it stood before.
            self._then[name] = row
        else:
            sought.add(name)

    def _look_back(self, sought: set[RowName]) -> None:
        """Find the newest values at or before the index, from there towards the oldest frame."""
        if sought:
            for frame in self._reader.frames_back(self.index, _is_among(sought)):
                for event in frame.events:
                    self._note_found(event, sought)
                if not sought:
                    break
        self.forgotten |= sought

    def _note_found(self, event: StateEvent, sought: set[RowName]) -> None:
        name, row = RowName(event.topic, event.namespace, event.key), event.value
        assert isinstance(row, Row), "only rows of known topics are sought"
        self._then[name] = None if event.deleted else row
        sought.discard(name)


def name_of(topic: str, row: Row) -> RowName:
    """The name of a row in the event log."""
    if isinstance(row, SchedulerSettings):
        return RowName(topic, "", nouns.SETTINGS_KEY)
    if isinstance(row, _Named):
        return RowName(topic, "", row.name)
    namespace = "" if isinstance(row, Node) else row.namespace
    return RowName(topic, namespace, row.id)


def _is_among(sought: set[RowName]) -> IsWanted:
    return lambda _kind, *name: RowName(*name) in sought


def _made_at(row: Row) -> int:
    return row.create_index


def _changed_at(row: Row) -> int:
    return row.modify_index
