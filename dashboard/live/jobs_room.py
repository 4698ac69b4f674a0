"""The list of jobs, live: a row is made of a job and its counts, which change in different writes.

In: frames. Out: rows, read together once per flush for all viewers of the same namespaces.
"""

from collections.abc import Mapping, Sequence

from dashboard.live.messages import Html, Piece
from dashboard.live.rooms import NEW_ROWS, Room, rendered
from dashboard.live.subscriptions import Subscription
from dashboard.queries.jobs import lines_of
from dashboard.viewer import own
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.identity import JobKey

_ROW = "dashboard/partials/_job_row.html"


class JobsRoom(Room):
    """Jobs that changed since the last flush."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        #: In the order of their changes; whether the job is new.
        self._changed: dict[JobKey, bool] = {}

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if event.topic is Topic.JOB:
            key = JobKey(event.namespace, event.key)
            is_new = getattr(event.value, "create_index", 0) == index
            self._changed[key] = self._changed.pop(key, False) or is_new
        elif event.topic is Topic.JOB_SUMMARY:
            key = JobKey(event.namespace, getattr(event.value, "job_id", event.key))
            self._changed[key] = self._changed.pop(key, False)

    @property
    def needs_reader(self) -> bool:
        """Rows are read."""
        return bool(self._changed) or super().needs_reader

    def flush(self, reader: StateReader | None, now: int) -> tuple[Piece, ...]:
        """The rows of the jobs that changed; those that are gone leave."""
        pieces = super().flush(reader, now)
        if reader is None:
            return pieces
        changed = dict(list(self._changed.items())[-NEW_ROWS:])
        self._changed.clear()
        return pieces + _rows(changed, reader, now)

    def replay(
        self, frames: Sequence[EventFrame], reader: StateReader, now: int
    ) -> tuple[Piece, ...]:
        """See Room."""
        missed = JobsRoom(self.subscription)
        missed.panels = []
        for frame in frames:
            missed.observe(frame)
        return missed.flush(reader, now)


def _rows(changed: Mapping[JobKey, bool], reader: StateReader, now: int) -> tuple[Piece, ...]:
    lines = {line.job.key: line for line in lines_of(own(reader), changed)}
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
