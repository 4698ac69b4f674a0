"""Whatever happens to the broker: nothing is lost, nothing is in two places, one runs per job."""

from collections import Counter

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.places import Place
from scheduler.errors import NotOutstanding, TokenMismatch
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.moment import Moment
from tests.builders import SECOND, SOME_MOMENT, CountingIDs, make_evaluation

TYPES = ("service", "batch")
HOLDS_THE_JOB = (Place.READY, Place.OUTSTANDING, Place.BACKING_OFF, Place.FAILED)


class BrokerMachine(RuleBasedStateMachine):
    """Drives a broker as a leader, workers, a reaper and time would."""

    deliveries = Bundle("deliveries")

    def __init__(self) -> None:
        super().__init__()
        self.broker = EvalBroker(
            CountingIDs(), np.random.default_rng(1).random, LeaderSettings(nack_timeout=30)
        )
        self.broker.set_enabled(enabled=True)
        self.monotonic = 0.0
        #: Everything that came in and has not left by the front door.
        self.inside: dict[str, Evaluation] = {}
        self.count = 0

    @property
    def now(self) -> int:
        return SOME_MOMENT + round(self.monotonic * SECOND)

    @rule(
        job=st.sampled_from("abc"),
        kind=st.sampled_from(TYPES),
        priority=st.integers(1, 3),
        wait=st.sampled_from([0, 0, 5 * SECOND]),
        delay=st.sampled_from([0, 0, -5 * SECOND, 5 * SECOND]),
    )
    def enqueue(self, job: str, kind: str, priority: int, wait: int, delay: int) -> None:
        self.count += 1
        evaluation = make_evaluation(
            self.count,
            job_id=job,
            type=kind,
            priority=priority,
            wait=wait,
            wait_until=self.now + delay if delay else 0,
            create_index=self.count,
            modify_index=self.count,
        )
        self.inside[evaluation.id] = evaluation
        self.broker.enqueue(evaluation, monotonic=self.monotonic)
        self.broker.enqueue(evaluation, monotonic=self.monotonic)

    @rule(target=deliveries, types=st.sampled_from([TYPES, TYPES[:1], ("_failed",)]))
    def dequeue(self, types: tuple[str, ...]) -> tuple[str, str]:
        delivered = self.broker.dequeue(types, monotonic=self.monotonic)
        return (delivered[0].evaluation.id, delivered[0].token) if delivered else ("", "")

    @rule(delivery=deliveries, requeue=st.booleans())
    def ack(self, delivery: tuple[str, str], *, requeue: bool) -> None:
        eval_id, token = delivery
        holds = bool(token) and self.broker.outstanding(eval_id) == token
        requeue = requeue and eval_id in self.inside
        if requeue:
            self.broker.enqueue(self.inside[eval_id], monotonic=self.monotonic, token=token)
        try:
            self.broker.ack(eval_id, token, monotonic=self.monotonic)
        except (NotOutstanding, TokenMismatch):
            assert not holds
            return
        assert holds
        if not requeue:
            del self.inside[eval_id]

    @rule(delivery=deliveries, begun=st.booleans())
    def come_back(self, delivery: tuple[str, str], *, begun: bool) -> None:
        eval_id, token = delivery
        holds = bool(token) and self.broker.outstanding(eval_id) == token
        if not holds:
            return
        if begun:
            self.broker.nack(eval_id, token, monotonic=self.monotonic)
        elif self.broker.stats().by_scheduler.get("_failed", (0, 0))[1] == 0:
            self.broker.give_back(eval_id, token)

    @rule(delivery=deliveries, pause=st.booleans())
    def pause_or_resume(self, delivery: tuple[str, str], *, pause: bool) -> None:
        eval_id, token = delivery
        if not token or self.broker.outstanding(eval_id) != token:
            return
        try:
            if pause:
                self.broker.pause_nack_timeout(eval_id, token, monotonic=self.monotonic)
            else:
                self.broker.resume_nack_timeout(eval_id, token, monotonic=self.monotonic)
        except NotOutstanding:
            assert pause

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0, 20.0, 30.0]))
    def pass_time(self, seconds: float) -> None:
        self.monotonic += seconds
        self.broker.tick(Moment(self.now, self.monotonic))
        due = self.broker.next_deadline(Moment(self.now, self.monotonic))
        assert due is None or due > self.monotonic

    @rule()
    def reap(self) -> None:
        for evaluation in self.broker.take_cancelable(2):
            del self.inside[evaluation.id]

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        places = {eval_id: self.broker.place_of(eval_id) for eval_id in self.inside}
        assert None not in places.values()
        stats = self.broker.stats()
        assert len(self.inside) == (
            stats.total_ready
            + stats.total_unacked
            + stats.total_pending
            + stats.total_waiting
            + stats.total_cancelable
        )
        ready = sum(count for count, _ in stats.by_scheduler.values())
        unacked = sum(count for _, count in stats.by_scheduler.values())
        assert (ready, unacked) == (stats.total_ready, stats.total_unacked)

    @invariant()
    def one_evaluation_holds_each_job(self) -> None:
        holders: Counter[JobKey] = Counter()
        waiting: set[JobKey] = set()
        for eval_id, evaluation in self.inside.items():
            place = self.broker.place_of(eval_id)
            if place in HOLDS_THE_JOB:
                holders[evaluation.job_key] += 1
            elif place is Place.PENDING:
                waiting.add(evaluation.job_key)
        assert all(count == 1 for count in holders.values())
        assert waiting <= holders.keys()


BrokerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestBrokerMachine = BrokerMachine.TestCase
