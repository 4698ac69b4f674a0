"""The state ports read from the database, inside a transaction that someone else opened.

In: a connection whose reads see one index. Out: structs. Single rows are decoded once per reader;
lists are read again on every call, and put in order here where a collation could differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import foreseen, statements
from cluster.store.plain_cursor import plain_cursor
from cluster.store.timestamps import timestamp
from scheduler.ports import StateReader
from scheduler.state.foresight import Foresight
from scheduler.state.node_use import NodeUse, shared
from scheduler.state.noun import AnyKey, Key, Noun, Value, key_cells
from scheduler.state.nouns import (
    ALLOCATIONS,
    EVALUATIONS,
    JOB_VERSIONS,
    LIFECYCLE_STEPS,
    NODE_USES,
    NODES,
)
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import ExplainedRun, RunEnd
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Wire

_IS_OPEN = "status IN ('pending', 'blocked')"
_IS_NEWEST_OF_OPEN = (
    "(eval_id, number) IN (SELECT eval_id, MAX(number) FROM lifecycle"  # noqa: S608 - our own text
    f" WHERE eval_id IN (SELECT id FROM evaluation WHERE {_IS_OPEN}) GROUP BY eval_id)"
)
#: The second half lets the planner see that the partial index will do.
_OF_DEPLOYMENT = "deployment_id = %s AND NOT (deployment_id = '')"
#: SQLite takes at least 999 parameters in one statement.
_AT_ONCE = 500
#: Of statements in one message.
_STATEMENTS_AT_ONCE = 200


class DjangoStateReader(StateReader):
    """The record at `index`, as one transaction sees it."""

    def __init__(self, connection: BaseDatabaseWrapper, index: int) -> None:
        self.connection = connection
        self._cursor = plain_cursor(connection)
        self._is_sqlite = connection.vendor == "sqlite"
        self._index = index
        self._seen: dict[tuple[object, AnyKey], Wire | None] = {}
        #: What was read before anybody asked: rows by statement and values.
        self._foreseen: dict[foreseen.Asked, list[Any]] = {}

    @property
    def index(self) -> int:
        """Of the newest write it sees."""
        return self._index

    def table_index(self, table: str) -> int:
        """Of the last write to a table; 0 when never written."""
        self._cursor.execute(statements.READ_TABLE_INDEX, (table,))
        row = self._cursor.fetchone()
        return int(row[0]) if row else 0

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Read these rows in a few queries; those that are missing are remembered as missing."""
        self._load_many(ALLOCATIONS, allocs)
        wanted = list(nodes)
        self._load_many(NODES, wanted)
        self._load_many(NODE_USES, wanted)

    def foresee(self, *acts: Foresight) -> None:
        """Read in few messages what these acts ask; SQLite is near, with it that saves nothing."""
        together = getattr(self._cursor, "rows_of_each", None)
        if together is None:
            return
        wanted = [asked for asked in foreseen.statements_of(acts) if asked not in self._foreseen]
        for start in range(0, len(wanted), _STATEMENTS_AT_ONCE):
            some = wanted[start : start + _STATEMENTS_AT_ONCE]
            self._foreseen.update(zip(some, together(some), strict=True))

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""
        name = (noun, key)
        if name in self._seen:
            seen = self._seen[name]
            assert seen is None or isinstance(seen, noun.struct)
            return seen
        rows = self._rows_of(statements.select_by_key(noun), key_cells(key))
        value = noun.decode(rows[0][0]) if rows else None
        self._seen[name] = value
        return value

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order."""
        return _ordered(noun, self.select(noun, order=statements.creation_order(noun)))

    def list_by(self, noun: Noun[Key, Value], index: str, place: AnyKey) -> Sequence[Value]:
        """The rows in one place of an index, in the noun's order."""
        statement = statements.select_in_place(noun, index)
        return _ordered(noun, self._read(noun, statement, key_cells(place)))

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if create_index:
            return self.get(JOB_VERSIONS, (key, create_index, version))
        found = self.select(
            JOB_VERSIONS,
            f"{statements.OF_JOB} AND version = %s AND is_listed",
            (*key, version),
            "create_index DESC",
        )
        return found[0] if found else None

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        return self._read(JOB_VERSIONS, statements.LISTED_VERSIONS, tuple(key))

    def node_uses(self) -> Iterable[NodeUse]:
        """Of all nodes that ever held something."""
        self._cursor.execute(statements.select(NODE_USES))
        # Row by row, so that a mirror of many ports never holds them twice.
        return [shared(NODE_USES.decode(row[0])) for row in self._cursor.fetchall()]

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        return self._ids(statements.LIVE_ALLOCATIONS, *key, at_most)

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        return self._read(EVALUATIONS, statements.BLOCKED_EVALUATIONS, tuple(key))

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        statement = statements.OPEN_EVALUATIONS if only_open else statements.EVALUATIONS
        return self._ids(statement, *key, at_most)

    def allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations."""
        return self._ids(statements.ALLOCATIONS, *key, at_most)

    def old_rows(
        self, noun: Noun[Key, Value], instant: str, until: int, *, after: Key | None, at_most: int
    ) -> Sequence[Value]:
        """See StateReader. Nothing is remembered: whoever asks walks through whole tables."""
        where = f"{self.hidden(instant)} <= %s"
        parameters: list[Any] = [timestamp(until)]
        key = ", ".join(noun.key_columns)
        if after is not None:
            where += f" AND ({key}) > ({statements.placeholders(len(noun.key_columns))})"
            parameters += key_cells(after)
        statement = statements.select(noun, where, f"{key} LIMIT {int(at_most)}")
        self._cursor.execute(statement, parameters)
        return [noun.decode(row[0]) for row in self._cursor.fetchall()]

    def is_stirring(self, key: JobKey, since: int) -> bool:
        """Whether anything of a job is open, alive, or was written after an instant."""
        asked = (*key, timestamp(since))
        return any(
            self.rows(statement, asked)
            for statement in (statements.STIRRING_ALLOCATION, statements.STIRRING_EVALUATION)
        )

    def newest_steps(self) -> Mapping[str, LifecycleStep]:
        """Of each open evaluation that has any."""
        return {step.eval_id: step for step in self.select(LIFECYCLE_STEPS, _IS_NEWEST_OF_OPEN)}

    def explained_runs(self, key: JobKey) -> Sequence[ExplainedRun]:
        """The newest evaluation first; no explanation is read for it."""
        return [
            ExplainedRun(eval_id, index, int(size), version, RunEnd(ended))
            for eval_id, index, size, version, ended in self.rows(statements.EXPLAINED_RUNS, key)
        ]

    def select(
        self,
        noun: Noun[Any, Value],
        where: str = "",
        parameters: Iterable[Any] = (),
        order: str = "",
    ) -> list[Value]:
        """The rows of a noun that match, for lists of our own making."""
        return self._read(noun, statements.select(noun, where, order), tuple(parameters))

    def rows(self, statement: str, parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
        """The plain rows of a statement of ours, for counts."""
        return list(self._rows_of(statement, tuple(parameters)))

    def prefix_condition(self, column: str) -> str:
        """SQL that a column begins with a text, given as each of its parameters."""
        if self._is_sqlite:
            return f"{column} >= %s AND {column} < %s || char(1114111)"
        return f"starts_with({column}, %s)"

    def hidden(self, column: str) -> str:
        """SQL of a column that no index of it is used for, where indexes are chosen blindly.

        PostgreSQL chooses by what it knows of the values; hiding would take that away.
        """
        return f"+{column}" if self._is_sqlite else column

    def as_stored(self, column: str) -> str:
        """SQL of a column of instants, for `instant` to read: what Django makes of it costs more.

        Its converters of SQLite's texts are called for plain columns only.
        """
        return self.hidden(column)

    def _read(
        self, noun: Noun[Any, Value], statement: str, parameters: tuple[Any, ...]
    ) -> list[Value]:
        return [noun.decode(row[0]) for row in self._rows_of(statement, parameters)]

    def _ids(self, statement: str, *parameters: Any) -> list[str]:
        return [str(row[0]) for row in self._rows_of(statement, parameters)]

    def _rows_of(self, statement: str, parameters: tuple[Any, ...]) -> list[Any]:
        if self._foreseen:
            found = self._foreseen.get((statement, parameters))
            if found is not None:
                return found
        self._cursor.execute(statement, parameters)
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def _load_many(self, noun: Noun[str, Value], wanted: Iterable[str]) -> None:
        missing = [item for item in wanted if (noun, item) not in self._seen]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            where = f"{noun.key_columns[0]} IN ({statements.placeholders(len(some))})"
            self._seen.update(((noun, item), None) for item in some)
            for value in self.select(noun, where, some):
                self._seen[noun, noun.key(value)] = value


def _ordered(noun: Noun[Key, Value], rows: Sequence[Value]) -> Sequence[Value]:
    return sorted(rows, key=noun.key) if noun.creation is None else rows
