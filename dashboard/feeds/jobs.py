"""The list of jobs, live: a row is made of a job and its counts, which change in different writes.

In: frames. Out: rows, read together once per flush for all viewers of the same namespaces.
"""

from collections.abc import Mapping, Sequence

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NEW_ROWS, NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Facts, Html, Piece
from dashboard.queries.jobs import jobs_told, lines_of
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.identity import JobKey

_ROW = "dashboard/partials/_job_row.html"


class JobsFeed(Feed):
    """Jobs that changed since the last flush."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        #: In the order of their changes; whether the job is new.
        self._changed: dict[JobKey, bool] = {}
        #: All that are there, to be counted.
        self._keys: set[JobKey] = set()
        self._told = ""

    def load(self, reader: RecordReader) -> None:
        """Read what is counted: keys only."""
        self._keys = reader.job_keys(self.subscription.namespaces)
        self._told = jobs_told(len(self._keys))

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if event.topic is Topic.JOB:
            key = JobKey(event.namespace, event.key)
            is_new = getattr(event.value, "create_index", 0) == index
            self._changed[key] = self._changed.pop(key, False) or is_new
            (self._keys.discard if event.deleted else self._keys.add)(key)
        elif event.topic in (Topic.JOB_SUMMARY, Topic.PERIODIC_LAUNCH):
            key = JobKey(event.namespace, getattr(event.value, "job_id", event.key))
            self._changed[key] = self._changed.pop(key, False)

    @property
    def needs_reader(self) -> bool:
        """Rows are read."""
        return bool(self._changed) or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """The rows of the jobs that changed; those that are gone leave."""
        pieces = super().flush(reader, now)
        told, self._told = self._told, jobs_told(len(self._keys))
        if told != self._told:
            pieces += self.standing(now)
        if reader is None:
            return pieces
        changed = self.changed()
        self._changed.clear()
        return pieces + _rows(changed, reader, now)

    def changed(self) -> dict[JobKey, bool]:
        """The jobs whose rows are to be told, and whether each is new."""
        return dict(list(self._changed.items())[-NEW_ROWS:])

    def standing(self, now: int) -> tuple[Piece, ...]:
        """How many there are."""
        del now
        return (Facts(values={"jobs-all": jobs_told(len(self._keys))}),)

    def replay(
        self, frames: Sequence[EventFrame], reader: RecordReader, now: int
    ) -> tuple[Piece, ...]:
        missed = JobsFeed(self.subscription)
        for frame in frames:
            missed.observe(frame)
        return _rows(missed.changed(), reader, now)


def _rows(changed: Mapping[JobKey, bool], reader: RecordReader, now: int) -> tuple[Piece, ...]:
    lines = {line.job.key: line for line in lines_of(reader, changed)}
    rows: list[Piece] = []
    for key, is_new in changed.items():
        target = f"jobs-{key.namespace}/{key.job_id}"
        if key not in lines:
            rows.append(Html(target=target, mode="remove"))
            continue
        html = rendered(_ROW, {"line": lines[key], "now": now})
        if is_new:
            rows.append(Html(target=target, mode="upsert", html=html, container="jobs"))
        else:
            rows.append(Html(target=target, html=html))
    return tuple(rows)
