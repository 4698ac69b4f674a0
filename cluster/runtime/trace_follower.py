"""Follows the record and has evaluations that ended sent as traces; nothing else waits for it.

The record is the only buffer: while the endpoint takes nothing, nothing further is read. What was
collected meanwhile is left out. The event log is not unpacked: that cost more than all the rest.
"""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

from cluster.runtime.clock import SystemClock
from cluster.store.access import the_store
from cluster.store.evaluation_ends import SeenUpTo, ended_after, made_behind, open_now
from cluster.store.ports import RecordReader
from cluster.traces.spans import EvalSpan, is_sampled, spans_of
from scheduler.ports import Clock

log = logging.getLogger(__name__)

#: Seconds between looks while nothing comes.
LOOK_S = 1.0
#: The last steps of an evaluation may be written so long after its end, s.
SETTLE_S = 2.0
#: Evaluations of one message, and new ones of one look.
AT_ONCE = 200
#: So many open ones add a second between two looks, each of which reads their ids.
OPEN_A_SECOND = 5_000
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
        #: By id: an index before it ended, and when it may be sent.
        self._settling: dict[str, tuple[int, float]] = {}
        self._attempts = 0
        store = the_store()
        newest = store.read(lambda reader: reader.index)
        #: Up to which all ends are noted.
        self.index = self._first_index(newest)
        #: The stories of those that have not ended, by their ids; the one that was made last.
        self._open = open_now(store)
        self._made = SeenUpTo(newest)
        #: Whether some that were made are not read yet.
        self._is_behind = False
        # Asked last: what ended meanwhile is among them.
        self._note(ended_after(store, self.index), self.index)
        self.index = newest

    def look(self) -> float:
        """Read on, send what is due; seconds until it is worth to look again."""
        is_behind = self._read_on()
        due = self._due()
        if due and not self._send(due):
            return PAUSES[min(self._attempts, len(PAUSES)) - 1]
        if is_behind or len(due) == AT_ONCE:
            return 0.0
        return max(LOOK_S, len(self._open) / OPEN_A_SECOND)

    def _read_on(self) -> bool:
        """Note what has ended; whether there is more to read at once."""
        if len(self._settling) >= MOST_SETTLING:
            return False
        store = the_store()
        before, newest = self.index, store.read(lambda reader: reader.index)
        if newest == before and not self._is_behind:
            return False
        made = made_behind(store, self._made, AT_ONCE)
        if made:
            self._made = made[-1].place
        self._open |= {each.place.id: each.story_id for each in made if each.is_open}
        # Read after them: who was made and ended between the two is found as well.
        still = open_now(store)
        ended = {eval_id: story for eval_id, story in self._open.items() if eval_id not in still}
        ended |= {each.place.id: each.story_id for each in made if not each.is_open}
        self._note(ended, before)
        self._open = {eval_id: story for eval_id, story in self._open.items() if eval_id in still}
        self._is_behind = len(made) == AT_ONCE
        if not self._is_behind:
            self.index = newest
        return self._is_behind

    def _note(self, ended: Mapping[str, str], before: int) -> None:
        settled = self._clock.monotonic() + SETTLE_S
        for eval_id, story_id in ended.items():
            if is_sampled(story_id or eval_id, self._share):
                self._settling[eval_id] = (before, settled)

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

    def _first_index(self, newest: int) -> int:
        """Where it ended, or now: what happened before anybody asked for traces is not sent."""
        try:
            kept = int(self._place.read_text())
        except (OSError, ValueError):
            return newest
        return min(kept, newest)

    def _keep_place(self) -> None:
        open_ones = (index for index, _ in self._settling.values())
        place = min(open_ones, default=self.index)
        try:
            self._place.write_text(str(place))
        except OSError as error:
            log.warning("action=keep_place %s", error)


def _spans(reader: RecordReader, eval_ids: Collection[str]) -> list[EvalSpan]:
    """Of those that were not collected meanwhile."""
    lives = reader.lives_of(eval_ids)
    return [
        span
        for evaluation in reader.evaluations_among(eval_ids)
        if evaluation.is_terminal
        for span in spans_of(evaluation, lives.get(evaluation.id, ()))
    ]
