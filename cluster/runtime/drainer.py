"""Drains evaluations in one worker process: take a batch, schedule it, report, ask again.

Holds the mirror of the nodes from task to task. Everything it knows can be lost: its deliveries
return to the leader when it falls silent.
"""

import functools
import logging
import threading
from collections.abc import Sequence

from django.conf import settings

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.garbage import collection_settings
from cluster.runtime.batch_size import BatchSize, looks_up
from cluster.runtime.calm_collector import calm_collector
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.ending import is_ending
from cluster.runtime.leader_channel import LeaderChannel, LeaderUnreachable
from cluster.runtime.leader_protocol import (
    ALIVE,
    ALIVE_EVERY_S,
    DEQUEUE,
    FINISH,
    PLAN,
    REAP,
    AliveBody,
    Answer,
    DequeueBody,
    FinishBody,
    PlanBody,
    ReapBody,
    encoded_body,
)
from cluster.runtime.process_name import process_name
from cluster.store.snapshot_cache import SnapshotCache
from scheduler.messages import SCHEDULER_VERSION, Delivery
from scheduler.structs.collection import CORE_TYPE
from scheduler.worker import Batch, Turn, WorkerTools

log = logging.getLogger(__name__)

TYPES = ("service", "batch", "system", "sysbatch", CORE_TYPE)
#: A question for work waits so long: less than `LeaderSettings.awake_after_asking`, so that who
#: waits counts as awake.
ASK_S = 0.9
#: A drainer that finds nothing stays awake this long: to wake it costs more than most jobs.
LINGER_S = 60.0
#: The first plan of a batch waits at most this long for those that are being made.
GATHER_S = 0.003
#: It ends after a while, so that Celery sees it live.
DRAIN_S = 300.0


class Drainer:
    """One worker process."""

    def __init__(self) -> None:
        calm_collector()
        self.process = process_name("worker")
        self.channel = LeaderChannel(settings.BIVOUAC_REDIS_URL, self.process)
        self.cache = SnapshotCache()
        self._clock = SystemClock()
        self._tools = WorkerTools(
            snapshot=self.cache.snapshot_at,
            ids=RandomIDs(),
            matcher=Re2Matcher(),
            collection=collection_settings(),
        )
        self._batch: Batch | None = None
        #: Plan requests that are out: request id to evaluation id.
        self._plans: dict[str, str] = {}
        #: Deletions that are out, in the same way.
        self._reaps: dict[str, str] = {}
        self._size = BatchSize()

    def drain(self) -> None:
        """Work until nothing comes for `LINGER_S`, `DRAIN_S` have passed, or the worker ends."""
        self._size.begin_anew()
        pulse = _Pulse(self)
        pulse.start()
        try:
            now = self._clock.monotonic()
            end, idle_until = now + DRAIN_S, now + LINGER_S
            while now < min(end, idle_until) and not is_ending():
                deliveries = self._dequeue()
                if deliveries is None:
                    break
                now = self._clock.monotonic()
                if deliveries:
                    self._work(deliveries)
                    now = self._clock.monotonic()
                    idle_until = now + LINGER_S
                else:
                    self._size.begin_anew()
            while self.channel.has_pending:
                self.channel.collect(ASK_S)
        except LeaderUnreachable as error:
            # Tokens of a leader that does not answer are worth nothing; it will deliver again.
            log.warning("action=drain %s", error)
            self.channel.forget()
        finally:
            pulse.stop()

    @property
    def working_on(self) -> tuple[str, ...]:
        """Evaluations whose run has begun."""
        batch = self._batch
        return batch.working_on if batch is not None else ()

    def _dequeue(self) -> Sequence[Delivery] | None:
        """What the leader hands out in time; None where it refuses to."""
        body = DequeueBody(self.process, TYPES, self._size.limit, ASK_S, SCHEDULER_VERSION)
        asked = self.channel.send(DEQUEUE, body)
        while True:
            for answer in self.channel.collect(ASK_S):
                if answer.id == asked:
                    if answer.error:
                        log.warning("action=dequeue refused: %s", answer.error)
                        return None
                    return DEQUEUE.read_answer(answer)
                self._note_refusal(answer)

    def _work(self, deliveries: Sequence[Delivery]) -> None:
        """Every run goes up to its first plan; then each goes on as its answer arrives.

        Core runs begin last: what they look through would keep the plans of the others.
        """
        deliveries = sorted(deliveries, key=lambda each: each.evaluation.type == CORE_TYPE)
        self._batch = batch = Batch(self._tools, deliveries)
        self._plans.clear()
        self._reaps.clear()
        try:
            with self.cache.batch():
                for place, delivery in enumerate(deliveries):
                    if self._plans and looks_up(place, len(deliveries)):
                        for answer in self.channel.poll():
                            self._take(batch, answer)
                    self._begin(batch, delivery.evaluation.id)
                while self._plans or self._reaps:
                    for answer in self.channel.collect(1.0):
                        self._take(batch, answer)
        finally:
            self._batch = None

    def _begin(self, batch: Batch, eval_id: str) -> None:
        began = self._clock.monotonic()
        self._send(batch.begin(eval_id, now=self._clock.now()))
        self._size.took(self._clock.monotonic() - began)
        # The next run is likely to take as long, and to have its plan wait for it.
        self.channel.flush(older_than_s=GATHER_S - (self._clock.monotonic() - began))

    def _take(self, batch: Batch, answer: Answer) -> None:
        of_core = self._reaps.pop(answer.id, None)
        eval_id = of_core or self._plans.pop(answer.id, None)
        if eval_id is None:
            self._note_refusal(answer)
        elif answer.error:
            self._send(batch.give_up(eval_id, answer.error, now=self._clock.now()))
        elif of_core is not None:
            self._send(batch.reaped(eval_id, REAP.read_answer(answer)))
        else:
            outcome = PLAN.read_answer(answer)
            self._size.note(was_refused=outcome.is_refused)
            self._send(batch.answer(outcome, now=self._clock.now()))

    def _send(self, turn: Turn) -> None:
        for plan in turn.plans:
            claim = self._batch.claim(plan.id) if self._batch is not None else None
            body = PlanBody(self.process, plan.outline, plan.size, encoded_body(plan), claim)
            asked = self.channel.send(PLAN, body)
            self._plans[asked] = plan.eval_id
        for request in turn.reaps:
            asked = self.channel.send(REAP, ReapBody(self.process, request))
            self._reaps[asked] = request.eval_id
        for finish in turn.finishes:
            self._size.grow()
            if not finish.ack:
                log.warning("action=nack eval=%s reason=%s", finish.eval_id, finish.error)
            self.channel.send(FINISH, FinishBody(self.process, finish))

    def _note_refusal(self, answer: Answer) -> None:
        if answer.error:
            log.warning("action=finish refused: %s", answer.error)


class _Pulse(threading.Thread):
    """Says each second that this process lives and what it has begun, however long a run takes."""

    def __init__(self, owner: Drainer) -> None:
        super().__init__(name="pulse", daemon=True)
        self._owner = owner
        self._stopped = threading.Event()

    def run(self) -> None:
        channel = LeaderChannel(settings.BIVOUAC_REDIS_URL, self._owner.process)
        while not self._stopped.wait(ALIVE_EVERY_S):
            channel.post(ALIVE, AliveBody(self._owner.process, self._owner.working_on))
        channel.close()

    def stop(self) -> None:
        self._stopped.set()


@functools.cache
def drainer() -> Drainer:
    """The drainer of this process; made after the fork."""
    return Drainer()
