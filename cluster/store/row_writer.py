"""The events of one write, put into the tables below the models.

In: a cursor inside the write's transaction, and the events. Out: rows. One statement serves many
rows, because a plan may bring thousands.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import codec, frame_codec, statements
from cluster.store.codec import NOUN_OF_TOPIC
from cluster.store.statements import AnyNoun
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.state.stub import evaluation_stub
from scheduler.state.topics import TABLE_OF_TOPIC
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Rows in one statement where the database takes many parameters at once.
_ROWS_AT_ONCE = 200

Row = tuple[Any, ...]


class RowWriter:
    """Writes one frame's rows and the frame itself."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._cursor = connection.cursor()
        self._is_sqlite = connection.vendor == "sqlite"

    def write(self, frame: EventFrame, unnamed: Iterable[JobKey]) -> None:
        """Store everything but the counter."""
        bodies = [codec.encode(event.value) for event in frame.events]
        self._write_rows(frame, bodies)
        for key in unnamed:
            self._cursor.execute(statements.DROP_UNNAMED_VERSIONS, key)
        tables = {
            table
            for event in frame.events
            if (table := TABLE_OF_TOPIC.get(event.topic)) is not None
        }
        for table in sorted(tables):
            self._cursor.execute(statements.PUT_TABLE_INDEX, (table, frame.index))
        coded = frame_codec.encode_events(frame.events, bodies)
        self._cursor.execute(
            statements.APPEND_EVENT, (frame.index, frame.at, frame.kind.value, coded, len(coded))
        )

    def _write_rows(self, frame: EventFrame, bodies: Sequence[bytes]) -> None:
        """A row has one event only, so the order is free: deletions, then puts table by table."""
        rows: dict[AnyNoun, list[Row]] = {}
        for event, body in zip(frame.events, bodies, strict=True):
            if event.deleted:
                self._delete(frame, event)
                continue
            noun = NOUN_OF_TOPIC[event.topic]
            rows.setdefault(noun, []).append(noun.row(event.value, body))
            if event.topic is Topic.JOB and isinstance(event.value, Job):
                versions = rows.setdefault(codec.JOB_VERSION, [])
                versions.append(codec.JOB_VERSION.row(event.value, body))
        for noun, of_noun in rows.items():
            self._put(noun, of_noun)

    def _put(self, noun: AnyNoun, rows: list[Row]) -> None:
        if self._is_sqlite or len(rows) == 1:
            self._cursor.executemany(statements.upsert(noun), rows)
            return
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            values: list[Any] = [value for row in some for value in row]
            self._cursor.execute(statements.upsert(noun, len(some)), values)

    def _delete(self, frame: EventFrame, event: StateEvent) -> None:
        value = event.value
        if event.topic is Topic.JOB_VERSION:
            assert isinstance(value, Job)
            self._cursor.execute(
                statements.HIDE_VERSION, (False, *value.key, value.create_index, value.version)
            )
            return
        noun = NOUN_OF_TOPIC[event.topic]
        self._cursor.execute(statements.delete(noun), noun.key_of(value))
        if event.topic is Topic.JOB:
            assert isinstance(value, Job)
            self._purge(frame, value)
        elif event.topic is Topic.EVALUATION:
            assert isinstance(value, Evaluation)
            self._collect(value)

    def _purge(self, frame: EventFrame, job: Job) -> None:
        of_job = "namespace = %s AND job_id = %s"
        self._cursor.execute(statements.delete(codec.JOB_SUBMISSION, of_job), job.key)
        self._cursor.execute(statements.HIDE_VERSIONS, (False, *job.key))
        stub = (*job.key, job.create_index, job.type, job.version, frame.at, frame.index)
        self._cursor.execute(statements.PUT_JOB_STUB, stub)

    def _collect(self, evaluation: Evaluation) -> None:
        stub = codec.EVALUATION_STUB.row(evaluation_stub(evaluation))
        self._cursor.execute(statements.upsert(codec.EVALUATION_STUB), stub)
        for noun in (codec.LIFECYCLE, codec.EXPLANATION):
            self._cursor.execute(statements.delete(noun, "eval_id = %s"), (evaluation.id,))
