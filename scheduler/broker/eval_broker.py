"""Evaluations that wait for a worker, or are out with one.

In: evaluations, and what workers say of their deliveries. Out: deliveries in order of urgency, at
most one outstanding per job, at least once each. It never waits: `tick` moves what became due, and
`take_notes` tells what happened to whom. Who the workers are is not known here.
"""

import heapq
from collections.abc import Callable, Sequence
from itertools import count

from scheduler.broker.delay_heap import DelayHeap
from scheduler.broker.drained_together import DrainedTogether
from scheduler.broker.leader_settings import SECOND, LeaderSettings
from scheduler.broker.places import (
    FAILED_QUEUE,
    BrokerStats,
    Entry,
    Note,
    Outstanding,
    Place,
)
from scheduler.errors import NotOutstanding, TokenMismatch
from scheduler.ports import IDSource
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.evaluation import Evaluation, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.moment import Moment

#: Place in a queue: urgency, index, arrival, id.
_Key = tuple[int, int, int, str]


class EvalBroker:
    """At-least-once delivery by priority, one outstanding per job (evaluations.md 5)."""

    def __init__(
        self, ids: IDSource, chance: Callable[[], float], settings: LeaderSettings | None = None
    ) -> None:
        self.enabled = False
        self._ids = ids
        self._chance = chance
        self._settings = settings or LeaderSettings()
        self._order = count()
        self._clear()

    def _clear(self) -> None:
        self._entries: dict[str, Entry] = {}
        #: The evaluation that holds each job: ready, outstanding, backing off or failed.
        self._locks: dict[JobKey, str] = {}
        self._ready: dict[str, list[_Key]] = {}
        self._pending: dict[JobKey, list[_Key]] = {}
        self._requeue: dict[str, Evaluation] = {}
        self._drained = DrainedTogether(self._settings)
        #: Due on the wall clock (WaitUntil) and on the monotonic clock (Wait, back-off).
        self._by_wall = DelayHeap()
        self._by_monotonic = DelayHeap()
        self._nack_timers = DelayHeap()
        self._cancelable: list[str] = []
        self._notes: list[Note] = []

    def set_enabled(self, *, enabled: bool) -> None:
        """Switch it. Off, it forgets everything and ignores what is enqueued."""
        self.enabled = enabled
        if not enabled:
            self._clear()

    def place_of(self, eval_id: str) -> Place | None:
        """Where an evaluation is; None when it is not here."""
        entry = self._entries.get(eval_id)
        return entry.place if entry else None

    def evaluation(self, eval_id: str) -> Evaluation | None:
        """An evaluation as it came in."""
        entry = self._entries.get(eval_id)
        return entry.evaluation if entry else None

    def jobs(self) -> set[JobKey]:
        """The jobs of everything it holds."""
        return {entry.evaluation.job_key for entry in self._entries.values()}

    def enqueue(self, evaluation: Evaluation, *, monotonic: float, token: str = "") -> None:
        """Take an evaluation in, once.

        With the token of its own outstanding delivery it comes in again when that delivery is
        acked; with any other token, or already known, it is ignored.
        """
        if not self.enabled:
            return
        known = self._entries.get(evaluation.id)
        if known is not None:
            if token and known.place is Place.OUTSTANDING and known.token == token:
                self._requeue[token] = evaluation
            return
        self._entries[evaluation.id] = Entry(evaluation, Place.DELAYED, next(self._order))
        if evaluation.wait > 0:
            self._by_monotonic.push(evaluation.id, monotonic + evaluation.wait / SECOND)
            self._note(evaluation.id, Step.DELAYED, f"waits {evaluation.wait / SECOND:g} s")
        elif evaluation.wait_until > 0:
            self._by_wall.push(evaluation.id, evaluation.wait_until)
            self._note(evaluation.id, Step.DELAYED, "waits for its time")
        else:
            self._admit(evaluation.id)

    def drop_waiting(self, eval_id: str) -> bool:
        """Forget an evaluation that still waits for its time; whether it did."""
        if self.place_of(eval_id) is not Place.DELAYED:
            return False
        self._by_wall.remove(eval_id)
        self._by_monotonic.remove(eval_id)
        del self._entries[eval_id]
        return True

    def dequeue(
        self, types: Sequence[str], limit: int = 1, *, monotonic: float
    ) -> list[Outstanding]:
        """Deliver up to `limit` ready evaluations of these types, of different jobs.

        Those that one write of the drainer made go together; see `DrainedTogether`.
        """
        deliveries: list[Outstanding] = []
        held_up: list[tuple[str, _Key]] = []
        while (queue := self._best_queue(types)) is not None:
            key = self._ready[queue][0]
            entry = self._entries[key[-1]]
            if self._drained.waits(entry.evaluation, self._is_out, monotonic):
                held_up.append((queue, heapq.heappop(self._ready[queue])))
                continue
            if len(deliveries) >= limit and not self._drained.goes_with(
                len(deliveries), deliveries[-1].evaluation, entry.evaluation
            ):
                break
            heapq.heappop(self._ready[queue])
            entry.place = Place.OUTSTANDING
            entry.token = self._ids.next_id()
            entry.deliveries += 1
            entry.paused = False
            self._nack_timers.push(entry.evaluation.id, monotonic + self._settings.nack_timeout)
            deliveries.append(Outstanding(entry.evaluation, entry.token, entry.deliveries))
        for queue, key in held_up:
            heapq.heappush(self._ready[queue], key)
        return deliveries

    def _is_out(self, job_key: JobKey) -> bool:
        """Whether a worker holds an evaluation of the job."""
        return self.place_of(self._locks.get(job_key, "")) is Place.OUTSTANDING

    def _best_queue(self, types: Sequence[str]) -> str | None:
        heads = [(self._ready[name][0][0], name) for name in types if self._ready.get(name)]
        if not heads:
            return None
        most_urgent = min(urgency for urgency, _ in heads)
        tied = [name for urgency, name in heads if urgency == most_urgent]
        return tied[int(self._chance() * len(tied))]

    def ack(self, eval_id: str, token: str, *, monotonic: float) -> None:
        """The delivery is done: let the job's next evaluation in, and cancel the others behind it.

        Raises NotOutstanding or TokenMismatch.
        """
        again = self._requeue.pop(token, None)
        entry = self._delivered(eval_id, token)
        due = self._nack_timers.due_at(eval_id)
        if due is not None and due <= monotonic:
            raise NotOutstanding("Evaluation ID Ack'd after Nack timer expiration")
        self._nack_timers.remove(eval_id)
        del self._entries[eval_id]
        job_key = entry.evaluation.job_key
        del self._locks[job_key]
        self._promote_best(job_key)
        if again is not None:
            self.enqueue(again, monotonic=monotonic)

    def nack(self, eval_id: str, token: str, *, monotonic: float, reason: str = "") -> None:
        """The delivery failed: deliver again after a while, or write the evaluation off.

        Raises NotOutstanding or TokenMismatch.
        """
        self._requeue.pop(token, None)
        entry = self._delivered(eval_id, token)
        self._nack_timers.remove(eval_id)
        self._note(eval_id, Step.NACKED, reason)
        if entry.deliveries >= self._settings.delivery_limit:
            self._push_ready(entry, FAILED_QUEUE)
            return
        delay = self._back_off(entry.deliveries)
        if delay <= 0:
            self._admit(eval_id)
            return
        entry.place = Place.BACKING_OFF
        self._by_monotonic.push(eval_id, monotonic + delay)
        self._note(eval_id, Step.DELAYED, f"delivered again in {delay:g} s")

    def give_back(self, eval_id: str, token: str, *, reason: str = "") -> None:
        """The delivery was never begun: ready again at once, and it does not count.

        Raises NotOutstanding or TokenMismatch.
        """
        self._requeue.pop(token, None)
        entry = self._delivered(eval_id, token)
        self._nack_timers.remove(eval_id)
        entry.deliveries -= 1
        self._note(eval_id, Step.NACKED, reason)
        self._push_ready(entry, entry.evaluation.type)

    def _back_off(self, deliveries: int) -> float:
        if deliveries <= 0:
            return 0.0
        if deliveries == 1:
            return self._settings.nack_first_delay
        return (deliveries - 1) * self._settings.nack_later_delay

    def take_cancelable(self, limit: int) -> list[Evaluation]:
        """Remove and return superseded evaluations, oldest first."""
        taken, self._cancelable = self._cancelable[:limit], self._cancelable[limit:]
        return [self._entries.pop(eval_id).evaluation for eval_id in taken]

    def outstanding(self, eval_id: str) -> str | None:
        """The token of an evaluation that is out."""
        entry = self._entries.get(eval_id)
        return entry.token if entry and entry.place is Place.OUTSTANDING else None

    def outstanding_reset(self, eval_id: str, token: str, *, monotonic: float) -> None:
        """A sign of life: the nack timer starts again. Raises NotOutstanding or TokenMismatch."""
        self._running_timer(eval_id, token, monotonic)
        self._nack_timers.push(eval_id, monotonic + self._settings.nack_timeout)

    def pause_nack_timeout(self, eval_id: str, token: str, *, monotonic: float) -> None:
        """Stop the nack timer. Raises NotOutstanding (also if it stands) or TokenMismatch."""
        entry = self._running_timer(eval_id, token, monotonic)
        entry.paused = True
        self._nack_timers.remove(eval_id)

    def resume_nack_timeout(self, eval_id: str, token: str, *, monotonic: float) -> None:
        """Start the nack timer at full length. Raises NotOutstanding or TokenMismatch."""
        entry = self._held(eval_id, token)
        entry.paused = False
        self._nack_timers.push(eval_id, monotonic + self._settings.nack_timeout)

    def _running_timer(self, eval_id: str, token: str, monotonic: float) -> Entry:
        entry = self._held(eval_id, token)
        due = self._nack_timers.due_at(eval_id)
        if due is None or due <= monotonic:
            raise NotOutstanding("evaluation nack timeout reached")
        return entry

    def _held(self, eval_id: str, token: str) -> Entry:
        entry = self._entries.get(eval_id)
        if entry is None or entry.place is not Place.OUTSTANDING:
            raise NotOutstanding("evaluation is not outstanding")
        if entry.token != token:
            raise TokenMismatch("evaluation token does not match")
        return entry

    def _delivered(self, eval_id: str, token: str) -> Entry:
        entry = self._entries.get(eval_id)
        if entry is None or entry.place is not Place.OUTSTANDING:
            raise NotOutstanding("Evaluation ID not found")
        if entry.token != token:
            raise TokenMismatch("Token does not match for Evaluation ID")
        return entry

    def tick(self, moment: Moment) -> None:
        """Nack deliveries whose timer ran out; let in what waited long enough."""
        for eval_id in self._nack_timers.pop_due(moment.monotonic):
            token = self._entries[eval_id].token
            self.nack(eval_id, token, monotonic=moment.monotonic, reason="nack timeout")
        for eval_id in (
            *self._by_wall.pop_due(moment.now),
            *self._by_monotonic.pop_due(moment.monotonic),
        ):
            self._admit(eval_id)

    def next_deadline(self, moment: Moment) -> float | None:
        """When `tick` has something to do, on the monotonic clock."""
        deadlines = [self._nack_timers.next_due(), self._by_monotonic.next_due()]
        wall = self._by_wall.next_due()
        if wall is not None:
            deadlines.append(moment.monotonic + max(0.0, (wall - moment.now) / SECOND))
        return min((due for due in deadlines if due is not None), default=None)

    def take_notes(self) -> list[Note]:
        """What happened since it was last asked, in order."""
        notes, self._notes = self._notes, []
        return notes

    def ready_count(self, types: Sequence[str] | None = None) -> int:
        """How many are ready: of these types, or of all that workers take."""
        names = [name for name in self._ready if name != FAILED_QUEUE] if types is None else types
        return sum(len(self._ready.get(name, ())) for name in names)

    def stats(self) -> BrokerStats:
        """Counts over everything it holds."""
        places = [entry.place for entry in self._entries.values()]
        unacked: dict[str, int] = {}
        for entry in self._entries.values():
            if entry.place is Place.OUTSTANDING:
                queue = self._queue_of(entry)
                unacked[queue] = unacked.get(queue, 0) + 1
        names = {name for name, heap in self._ready.items() if heap} | set(unacked)
        return BrokerStats(
            total_ready=places.count(Place.READY) + places.count(Place.FAILED),
            total_unacked=places.count(Place.OUTSTANDING),
            total_pending=places.count(Place.PENDING),
            total_waiting=places.count(Place.DELAYED) + places.count(Place.BACKING_OFF),
            total_cancelable=places.count(Place.CANCELABLE),
            delayed={
                entry.evaluation.id: entry.evaluation.wait_until
                for entry in self._entries.values()
                if entry.evaluation.id in self._by_wall
            },
            by_scheduler={
                name: (len(self._ready.get(name, ())), unacked.get(name, 0)) for name in names
            },
        )

    def _queue_of(self, entry: Entry) -> str:
        written_off = entry.deliveries > self._settings.delivery_limit
        return FAILED_QUEUE if written_off else entry.evaluation.type

    def _admit(self, eval_id: str) -> None:
        """Make it ready, or let it wait for the evaluation that holds its job."""
        entry = self._entries[eval_id]
        evaluation = entry.evaluation
        holder = self._locks.setdefault(evaluation.job_key, eval_id)
        if holder == eval_id:
            self._push_ready(entry, evaluation.type)
            self._note(eval_id, Step.ENQUEUED)
            return
        entry.place = Place.PENDING
        key = (-evaluation.priority, -evaluation.modify_index, entry.order, eval_id)
        heapq.heappush(self._pending.setdefault(evaluation.job_key, []), key)
        self._drained.note_behind(evaluation)
        self._note(eval_id, Step.ENQUEUED, f"behind evaluation {holder} of the same job")

    def _push_ready(self, entry: Entry, queue: str) -> None:
        entry.place = Place.FAILED if queue == FAILED_QUEUE else Place.READY
        evaluation = entry.evaluation
        key = (-evaluation.priority, evaluation.create_index, entry.order, evaluation.id)
        heapq.heappush(self._ready.setdefault(queue, []), key)

    def _promote_best(self, job_key: JobKey) -> None:
        waiting = self._pending.pop(job_key, None)
        if not waiting:
            return
        for *_, eval_id in waiting:
            self._drained.not_behind(self._entries[eval_id].evaluation)
        best = heapq.heappop(waiting)[-1]
        for *_, eval_id in sorted(waiting):
            if self._entries[eval_id].evaluation.type == CORE_TYPE:
                del self._entries[eval_id]
                continue
            self._entries[eval_id].place = Place.CANCELABLE
            self._cancelable.append(eval_id)
        self._admit(best)

    def _note(self, eval_id: str, step: Step, reason: str = "") -> None:
        self._notes.append(Note(eval_id, step, reason))
