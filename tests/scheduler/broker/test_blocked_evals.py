"""The tracker of blocked evaluations, by the rows of evaluations.md 17."""

import pytest

from scheduler.broker.blocked_evals import BlockedEvals, BlockedStats, Released
from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.missing_room import MissingInPlace, MissingOfJob
from scheduler.broker.places import BrokerStats
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.resources import Resources
from tests.builders import CountingIDs, make_evaluation

NOTHING = BlockedStats()
ONE = BlockedStats(total_blocked=1)


def make_blocked(number: int = 1, **fields: object) -> Evaluation:
    defaults: dict[str, object] = {"status": EvalStatus.BLOCKED, "triggered_by": "queued-allocs"}
    return make_evaluation(number, **(defaults | fields))


def make_tracker(*evaluations: Evaluation) -> BlockedEvals:
    tracker = BlockedEvals()
    tracker.set_enabled(enabled=True)
    for evaluation in evaluations:
        assert tracker.block(evaluation) == ()
    return tracker


def ids(released: tuple[Released, ...]) -> list[str]:
    return [freed.evaluation.id for freed in released]


E = make_blocked()


def test_34_disabled_it_tracks_nothing() -> None:
    tracker = BlockedEvals()
    tracker.block(E)
    assert tracker.stats() == NOTHING


def test_35_the_older_of_two_for_one_job_becomes_a_duplicate() -> None:
    tracker = make_tracker(E, make_blocked(2))
    assert tracker.stats() == ONE
    assert tracker.take_duplicates(9) == (E,)


def test_36_each_newcomer_displaces_the_one_before() -> None:
    evaluations = [make_blocked(n, create_index=n) for n in (100, 101, 102)]
    tracker = make_tracker(*evaluations)
    assert tracker.take_duplicates(9) == tuple(evaluations[:2])
    assert evaluations[2].id in tracker


def test_37_a_newcomer_that_knows_less_is_the_duplicate() -> None:
    kept, late = make_blocked(1, create_index=102), make_blocked(2, create_index=100)
    tracker = make_tracker(kept, late)
    assert tracker.take_duplicates(9) == (late,)
    assert kept.id in tracker


@pytest.mark.parametrize(
    ("fields", "computed_class", "is_released"),
    [
        pytest.param({"escaped_computed_class": True}, "any", True, id="38-escaped"),
        pytest.param({"class_eligibility": {"a": True}}, "a", True, id="39-eligible-class"),
        pytest.param({"class_eligibility": {"a": False}}, "a", False, id="40-ineligible-class"),
        pytest.param(
            {"class_eligibility": {"a": True, "b": False}}, "c", True, id="41-unseen-class"
        ),
        pytest.param(
            {"class_eligibility": {"a": True}, "quota_limit_reached": "q"},
            "a",
            True,
            id="a-class-alone-does-not-look-at-quotas",
        ),
    ],
)
def test_room_in_a_class(
    fields: dict[str, object], computed_class: str, *, is_released: bool
) -> None:
    tracker = make_tracker(make_blocked(**fields))
    released = tracker.unblock(computed_class, 1000, 0.0)
    assert ids(released) == ([E.id] if is_released else [])
    assert tracker.stats() == (NOTHING if is_released else ONE)


@pytest.mark.parametrize(
    ("fields", "quota", "is_released"),
    [
        pytest.param({"quota_limit_reached": "foo"}, "foo", True, id="42-its-quota"),
        pytest.param({"quota_limit_reached": "foo"}, "bar", False, id="42-another-quota"),
        pytest.param({}, "foo", True, id="43-no-quota"),
        pytest.param({"escaped_computed_class": True}, "foo", False, id="escaped-ones-stay"),
        pytest.param({}, "", False, id="no-quota-named"),
    ],
)
def test_room_in_a_quota(fields: dict[str, object], quota: str, *, is_released: bool) -> None:
    tracker = make_tracker(make_blocked(**fields))
    assert ids(tracker.unblock_quota(quota, 1000, 0.0)) == ([E.id] if is_released else [])
    waits = not is_released and "quota_limit_reached" in fields
    assert tracker.stats().total_quota_limit == int(waits)


@pytest.mark.parametrize(
    ("fields", "quota", "is_released"),
    [
        pytest.param({}, "", True, id="plain"),
        pytest.param({"quota_limit_reached": "q"}, "q", True, id="its-quota"),
        pytest.param({"quota_limit_reached": "q"}, "other", False, id="another-quota"),
        pytest.param({"quota_limit_reached": "q"}, "", True, id="without-quota"),
        pytest.param({"class_eligibility": {"a": False}}, "", False, id="ineligible-class"),
        pytest.param(
            {"escaped_computed_class": True, "quota_limit_reached": "q"},
            "other",
            True,
            id="escaped-always",
        ),
    ],
)
def test_an_allocation_ended(fields: dict[str, object], quota: str, *, is_released: bool) -> None:
    tracker = make_tracker(make_blocked(**fields))
    released = tracker.unblock_class_and_quota("a", quota, 1000, 0.0)
    assert ids(released) == ([E.id] if is_released else [])


@pytest.mark.parametrize(
    ("news", "fields", "is_missed"),
    [
        pytest.param([("a", 1000)], {"class_eligibility": {"a": True}}, True, id="44-eligible"),
        pytest.param([("a", 1000)], {}, True, id="45-unseen-class"),
        pytest.param([("a", 500)], {}, False, id="46-old-news"),
        pytest.param(
            [("a", 1000), ("a", 1001)],
            {"snapshot_index": 999, "class_eligibility": {"a": False, "b": False}},
            False,
            id="47-never-eligible",
        ),
        pytest.param([("a", 1000)], {"escaped_computed_class": True}, True, id="48-escaped"),
        pytest.param([("a", 900)], {}, False, id="50-strictly-newer-only"),
        pytest.param(
            [("a", 1000), ("q", 800)],
            {"quota_limit_reached": "q"},
            False,
            id="its-quota-alone-decides",
        ),
        pytest.param(
            [("a", 1000)], {"quota_limit_reached": "q"}, False, id="a-class-does-not-help-a-quota"
        ),
        pytest.param(
            [("a", 1000), ("b", 1000)],
            {"class_eligibility": {"a": False, "b": True}},
            True,
            id="any-newer-entry-counts",
        ),
    ],
)
def test_capacity_missed_by_the_run(
    news: list[tuple[str, int]], fields: dict[str, object], *, is_missed: bool
) -> None:
    tracker = make_tracker()
    for key, index in news:
        tracker.unblock(key, index, 0.0)
    evaluation = make_blocked(**({"snapshot_index": 900} | fields))
    assert ids(tracker.block(evaluation)) == ([evaluation.id] if is_missed else [])
    assert (evaluation.id in tracker) is not is_missed


def test_49_a_quota_that_moved_meanwhile_was_missed() -> None:
    tracker = make_tracker()
    tracker.unblock_quota("q", 1000, 0.0)
    assert ids(tracker.block(make_blocked(quota_limit_reached="q", snapshot_index=900))) == [E.id]


def test_51_a_reblocked_evaluation_is_ready_only_after_its_run() -> None:
    broker = EvalBroker(CountingIDs(), lambda: 0.5, LeaderSettings())
    broker.set_enabled(enabled=True)
    broker.enqueue(E, monotonic=0)
    (delivery,) = broker.dequeue((E.type,), monotonic=0)
    tracker = make_tracker()
    tracker.block(E, delivery.token)
    released = tracker.unblock("a", 1000, 0.0)
    assert released == (Released(E, delivery.token, "room on a node of class a"),)
    for freed in released:
        broker.enqueue(freed.evaluation, monotonic=0, token=freed.token)
    assert broker.stats() == BrokerStats(total_unacked=1, by_scheduler={E.type: (0, 1)})
    broker.ack(E.id, delivery.token, monotonic=0)
    assert broker.stats() == BrokerStats(total_ready=1, by_scheduler={E.type: (1, 0)})


def needing(number: int, cpu: int, *classes: str, **fields: object) -> Evaluation:
    metric = AllocMetric(
        node_pool="default",
        nodes_available={"dc1": 2, "dc2": 1},
        class_exhausted=dict.fromkeys(classes, 1),
        resources_exhausted={"web": Resources(cpu=cpu, memory_mb=10)},
    )
    return make_blocked(number, failed_task_groups={"web": metric}, **fields)


def test_what_they_would_need_comes_and_goes_with_them() -> None:
    tracker = make_tracker(needing(1, 100, "big", "small"), needing(2, 7, job_id="other"))
    told = tracker.stats()
    assert told.missing_of_jobs == (
        MissingOfJob("default", "other", 7, 10),
        MissingOfJob("default", "web", 100, 10),
    )
    assert told.missing_in_places == tuple(
        MissingInPlace(datacenter, name, "default", cpu, 10)
        for datacenter in ("dc1", "dc2")
        for name, cpu in (("", 7), ("big", 100), ("small", 100))
    )
    # The same again, with other needs: it replaces itself.
    tracker.block(needing(1, 50, "big"))
    assert tracker.stats().missing_of_jobs[1] == MissingOfJob("default", "web", 50, 10)
    tracker.unblock_all("")
    assert tracker.stats() == NOTHING


def test_needs_of_too_many_jobs_are_counted_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.broker.missing_room.MOST_JOBS", 1)
    tracker = make_tracker(needing(1, 5, job_id="a"), needing(2, 5, job_id="b"))
    told = tracker.stats()
    assert (told.missing_of_jobs, told.jobs_missing) == ((), 2)
    assert told.missing_in_places[0] == MissingInPlace("dc1", "", "default", 10, 20)


def test_52_those_that_gave_up_try_again_and_can_be_blocked_again() -> None:
    gave_up = {"triggered_by": "max-plan-attempts"}
    evaluations = [
        make_blocked(1, job_id="a", escaped_computed_class=True, **gave_up),
        make_blocked(2, job_id="b", **gave_up),
        make_blocked(3, job_id="c", quota_limit_reached="q", **gave_up),
    ]
    tracker = make_tracker(*evaluations)
    assert tracker.stats() == BlockedStats(total_blocked=3, total_escaped=1, total_quota_limit=1)
    assert len(tracker.unblock_failed()) == 3
    assert tracker.stats() == NOTHING
    assert tracker.block(evaluations[1]) == ()
    assert tracker.stats() == ONE


def test_53_those_that_wait_for_room_do_not() -> None:
    tracker = make_tracker(E)
    assert (tracker.unblock_failed(), tracker.stats()) == ((), ONE)


def test_54_a_placed_job_is_untracked_without_a_run() -> None:
    tracker = make_tracker(E, make_blocked(2, type="system", node_id="n", job_id="sys"))
    tracker.untrack(JobKey("default", "web"))
    tracker.untrack(JobKey("default", "sys"))
    assert tracker.stats() == NOTHING
    assert tracker.unblock_node("n") == ()


def test_55_a_system_evaluation_waits_for_its_node() -> None:
    evaluation = make_blocked(type="system", node_id="n")
    tracker = make_tracker(evaluation)
    assert tracker.unblock_node("m") == ()
    assert ids(tracker.unblock_node("n")) == [evaluation.id]
    assert tracker.unblock("a", 1000, 0.0) == ()


def test_a_system_job_may_wait_for_several_nodes() -> None:
    evaluations = [make_blocked(n, type="system", node_id=f"n{n}") for n in (1, 2)]
    tracker = make_tracker(*evaluations, make_blocked(3, type="system", node_id="n1"))
    assert tracker.take_duplicates(9) == (evaluations[0],)
    assert tracker.stats() == BlockedStats(total_blocked=2)


def test_60_many_that_wait_for_anything_are_released_at_once() -> None:
    count = 10_000
    tracker = make_tracker(
        *(make_blocked(n, job_id=f"j{n}", escaped_computed_class=True) for n in range(count))
    )
    assert tracker.stats() == BlockedStats(total_blocked=count, total_escaped=count)
    assert len(tracker.unblock("a", 1000, 0.0)) == count
    assert [tracker.unblock(f"c{n}", 1001 + n, 0.0) for n in range(100)] == [()] * 100
    assert tracker.stats() == NOTHING


def test_the_same_evaluation_again_is_no_duplicate_of_itself() -> None:
    tracker = make_tracker(E, E.changed(snapshot_index=50))
    assert tracker.take_duplicates(9) == ()
    assert tracker.stats() == ONE


def test_old_news_is_forgotten() -> None:
    tracker = make_tracker()
    tracker.unblock("a", 1000, 0.0)
    tracker.prune(900.0)
    assert ids(tracker.block(E.changed(snapshot_index=10))) == [E.id]
    tracker.prune(901.0)
    assert tracker.block(E.changed(snapshot_index=10)) == ()


def test_disabling_forgets_everything() -> None:
    tracker = make_tracker(E, make_blocked(2))
    tracker.unblock("z", 1000, 0.0)
    tracker.set_enabled(enabled=False)
    tracker.set_enabled(enabled=True)
    assert tracker.stats() == NOTHING
    assert tracker.take_duplicates(9) == ()
    assert tracker.block(E) == ()
