"""Reading through an open transaction: its puts lie over a base, reads see both.

In: a base that does not move meanwhile, and the rows put so far. Out: every lookup of the state
port. Who puts, and what becomes of the puts, is `open_change`'s business.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from scheduler.ports import StateReader
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.state.foresight import Foresight
from scheduler.state.noun import AnyKey, Index, Key, Noun, Value
from scheduler.state.nouns import (
    ALLOCATIONS,
    EVALUATIONS,
    JOB_VERSIONS,
    JOBS,
    NOUN_OF_TOPIC,
)
from scheduler.state.record import version_key
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.explanation import ExplainedRun, explained_runs
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Wire


class Overlay(StateReader):
    """The base with puts over it. Rows of the base are asked for again on every read."""

    def __init__(self, base: StateReader, now: int) -> None:
        self._base = base
        self._now = now
        #: Noun -> row key -> its newest value, or None when deleted.
        self._puts: defaultdict[object, dict[AnyKey, Wire | None]] = defaultdict(dict)
        #: Index and place -> keys of rows put into it; they may have left again.
        self._places: dict[tuple[object, AnyKey], dict[AnyKey, None]] = {}

    @property
    def index(self) -> int:
        """The number this transaction takes."""
        return self._base.index + 1

    @property
    def now(self) -> int:
        """The instant of the write, ns."""
        return self._now

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """A hint, for the base."""
        self._base.preload(allocs=allocs, nodes=nodes)

    def foresee(self, *acts: Foresight) -> None:
        """A hint, for the base."""
        self._base.foresee(*acts)

    def table_index(self, table: str) -> int:
        """Of the last committed write."""
        return self._base.table_index(table)

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""
        puts = self._puts[noun]
        if key not in puts:
            return self._base.get(noun, key)
        put = puts[key]
        assert put is None or isinstance(put, noun.struct)
        return put

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order."""
        base = self._base.list_all(noun)
        puts = self._puts[noun]
        if not puts:
            return base
        rows: dict[AnyKey, Value] = {noun.key(row): row for row in base}
        for key, put in puts.items():
            if isinstance(put, noun.struct):
                rows[key] = put
            else:
                rows.pop(key, None)
        return sorted(rows.values(), key=noun.order)

    def list_by(self, noun: Noun[Key, Value], index: str, place: AnyKey) -> Sequence[Value]:
        """The rows in one place of an index, in the noun's order."""
        owner = noun.owner
        if owner is not None and owner.index == index and self._is_deleted(owner.topic, place):
            return self._overlaid(noun, (), index, place)
        return self._overlaid(noun, self._base.list_by(noun, index, place), index, place)

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if not create_index:
            found = (job for job in self.job_versions(key) if job.version == version)
            return next(found, None)
        put = self._puts[JOB_VERSIONS].get((key, create_index, version))
        if isinstance(put, Job):
            return put
        return self._base.job_version(key, version, create_index)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        purged = self._is_deleted(JOBS.topic, key)
        base = () if purged else self._base.job_versions(key)
        versions: dict[AnyKey, Job] = {version_key(job): job for job in base}
        for name, put in self._puts[JOB_VERSIONS].items():
            if name[0] == key:
                versions.pop(name, None)
                if isinstance(put, Job):
                    versions[name] = put
        return sorted(
            versions.values(), key=lambda job: (job.create_index, job.version), reverse=True
        )

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        puts = self._puts[ALLOCATIONS]
        found = [
            alloc.id
            for alloc in puts.values()
            if isinstance(alloc, Allocation) and alloc.job_key == key and not alloc.is_terminal
        ][:at_most]
        if len(found) < at_most:
            base = self._base.live_allocation_ids(key, at_most + len(puts))
            found += [alloc_id for alloc_id in base if alloc_id not in puts]
        return found[:at_most]

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        base = self._base.blocked_evaluations(key)
        rows = self._overlaid(EVALUATIONS, base, "job", key)
        return [row for row in rows if row.status is EvalStatus.BLOCKED]

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        puts = self._puts[EVALUATIONS]
        found = [
            row.id
            for row in puts.values()
            if isinstance(row, Evaluation)
            and row.job_key == key
            and not (only_open and row.is_terminal)
        ][:at_most]
        if len(found) < at_most:
            base = self._base.evaluation_ids(key, at_most + len(puts), only_open=only_open)
            found += [eval_id for eval_id in base if eval_id not in puts]
        return found[:at_most]

    def explained_runs(self, key: JobKey) -> Sequence[ExplainedRun]:
        """The newest evaluation first."""
        touched = {row_key[0] for row_key in self._puts[EXPLANATIONS]}
        owners = self._puts[EVALUATIONS]
        base, moved = [], list(self._overlaid(EXPLANATIONS, (), "job", key))
        for run in self._base.explained_runs(key):
            if run.eval_id in touched:
                moved = [item for item in moved if item.eval_id != run.eval_id]
                moved += self.explanations(run.eval_id)
            elif owners.get(run.eval_id, _ABSENT) is not None:
                base.append(run)
        return sorted([*base, *explained_runs(moved)], key=lambda run: (-run.index, run.eval_id))

    def _is_deleted(self, topic: str, key: AnyKey) -> bool:
        return self._puts[NOUN_OF_TOPIC[topic]].get(key, _ABSENT) is None

    def _overlaid(
        self, noun: Noun[Key, Value], base: Sequence[Value], index: str, place: AnyKey
    ) -> Sequence[Value]:
        """Rows of the base in one place of an index, and what was put there or taken away."""
        puts = self._puts[noun]
        if not puts:
            return base
        asked: Index[Value] = noun.indexes[index]
        rows: dict[AnyKey, Value] = {noun.key(row): row for row in base}
        touched = [key for key in rows if key in puts]
        for key in (*touched, *self._places.get((asked, place), ())):
            put = puts[key]
            if isinstance(put, noun.struct) and asked.place(put) == place:
                rows[key] = put
            else:
                rows.pop(key, None)
        return sorted(rows.values(), key=noun.order)


#: What `dict.get` gives for a row that was neither put nor deleted.
_ABSENT = Wire()
