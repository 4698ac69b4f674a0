"""Evaluations of one write of the drainer: delivered together, in the order of their creation."""

from scheduler.broker.eval_broker import EvalBroker
from scheduler.structs.evaluation import Evaluation
from tests.scheduler.broker.test_eval_broker import SERVICE, enqueue, make_broker, of_job


def drained(number: int, write: int = 7) -> Evaluation:
    return of_job(number, f"job-{number}", triggered_by="node-drain", create_index=write)


def taken(broker: EvalBroker, limit: int, at: float = 0.0) -> list[str]:
    found = broker.dequeue(SERVICE, limit, monotonic=at)
    return [delivery.evaluation.job_id for delivery in found]


def with_a_step_under_way(*, at: float = 0.0) -> tuple[EvalBroker, str, str]:
    """A worker holds the step of a rollout of job-2; then a drain moves three jobs."""
    broker = make_broker()
    enqueue(broker, of_job(9, "job-2", create_index=6), of_job(8, "job-8", create_index=8))
    step = broker.dequeue(SERVICE, monotonic=0.0)[0]
    enqueue(broker, drained(1), drained(2), drained(3), at=at)
    return broker, step.evaluation.id, step.token


def test_what_one_write_of_the_drainer_made_is_delivered_together() -> None:
    broker = make_broker(drained_together=4)
    later = of_job(8, "job-8", create_index=9)
    enqueue(broker, *map(drained, range(1, 7)), drained(7, write=8), later)
    assert taken(broker, 2) == ["job-1", "job-2", "job-3", "job-4"]
    assert taken(broker, 1) == ["job-5", "job-6"]
    assert taken(broker, 2) == ["job-7", "job-8"]


def test_all_wait_for_the_one_that_is_held_up_and_others_go_by() -> None:
    broker, step, token = with_a_step_under_way()
    assert taken(broker, 4) == ["job-8"]
    broker.ack(step, token, monotonic=0.02)
    assert taken(broker, 1, at=0.02) == ["job-1", "job-2", "job-3"]


def test_they_do_not_wait_long() -> None:
    broker, step, token = with_a_step_under_way()
    assert taken(broker, 4) == ["job-8"]
    assert taken(broker, 4, at=0.9) == []
    assert taken(broker, 4, at=1.1) == ["job-1", "job-3"]
    broker.ack(step, token, monotonic=2.0)
    assert taken(broker, 4, at=2.0) == ["job-2"]


def test_they_do_not_wait_for_what_no_worker_holds() -> None:
    broker, step, token = with_a_step_under_way()
    broker.nack(step, token, monotonic=0.0)
    assert taken(broker, 4) == ["job-1", "job-3", "job-8"]


def test_what_was_superseded_holds_nobody_up() -> None:
    broker, step, token = with_a_step_under_way()
    newer = of_job(5, "job-2", create_index=9, modify_index=99)
    enqueue(broker, newer)
    broker.ack(step, token, monotonic=0.0)
    assert [each.job_id for each in broker.take_cancelable(9)] == ["job-2"]
    assert taken(broker, 9) == ["job-1", "job-3", "job-8", "job-2"]


def test_one_that_was_held_up_keeps_its_place() -> None:
    """How long the one before it took does not decide who is next."""
    broker = make_broker()
    enqueue(broker, of_job(9, "job-1", create_index=6))
    held = broker.dequeue(SERVICE, monotonic=0.0)[0]
    enqueue(broker, *(of_job(number, f"job-{number}", create_index=7) for number in (1, 2, 3)))
    broker.ack(held.evaluation.id, held.token, monotonic=0.0)
    assert taken(broker, 3) == ["job-1", "job-2", "job-3"]
