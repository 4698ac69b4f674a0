"""The events of one write, put into the tables below the models.

In: a cursor inside the write's transaction, and the events. Out: rows. A plan may bring thousands:
SQLite is told them one by one, which costs it nothing; PostgreSQL has new ones copied into it and
takes others by many in a statement.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import frame_codec, statements
from cluster.store.plain_cursor import later, plain_cursor
from cluster.store.statements import AnyNoun
from cluster.store.timestamps import moment, timestamp
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.state.noun import AnyKey, encode, key_cells
from scheduler.state.nouns import EVALUATION_STUBS, JOB_VERSIONS, NOUN_OF_TOPIC, owned_by
from scheduler.state.stub import evaluation_stub
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Wire

#: Rows in one statement on PostgreSQL: a row costs a fifth less than alone, and no more in 200.
_ROWS_AT_ONCE = 25
#: So many new rows of a table are copied into it on PostgreSQL.
COPIED_FROM = 40

#: A value and its body.
_Put = tuple[Wire, bytes]
#: Table, columns, the statement that would put one row, rows.
_Copy = Callable[[str, Sequence[str], str, Iterable[tuple[object, ...]]], None]


class RowWriter:
    """Writes one frame's rows and the frame itself."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        cursor = plain_cursor(connection)
        self._say = later(cursor)
        self._say_each = getattr(cursor, "later_each", cursor.executemany)
        self._copy: _Copy | None = getattr(cursor, "copy_new", None)
        self._is_sqlite = connection.vendor == "sqlite"

    def write(self, frame: EventFrame, unnamed: Iterable[JobKey]) -> None:
        """Store everything but the counter."""
        bodies = [encode(event.value) for event in frame.events]
        self._write_rows(frame, bodies)
        for key in unnamed:
            self._say(statements.DROP_UNNAMED_VERSIONS, key)
        tables = {NOUN_OF_TOPIC[event.topic].table_index for event in frame.events} - {""}
        if tables:
            indexes = [cell for table in sorted(tables) for cell in (table, frame.index)]
            self._say(statements.put_table_indexes(len(tables)), indexes)
        coded = frame_codec.encode_events(frame.events, bodies)
        self._say(statements.APPEND_EVENT, (frame.index, frame.at, frame.kind, coded, len(coded)))

    def write_secrets(self, secrets: Mapping[tuple[str, AnyKey], str]) -> None:
        """Store the hashes beside rows that were written, by topic and key."""
        for (topic, key), secret_hash in secrets.items():
            cells: list[Any] = [secret_hash, *key_cells(key)]
            self._say(statements.put_secret(NOUN_OF_TOPIC[topic]), cells)

    def _write_rows(self, frame: EventFrame, bodies: Sequence[bytes]) -> None:
        """A row has one event only, so the order is free: deletions, then puts table by table."""
        puts: dict[AnyNoun, list[_Put]] = {}
        for event, body in zip(frame.events, bodies, strict=True):
            if event.deleted:
                self._delete(frame, event)
                continue
            puts.setdefault(NOUN_OF_TOPIC[event.topic], []).append((event.value, body))
            if event.topic == Topic.JOB and isinstance(event.value, Job):
                puts.setdefault(JOB_VERSIONS, []).append((event.value, body))
        for noun, of_noun in puts.items():
            self._put(noun, of_noun, frame.index)

    def _put(self, noun: AnyNoun, puts: Sequence[_Put], index: int) -> None:
        if self._copy is not None and len(puts) >= COPIED_FROM:
            puts = self._copy_new(noun, puts, index, self._copy)
        rows = [noun.row(value, timestamp, body) for value, body in puts]
        if self._is_sqlite:
            self._say_each(statements.upsert(noun), rows)
            return
        whole = len(rows) - len(rows) % _ROWS_AT_ONCE
        for start in range(0, whole, _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            values: list[Any] = [value for row in some for value in row]
            self._say(statements.upsert(noun, _ROWS_AT_ONCE), values)
        # Of other lengths no statement would be said again, and none kept.
        self._say_each(statements.upsert(noun), rows[whole:])

    def _copy_new(
        self, noun: AnyNoun, puts: Sequence[_Put], index: int, copy: _Copy
    ) -> Sequence[_Put]:
        """Put those that this write has made, if they are many; what is left."""
        creation = noun.creation
        if creation is None:
            return puts
        new = [put for put in puts if creation(put[0])[0] == index]
        if len(new) < COPIED_FROM:
            return puts
        rows = (noun.row(value, moment, body) for value, body in new)
        copy(noun.table, noun.column_names, statements.upsert(noun), rows)
        return [put for put in puts if creation(put[0])[0] != index]

    def _delete(self, frame: EventFrame, event: StateEvent) -> None:
        value = event.value
        if event.topic == Topic.JOB_VERSION:
            assert isinstance(value, Job)
            self._say(
                statements.HIDE_VERSION, (False, *value.key, value.create_index, value.version)
            )
            return
        noun = NOUN_OF_TOPIC[event.topic]
        key: list[Any] = [*key_cells(noun.key(value))]
        self._say(statements.delete(noun), key)
        for owned, index in owned_by(event.topic):
            of_owner = statements.in_place(owned.indexes[index])
            self._say(statements.delete(owned, of_owner), key)
        if isinstance(value, Job):
            self._say(statements.HIDE_VERSIONS, (False, *value.key))
            purged = (value.create_index, value.type, value.version, frame.at, frame.index)
            self._say(statements.PUT_JOB_STUB, (*value.key, *purged))
        elif isinstance(value, Evaluation):
            stub: list[Any] = [*EVALUATION_STUBS.row(evaluation_stub(value), timestamp)]
            self._say(statements.upsert(EVALUATION_STUBS), stub)
