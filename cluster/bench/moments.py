"""When the record says that something was written: the other end of what a viewer measures.

In: an own stack. Out: instants of commits in ns since the epoch, by index, topic or evaluation.
An instant is taken when its transaction begins, so a time measured from it includes the commit.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cluster.bench.target import NotSettled, Target
from cluster.store.frame_codec import decode_events
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class Commit:
    """One write: its index, its instant, and how many rows it changed by topic."""

    index: int
    at: int
    rows: dict[str, int]


class Moments:
    """The event log of a stack, read beside its servers."""

    def __init__(self, aim: Target) -> None:
        """Raises NotSettled for a cluster whose record is out of reach."""
        if aim.stack is None:
            raise NotSettled("this scenario reads the record itself: run it without --addr")
        self._file: Path = aim.stack.data_dir / "state.sqlite3"

    def index(self) -> int:
        """The newest index."""
        with closing(self._opened()) as record:
            found = record.execute('SELECT max("index") FROM event').fetchone()
        return int(found[0] or 0)

    def commits(self, since: int) -> list[Commit]:
        """Every write above `since`, in order."""
        commits = []
        for index, at, events in self._frames(since):
            rows: dict[str, int] = {}
            for event in events:
                rows[event.topic] = rows.get(event.topic, 0) + 1
            commits.append(Commit(index, at, rows))
        return commits

    def evaluations(self, since: int) -> dict[tuple[str, str], int]:
        """When each evaluation was first written with each of its statuses, above `since`."""
        found: dict[tuple[str, str], int] = {}
        for _, at, events in self._frames(since):
            for event in events:
                if isinstance(event.value, Evaluation):
                    found.setdefault((event.key, event.value.status.value), at)
        return found

    def _frames(self, since: int) -> Iterator[tuple[int, int, list[StateEvent]]]:
        with closing(self._opened()) as record:
            rows = record.execute(
                'SELECT "index", at, body FROM event WHERE "index" > ? ORDER BY "index"', (since,)
            )
            for index, at, body in rows:
                yield index, at, [*decode_events(body, frozenset(Topic))]

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)
