"""The eval broker, by the rows of evaluations.md 17; the number in a test's name is the row."""

import numpy as np
import pytest

from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.places import BrokerStats, Place
from scheduler.errors import NotOutstanding, TokenMismatch
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.moment import Moment
from tests.builders import SECOND, SOME_MOMENT, CountingIDs, make_evaluation

SERVICE = ("service",)
FAILED = ("_failed",)
NOTHING = BrokerStats()


def make_broker(**settings: float) -> EvalBroker:
    broker = EvalBroker(CountingIDs(), np.random.default_rng(7).random, LeaderSettings(**settings))
    broker.set_enabled(enabled=True)
    return broker


def of_job(number: int, job_id: str, namespace: str = "default", **fields: object) -> Evaluation:
    return make_evaluation(number, job_id=job_id, namespace=namespace, **fields)


def enqueue(broker: EvalBroker, *evaluations: Evaluation, at: float = 0.0) -> None:
    for evaluation in evaluations:
        broker.enqueue(evaluation, monotonic=at)


def take(broker: EvalBroker, types: tuple[str, ...] = SERVICE, at: float = 0.0) -> tuple[str, str]:
    """The id and token of the next delivery; empty when there is none."""
    delivered = broker.dequeue(types, monotonic=at)
    return (delivered[0].evaluation.id, delivered[0].token) if delivered else ("", "")


def tick(broker: EvalBroker, at: float, now: int = SOME_MOMENT) -> None:
    broker.tick(Moment(now, at))


E = make_evaluation()


def test_01_disabled_broker_takes_nothing() -> None:
    broker = make_broker()
    broker.set_enabled(enabled=False)
    enqueue(broker, E)
    assert broker.stats() == NOTHING
    assert broker.place_of(E.id) is None


def test_02_the_same_evaluation_comes_in_once() -> None:
    broker = make_broker()
    enqueue(broker, E, E)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={"service": (1, 0)})


def test_03_a_reset_needs_an_outstanding_evaluation_and_its_token() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    with pytest.raises(NotOutstanding, match="evaluation is not outstanding"):
        broker.outstanding_reset("unknown", token, monotonic=0)
    with pytest.raises(TokenMismatch, match="evaluation token does not match"):
        broker.outstanding_reset(eval_id, "wrong", monotonic=0)
    broker.outstanding_reset(eval_id, token, monotonic=0)


def test_04_a_wrong_token_neither_acks_nor_nacks() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    with pytest.raises(TokenMismatch, match="Token does not match for Evaluation ID"):
        broker.ack(eval_id, "wrong", monotonic=0)
    with pytest.raises(TokenMismatch, match="Token does not match for Evaluation ID"):
        broker.nack(eval_id, "wrong", monotonic=0)
    with pytest.raises(NotOutstanding, match="Evaluation ID not found"):
        broker.ack("unknown", token, monotonic=0)
    assert broker.outstanding(eval_id) == token


def test_05_a_nacked_evaluation_waits_and_comes_again_with_a_new_token() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.nack(eval_id, token, monotonic=0)
    assert broker.outstanding(eval_id) is None
    assert broker.stats() == BrokerStats(total_waiting=1)
    tick(broker, 0.99)
    assert take(broker) == ("", "")
    tick(broker, 1.0)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={"service": (1, 0)})
    again, new_token = take(broker)
    assert again == eval_id
    assert new_token != token


def test_06_the_second_nack_waits_longer() -> None:
    broker = make_broker()
    enqueue(broker, E)
    broker.nack(*take(broker), monotonic=0)
    tick(broker, 1)
    broker.nack(*take(broker, at=1), monotonic=1)
    tick(broker, 20.9)
    assert take(broker, at=20.9) == ("", "")
    tick(broker, 21)
    assert take(broker, at=21)[0] == E.id


def nack_to_the_limit(broker: EvalBroker) -> None:
    for moment in (0, 1, 21):
        tick(broker, moment)
        broker.nack(*take(broker, at=moment), monotonic=moment)


def test_07_the_third_nack_is_the_last() -> None:
    broker = make_broker()
    enqueue(broker, E)
    nack_to_the_limit(broker)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={"_failed": (1, 0)})
    eval_id, token = take(broker, FAILED)
    assert broker.stats() == BrokerStats(total_unacked=1, by_scheduler={"_failed": (0, 1)})
    broker.ack(eval_id, token, monotonic=0)
    assert broker.stats() == NOTHING


def test_a_failed_evaluation_keeps_its_job_locked_and_returns_when_nacked() -> None:
    broker = make_broker()
    enqueue(broker, E, make_evaluation(2))
    nack_to_the_limit(broker)
    assert take(broker) == ("", "")
    broker.nack(*take(broker, FAILED, at=21), monotonic=21)
    broker.ack(*take(broker, FAILED, at=21), monotonic=21)
    assert take(broker)[0] == make_evaluation(2).id


def test_08_the_last_allowed_delivery_may_succeed() -> None:
    broker = make_broker()
    enqueue(broker, E)
    for moment in (0, 1):
        tick(broker, moment)
        broker.nack(*take(broker, at=moment), monotonic=moment)
    tick(broker, 21)
    broker.ack(*take(broker, at=21), monotonic=21)
    assert broker.stats() == NOTHING


def test_09_a_silent_delivery_is_nacked() -> None:
    broker = make_broker(nack_timeout=5, nack_first_delay=0)
    enqueue(broker, E)
    take(broker)
    tick(broker, 4.9)
    assert take(broker, at=4.9) == ("", "")
    assert broker.next_deadline(Moment(SOME_MOMENT, 4.9)) == 5
    tick(broker, 5)
    assert take(broker, at=5)[0] == E.id


def test_10_a_reset_starts_the_timer_anew() -> None:
    broker = make_broker(nack_timeout=50, nack_first_delay=0)
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.outstanding_reset(eval_id, token, monotonic=20)
    tick(broker, 69)
    assert broker.outstanding(eval_id) == token
    tick(broker, 70)
    assert broker.place_of(eval_id) is Place.READY


def test_11_a_pause_stops_the_timer_and_resuming_starts_it_at_full_length() -> None:
    broker = make_broker(nack_timeout=50, nack_first_delay=0)
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.pause_nack_timeout(eval_id, token, monotonic=20)
    with pytest.raises(NotOutstanding, match="evaluation nack timeout reached"):
        broker.pause_nack_timeout(eval_id, token, monotonic=21)
    tick(broker, 1000)
    broker.resume_nack_timeout(eval_id, token, monotonic=1000)
    tick(broker, 1049)
    assert broker.outstanding(eval_id) == token
    tick(broker, 1050)
    assert broker.place_of(eval_id) is Place.READY


def test_an_ack_after_the_timer_ran_out_is_refused() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    with pytest.raises(NotOutstanding, match="Ack'd after Nack timer expiration"):
        broker.ack(eval_id, token, monotonic=60)


def test_12_higher_priority_goes_first() -> None:
    broker = make_broker()
    enqueue(broker, *(of_job(n, f"j{n}", priority=p) for n, p in ((1, 10), (2, 30), (3, 20))))
    delivered = broker.dequeue(SERVICE, 3, monotonic=0)
    assert [delivery.evaluation.priority for delivery in delivered] == [30, 20, 10]


def test_13_equal_priority_goes_by_creation() -> None:
    broker = make_broker()
    enqueue(broker, *(of_job(n, f"j{n}", create_index=n) for n in range(100, 0, -1)))
    delivered = broker.dequeue(SERVICE, 100, monotonic=0)
    assert [d.evaluation.create_index for d in delivered] == list(range(1, 101))


def test_14_priority_then_creation_with_latecomers() -> None:
    broker = make_broker()
    ready = [(50, 1), (70, 3), (50, 2)]
    enqueue(broker, *(of_job(c, f"j{c}", priority=p, create_index=c) for p, c in ready))
    order = [take(broker)[0], take(broker)[0]]
    enqueue(broker, of_job(4, "j4", priority=50, create_index=4))
    order.append(take(broker)[0])
    assert order == [make_evaluation(n).id for n in (3, 1, 2)]


def test_15_the_newest_of_a_job_goes_first() -> None:
    broker = make_broker()
    enqueue(broker, of_job(9, "web"))
    waiting = [(50, 3), (100, 2), (50, 1), (30, 4)]
    enqueue(broker, *(of_job(m, "web", priority=p, modify_index=m) for p, m in waiting))
    broker.ack(*take(broker), monotonic=0)
    assert take(broker)[0] == make_evaluation(2).id
    assert [e.modify_index for e in broker.take_cancelable(9)] == [3, 1, 4]


def test_16_types_of_equal_urgency_take_turns_by_chance() -> None:
    broker = make_broker()
    for number in range(1, 501):
        enqueue(broker, of_job(number, f"s{number}", type="service"))
        enqueue(broker, of_job(1000 + number, f"b{number}", type="batch"))
    kinds = [d.evaluation.type for d in broker.dequeue(("service", "batch"), 1000, monotonic=0)]
    longest = max(
        len(run) for run in "".join(k[0] for k in kinds[:900]).replace("sb", "s b").split()
    )
    assert kinds.count("batch") == kinds.count("service") == 500
    assert longest < 40


def test_heads_of_several_types_are_compared_by_priority() -> None:
    broker = make_broker()
    enqueue(broker, of_job(1, "a", priority=50), of_job(2, "b", type="batch", priority=60))
    assert take(broker, ("service", "batch"))[0] == make_evaluation(2).id


def two_namespaces() -> EvalBroker:
    broker = make_broker()
    enqueue(broker, *(of_job(n, "x", "ns1", create_index=n, modify_index=n) for n in range(1, 5)))
    enqueue(broker, *(of_job(n, "x", "ns2", create_index=n, modify_index=n) for n in range(5, 8)))
    return broker


def test_17_one_per_job_is_ready_and_jobs_are_told_apart_by_namespace() -> None:
    assert two_namespaces().stats() == BrokerStats(
        total_ready=2, total_pending=5, by_scheduler={"service": (2, 0)}
    )


def test_18_an_ack_promotes_the_newest_and_cancels_the_rest() -> None:
    broker = two_namespaces()
    eval_id, token = take(broker)
    assert eval_id == make_evaluation(1).id
    broker.ack(eval_id, token, monotonic=0)
    assert broker.place_of(make_evaluation(4).id) is Place.READY
    assert broker.stats() == BrokerStats(
        total_ready=2, total_pending=2, total_cancelable=2, by_scheduler={"service": (2, 0)}
    )


def test_19_the_other_namespace_is_untouched_until_its_own_ack() -> None:
    broker = two_namespaces()
    broker.ack(*take(broker), monotonic=0)
    broker.ack(*take(broker), monotonic=0)
    assert broker.stats().total_cancelable == 2
    broker.ack(*take(broker), monotonic=0)
    assert broker.place_of(make_evaluation(7).id) is Place.READY
    assert broker.stats().total_cancelable == 3
    assert broker.stats().total_pending == 0


def test_20_equal_job_ids_of_two_namespaces_do_not_wait_for_each_other() -> None:
    broker = make_broker()
    enqueue(broker, of_job(1, "x", "ns1"), of_job(2, "x", "ns2"), of_job(3, "x", "ns1"))
    assert len(broker.dequeue(SERVICE, 9, monotonic=0)) == 2
    assert broker.place_of(make_evaluation(3).id) is Place.PENDING


def test_21_requeued_with_its_token_it_comes_again_after_the_ack() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.enqueue(E, monotonic=0, token=token)
    broker.ack(eval_id, token, monotonic=0)
    again, new_token = take(broker)
    assert again == eval_id
    assert new_token != token


def test_22_a_nack_drops_what_was_requeued() -> None:
    broker = make_broker(nack_first_delay=0)
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.enqueue(E, monotonic=0, token=token)
    broker.nack(eval_id, token, monotonic=0)
    broker.ack(*take(broker), monotonic=0)
    assert broker.stats() == NOTHING


def test_23_requeued_with_another_token_is_ignored() -> None:
    broker = make_broker()
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.enqueue(E, monotonic=0, token="other")
    broker.ack(eval_id, token, monotonic=0)
    assert broker.stats() == NOTHING


def test_24_a_pending_evaluation_goes_before_the_requeued_one() -> None:
    broker = make_broker()
    enqueue(broker, E, make_evaluation(2))
    eval_id, token = take(broker)
    broker.enqueue(E, monotonic=0, token=token)
    broker.ack(eval_id, token, monotonic=0)
    assert broker.place_of(make_evaluation(2).id) is Place.READY
    assert broker.place_of(E.id) is Place.PENDING


def test_25_a_wait_delays_the_first_delivery() -> None:
    broker = make_broker()
    enqueue(broker, E.changed(wait=SECOND // 10))
    assert take(broker) == ("", "")
    assert broker.stats() == BrokerStats(total_waiting=1)
    assert broker.next_deadline(Moment(SOME_MOMENT, 0)) == pytest.approx(0.1)
    tick(broker, 0.1)
    assert take(broker)[0] == E.id
    assert broker.stats().total_waiting == 0


def test_26_evaluations_with_a_moment_come_in_its_order() -> None:
    broker = make_broker()
    offsets = {1: 1000, 2: 100, 3: 20}
    for number, offset in offsets.items():
        until = SOME_MOMENT + offset
        enqueue(broker, of_job(number, f"j{number}", wait_until=until, create_index=10 - number))
    assert broker.stats().total_waiting == 3
    order = []
    for now in (SOME_MOMENT + 20, SOME_MOMENT + 100, SOME_MOMENT + 1000):
        tick(broker, 0, now)
        order.append(take(broker)[0])
    assert order == [make_evaluation(n).id for n in (3, 2, 1)]
    assert broker.stats().total_waiting == 0


def test_a_past_moment_is_due_at_once_and_a_wait_beats_a_moment() -> None:
    broker = make_broker()
    enqueue(broker, of_job(1, "a", wait_until=1))
    enqueue(broker, of_job(2, "b", wait_until=1, wait=SECOND))
    assert broker.next_deadline(Moment(SOME_MOMENT, 5)) == pytest.approx(1.0)
    tick(broker, 0)
    assert [d.evaluation.job_id for d in broker.dequeue(SERVICE, 9, monotonic=0)] == ["a"]


def test_27_a_waiting_evaluation_can_be_dropped_and_only_a_waiting_one() -> None:
    broker = make_broker()
    delayed = E.changed(wait_until=SOME_MOMENT + 1)
    enqueue(broker, delayed, of_job(2, "other"))
    assert broker.stats().delayed == {E.id: SOME_MOMENT + 1}
    assert broker.drop_waiting(E.id)
    assert not broker.drop_waiting(E.id)
    assert not broker.drop_waiting(make_evaluation(2).id)
    tick(broker, 0, SOME_MOMENT + 1)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={"service": (1, 0)})


def test_28_a_delayed_evaluation_does_not_hold_its_job() -> None:
    broker = make_broker()
    enqueue(broker, E.changed(wait_until=SOME_MOMENT + 1), make_evaluation(2))
    assert take(broker)[0] == make_evaluation(2).id


def test_29_disabling_forgets_everything() -> None:
    broker = make_broker()
    enqueue(broker, of_job(1, "a"), of_job(2, "b", wait=SECOND), of_job(3, "c", wait_until=1))
    broker.set_enabled(enabled=False)
    assert broker.stats() == NOTHING
    enqueue(broker, E)
    assert broker.stats() == NOTHING


def test_30_an_empty_broker_delivers_nothing() -> None:
    assert make_broker().dequeue(SERVICE, 4, monotonic=0) == []


def test_31_the_most_urgent_of_a_batch_goes_first() -> None:
    broker = make_broker()
    enqueue(broker, *(of_job(p, f"j{p}", priority=p) for p in range(10, 100, 10)))
    assert broker.dequeue(SERVICE, monotonic=0)[0].evaluation.priority == 90


def test_32_cancelable_ones_are_handed_out_once() -> None:
    broker = make_broker()
    enqueue(broker, *(make_evaluation(n, modify_index=n) for n in range(1, 23)))
    broker.ack(*take(broker), monotonic=0)
    assert len(broker.take_cancelable(10)) == 10
    assert len(broker.take_cancelable(20)) == 10
    assert broker.stats().total_cancelable == 0


def test_124_a_superseded_evaluation_is_not_delivered_again() -> None:
    broker = make_broker()
    enqueue(broker, *(make_evaluation(n, modify_index=n) for n in (1, 2, 3)))
    broker.ack(*take(broker), monotonic=0)
    enqueue(broker, make_evaluation(2, modify_index=2))
    broker.ack(*take(broker), monotonic=0)
    assert take(broker) == ("", "")


def test_superseded_core_evaluations_vanish() -> None:
    broker = make_broker()
    enqueue(broker, *(make_evaluation(n, type="_core", modify_index=n) for n in (1, 2, 3)))
    broker.ack(*take(broker, ("_core",)), monotonic=0)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={"_core": (1, 0)})


def test_what_was_never_begun_returns_at_once_and_uncounted() -> None:
    broker = make_broker(delivery_limit=1)
    enqueue(broker, E)
    eval_id, token = take(broker)
    broker.give_back(eval_id, token)
    again = broker.dequeue(SERVICE, monotonic=0)[0]
    assert (again.evaluation, again.deliveries) == (E, 1)


def test_a_nack_delay_never_shows_on_the_evaluation() -> None:
    broker = make_broker()
    enqueue(broker, E)
    broker.nack(*take(broker), monotonic=0)
    tick(broker, 1)
    assert broker.dequeue(SERVICE, monotonic=1)[0].evaluation == E


def test_a_negative_nack_timeout_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        make_broker(nack_timeout=-1)
