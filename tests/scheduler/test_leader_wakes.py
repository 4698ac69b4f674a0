"""Whom the leader wakes, when, and whom it lets sleep."""

import pytest

from scheduler.commands import WakeWorkers
from tests.builders import make_evaluation
from tests.scheduler.leading import E, complete, dequeue, make_world, submitted, take_one
from tests.simulation.world import World


def wakes(world: World, seconds: float = 0.0) -> int:
    return sum(c.count for c in world.tick(seconds) if isinstance(c, WakeWorkers))


def test_an_expected_worker_is_woken_and_woken_again_after_a_second() -> None:
    world = make_world(E)
    assert [wakes(world), wakes(world), wakes(world, 0.9), wakes(world, 0.1)] == [1, 0, 0, 1]


def test_one_idle_process_is_woken_per_ready_evaluation() -> None:
    world = make_world(expected_workers=0)
    for process in ("a", "b", "c"):
        world.leader.alive(process, monotonic=world.clock.monotonic())
    world.put_evaluations(E, make_evaluation(2, job_id="other"))
    assert wakes(world) == 2
    assert wakes(world) == 0


def test_a_process_that_asked_a_moment_ago_is_awake() -> None:
    world = make_world(expected_workers=0)
    dequeue(world, "a")
    world.put_evaluations(E)
    assert wakes(world, 0.9) == 0
    assert world.leader.next_deadline(world.moment) == pytest.approx(1001.0)
    assert wakes(world, 0.2) == 1


def test_a_process_that_was_sent_away_sleeps_however_lately_it_asked() -> None:
    world = make_world(expected_workers=0)
    dequeue(world, "a")
    world.leader.worker_sent_away("a")
    world.put_evaluations(E)
    assert wakes(world) == 1


def test_nobody_is_woken_for_what_one_that_waits_will_take() -> None:
    world = make_world(expected_workers=0)
    world.leader.alive("sleeps", monotonic=world.clock.monotonic())
    dequeue(world, "waits")
    world.put_evaluations(E)
    assert wakes(world) == 0
    world.put_evaluations(make_evaluation(2, job_id="other"))
    assert wakes(world) == 1


def test_a_wake_up_counts_for_whichever_process_took_it() -> None:
    world = make_world(expected_workers=0)
    for process in ("a", "b"):
        world.leader.alive(process, monotonic=world.clock.monotonic())
    world.put_evaluations(E)
    assert wakes(world) == 1
    # Whichever it was meant for: the one that asks has taken it, and sleeps again.
    world.finish("b", complete(take_one(world, "b")))
    assert dequeue(world, "b") == ()
    world.leader.worker_sent_away("b")
    world.put_evaluations(make_evaluation(2, job_id="other"))
    assert wakes(world, 0.2) == 1


def wakes_applier(world: World, seconds: float = 0.0) -> bool:
    world.tick(seconds)
    return world.leader.take_applier_wake(world.clock.monotonic())


def test_the_applier_is_woken_when_evaluations_go_out() -> None:
    world = make_world(E)
    assert not wakes_applier(world)
    take_one(world)
    assert [wakes_applier(world), wakes_applier(world, 5)] == [True, False]


def test_an_applier_that_waits_is_not_woken() -> None:
    world = make_world(E)
    world.leader.next_plans(64, world.moment)
    take_one(world)
    assert not wakes_applier(world)


def test_an_applier_that_was_sent_away_is_woken_at_once() -> None:
    world = make_world(E)
    take_one(world)
    assert wakes_applier(world)
    world.leader.next_plans(64, world.moment)
    world.leader.applier_sent_away()
    world.put_evaluations(make_evaluation(2, job_id="other"))
    take_one(world)
    assert wakes_applier(world, 0.15)


def test_a_plan_wakes_an_applier_that_did_not_come_once_more_after_a_second() -> None:
    world = make_world(E)
    submitted(world)
    assert wakes_applier(world)
    assert [wakes_applier(world, 0.9), wakes_applier(world, 0.2), wakes_applier(world)] == [
        False, True, False,
    ]  # fmt: skip


def test_an_applier_that_took_a_plan_and_died_is_followed_although_no_other_plan_waits() -> None:
    world = make_world(E)
    submitted(world)
    assert wakes_applier(world)
    assert len(world.leader.next_plans(64, world.moment)) == 1
    assert [wakes_applier(world, 0.9), wakes_applier(world, 0.2)] == [False, True]
    # Its successor asks, which tells that nobody will answer the plan any more.
    assert world.leader.next_plans(64, world.moment) == ()
    (reply,) = world.leader.take_replies()
    assert reply.outcome.error == "the plan applier did not answer"
    assert [wakes_applier(world, 2), wakes_applier(world, 2)] == [False, False]


def test_without_work_there_is_nothing_to_do_until_the_next_sweep() -> None:
    world = make_world()
    assert world.tick() == []
    assert world.leader.next_deadline(world.moment) == 1060
