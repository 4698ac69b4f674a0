"""Follows the record and has evaluations that ended sent as traces; nothing else waits for it.

The event log is the only buffer: while the endpoint takes nothing, nothing further is read. Where
it is away for longer than the log reaches back, what lies between is left out, and said once.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from cluster.runtime.clock import SystemClock
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from cluster.traces.spans import EvalSpan, is_sampled, spans_of
from scheduler.errors import StaleSnapshot
from scheduler.ports import Clock
from scheduler.state.events import Topic
from scheduler.structs.evaluation import Evaluation

_TOPICS = frozenset({Topic.EVALUATION})

log = logging.getLogger(__name__)

#: Seconds between looks while nothing comes.
LOOK_S = 1.0
#: The last steps of an evaluation may be written so long after its end, s.
SETTLE_S = 2.0
#: Evaluations of one message, and frames of one look.
AT_ONCE = 200
#: Ended ones that wait to settle; beyond it frames are left for later.
MOST_SETTLING = 10_000
#: Seconds before attempts 2, 3, 4 ...; the last one repeats.
PAUSES = (1.0, 5.0, 15.0, 60.0)
#: What an endpoint refused so often goes nowhere, and what follows may.
MOST_ATTEMPTS = 20


class Sender(Protocol):
    """Where spans go."""

    def send(self, spans: list[EvalSpan]) -> bool:
        """Whether they arrived."""


class TraceFollower:
    """Looks from a place in the log on, which is kept in a file."""

    def __init__(
        self, sender: Sender, place: Path, clock: Clock | None = None, share: float = 100.0
    ) -> None:
        """`share`: of how many stories in a hundred."""
        self._sender = sender
        self._share = share
        self._place = place
        self._clock = clock or SystemClock()
        #: By id: the index of the frame in which it ended, and when it may be sent.
        self._settling: dict[str, tuple[int, float]] = {}
        self._attempts = 0
        #: Of the newest frame that was read.
        self.index = self._first_index()

    def look(self) -> float:
        """Read on, send what is due; seconds until it is worth to look again."""
        try:
            is_behind = self._read_on()
        except StaleSnapshot:
            self._skip()
            return 0.0
        due = self._due()
        if due and not self._send(due):
            return PAUSES[min(self._attempts, len(PAUSES)) - 1]
        return 0.0 if is_behind or len(due) == AT_ONCE else LOOK_S

    def _read_on(self) -> bool:
        """Whether there is more to read at once."""
        if len(self._settling) >= MOST_SETTLING:
            return False
        frames = the_store().frames_since(self.index, AT_ONCE, _TOPICS)
        settled = self._clock.monotonic() + SETTLE_S
        for frame in frames:
            for event in frame.events:
                value = event.value
                if (
                    isinstance(value, Evaluation)
                    and value.is_terminal
                    and not event.deleted
                    and is_sampled(value, self._share)
                ):
                    self._settling[value.id] = (frame.index, settled)
        if frames:
            self.index = frames[-1].index
        return len(frames) == AT_ONCE

    def _due(self) -> list[str]:
        now = self._clock.monotonic()
        found = [eval_id for eval_id, (_, at) in self._settling.items() if at <= now]
        return found[:AT_ONCE]

    def _send(self, eval_ids: list[str]) -> bool:
        spans = the_store().read(lambda reader: _spans(reader, eval_ids))
        if spans and not self._sender.send(spans):
            self._attempts += 1
            if self._attempts == 1:
                log.warning("action=send_traces not taken; tried again, later and later")
            if self._attempts < MOST_ATTEMPTS:
                return False
            log.warning("action=send_traces left_out=%d after=%d", len(eval_ids), self._attempts)
            self._attempts = 1
        elif self._attempts:
            log.info("action=send_traces taken again")
            self._attempts = 0
        for eval_id in eval_ids:
            del self._settling[eval_id]
        self._keep_place()
        return True

    def _skip(self) -> None:
        """Go on with what is kept of the log."""
        oldest = the_store().read(lambda reader: reader.oldest_event)
        log.warning("action=send_traces left_out_from=%d to=%d", self.index + 1, oldest - 1)
        self.index = max(self.index, oldest - 1)

    def _first_index(self) -> int:
        """Where it ended, or now: what happened before anybody asked for traces is not sent."""
        newest = the_store().read(lambda reader: reader.index)
        try:
            kept = int(self._place.read_text())
        except (OSError, ValueError):
            return newest
        return min(kept, newest)

    def _keep_place(self) -> None:
        open_ones = (index - 1 for index, _ in self._settling.values())
        place = min(open_ones, default=self.index)
        try:
            self._place.write_text(str(place))
        except OSError as error:
            log.warning("action=keep_place %s", error)


def _spans(reader: RecordReader, eval_ids: Collection[str]) -> list[EvalSpan]:
    """Of those that were not collected meanwhile."""
    return [
        span
        for evaluation in reader.evaluations_among(eval_ids)
        if evaluation.is_terminal
        for span in spans_of(evaluation, reader.lifecycle(evaluation.id))
    ]
