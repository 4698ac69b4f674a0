"""Placement, scaling, updates, stops: rows A01 to A24 of the reconciler's scenarios."""

import pytest

from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.structs.policies import HOUR, MINUTE, SECOND, ReschedulePolicy
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    EVICT,
    FAILED,
    LOST,
    NOW,
    PENDING,
    STOP,
    UNKNOWN,
    alloc,
    allocs,
    counters,
    destructive,
    group,
    in_place,
    job,
    placed,
    replaced,
    situation,
    stopped,
    update,
    was_unknown,
)


def numbers(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


@pytest.mark.parametrize(
    ("count", "held", "expected", "place", "stop"),
    [
        pytest.param(10, [], "Place 10", numbers(0, 9), [], id="A01-nothing-yet"),
        pytest.param(10, numbers(0, 4), "Place 5, Ignore 5", numbers(5, 9), [], id="A02-half"),
        pytest.param(
            10, numbers(0, 19), "Stop 10, Ignore 10", [], numbers(10, 19), id="A03-too-many"
        ),
        pytest.param(0, numbers(0, 19), "Stop 20", [], numbers(0, 19), id="A04-count-zero"),
        pytest.param(
            0, [0, 1] * 10, "Stop 20", [], [0] * 10 + [1] * 10, id="A05-count-zero-namesakes"
        ),
        pytest.param(5, [0, 3, 7], "Place 2, Ignore 3", [1, 2], [], id="A06-gaps"),
        pytest.param(5, [0, 0, 1], "Place 2, Ignore 3", [2, 3], [], id="A07-namesakes"),
        pytest.param(
            2, [0, 0, 1, 1], "Stop 2, Ignore 2", [], [0, 1], id="A08-two-pairs-of-namesakes"
        ),
    ],
)
def test_names_fill_gaps_and_surplus_goes_from_the_top(count, held, expected, place, stop):
    current = job(count)
    existing = [alloc(current, index, tag=f"-{at}") for at, index in enumerate(held)]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates == {"web": counters(expected)}
    assert placed(results) == place
    if len(set(held)) == len(held) or count == 0:
        assert stopped(results) == stop
    assert results.deployment is None


@pytest.mark.parametrize(
    ("count", "judge", "block", "expected"),
    [
        pytest.param(10, in_place, None, "InPlaceUpdate 10", id="A09-in-place"),
        pytest.param(15, in_place, None, "Place 5, InPlaceUpdate 10", id="A10-and-grown"),
        pytest.param(5, in_place, None, "Stop 5, InPlaceUpdate 5", id="A11-and-shrunk"),
        pytest.param(10, destructive, None, "DestructiveUpdate 10", id="A12-destructive"),
        pytest.param(10, destructive, update(0), "DestructiveUpdate 10", id="A12-none-at-a-time"),
        pytest.param(15, destructive, None, "Place 5, DestructiveUpdate 10", id="A13-and-grown"),
        pytest.param(5, destructive, None, "Stop 5, DestructiveUpdate 5", id="A14-and-shrunk"),
    ],
)
def test_updates_without_an_update_block_happen_all_at_once(count, judge, block, expected):
    current = job(count, update=block)
    existing = allocs(current, *range(10))
    results = reconcile_cluster(situation(current, existing, judge_update=judge))
    assert results.desired_updates == {"web": counters(expected)}
    assert stopped(results) == numbers(count, 9)
    assert placed(results) == numbers(10, count - 1)
    assert results.deployment is None
    if judge is destructive:
        assert replaced(results) == numbers(0, min(count, 10) - 1)


def test_a15_a_failed_alloc_waits_out_its_delay_while_the_group_shrinks():
    policy = ReschedulePolicy(
        attempts=3,
        interval=30 * SECOND,
        delay=HOUR,
        delay_function="exponential",
        max_delay=HOUR,
        unlimited=True,
    )
    current = job(4, reschedule_policy=policy)
    running = alloc(current, 0)
    recent = alloc(current, 1, client_status=FAILED, modify_time=NOW - 10 * MINUTE)
    long_ago = alloc(current, 2, client_status=FAILED)
    results = reconcile_cluster(
        situation(
            current,
            [running, recent, long_ago],
            judge_update=lambda one, *_: in_place(one) if one.id == "0" else destructive(),
        )
    )
    assert results.desired_updates["web"] == counters(
        "Place 2, Stop 1, InPlaceUpdate 1, DestructiveUpdate 1, RescheduleLater 1"
    )
    assert placed(results) == [2, 3]
    assert stopped(results) == [2]
    assert [update.id for update in results.attribute_updates] == ["1"]
    assert [one.wait_until for one in results.followup_evals["web"]] == [NOW + 50 * MINUTE]


def test_a16_a_renamed_group_is_stopped_under_its_old_name_and_placed_under_the_new():
    former = job(10)
    current = job(10, task_groups=(group(10, "api"),))
    results = reconcile_cluster(situation(current, allocs(former, *range(10)), known_as=former))
    assert results.desired_updates == {"web": counters("Stop 10"), "api": counters("Place 10")}
    assert len(results.stop) == 10
    assert len(results.place) == 10


def test_a17_allocs_of_a_removed_group_on_a_down_node_are_lost():
    former = job(10)
    current = job(10, task_groups=(group(0, "api"),))
    existing = [alloc(former, 0), alloc(former, 1, "down")]
    results = reconcile_cluster(situation(current, existing, known_as=former))
    assert results.desired_updates["web"] == counters("Stop 2")
    assert [stop.client_status for stop in results.stop] == [None, LOST]


@pytest.mark.parametrize("is_purged", [False, True])
def test_a18_a_stopped_job_stops_every_group(is_purged):
    former = job(5, task_groups=(group(5), group(5, "api")))
    current = None if is_purged else job(stop=True, task_groups=former.task_groups)
    existing = [
        alloc(former, index, tag=name, name=f"web.{name}[{index}]", task_group=name)
        for name in ("web", "api")
        for index in range(5)
    ]
    results = reconcile_cluster(situation(current, existing, known_as=former))
    assert results.desired_updates == {"web": counters("Stop 5"), "api": counters("Stop 5")}
    assert len(results.stop) == 10
    assert results.deployment is None


@pytest.mark.parametrize("is_purged", [False, True])
def test_a19_a_stopped_job_with_nothing_left_does_nothing(is_purged):
    former = job()
    current = None if is_purged else job(stop=True)
    existing = [
        alloc(former, 0, client_status=COMPLETE),
        alloc(former, 1, client_status=FAILED),
        alloc(former, 2, desired_status=STOP),
        alloc(former, 3, desired_status=EVICT),
    ]
    results = reconcile_cluster(situation(current, existing, known_as=former))
    assert results.desired_updates == {"web": counters("")}
    assert results.stop == ()


def test_a20_a_stopped_job_loses_what_its_nodes_cannot_stop():
    current = job(stop=True)
    existing = [
        alloc(current, 0),
        alloc(current, 1, client_status=COMPLETE),
        alloc(current, 2, "disconnected", client_status=UNKNOWN),
        alloc(current, 3, "down"),
        alloc(current, 4, "disconnected", client_status=PENDING),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Stop 4")
    assert {stop.alloc.id: stop.client_status for stop in results.stop} == {
        "0": None,
        "2": None,
        "3": LOST,
        "4": LOST,
    }


def test_a21_a_service_group_of_none_stops_even_what_has_ended():
    current = job(0)
    existing = [
        alloc(current, 0),
        alloc(current, 1, client_status=COMPLETE),
        alloc(current, 2, client_status=FAILED),
        alloc(current, 3, desired_status=STOP),
        alloc(current, 4, client_status=UNKNOWN),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Stop 4")
    assert stopped(results) == [0, 1, 2, 4]


def test_a22_a_batch_group_of_none_counts_more_stops_than_it_makes():
    current = job(0, type="batch")
    existing = [
        alloc(current, 0),
        alloc(current, 1, client_status=COMPLETE),
        alloc(current, 2, client_status=COMPLETE, desired_status=STOP),
        alloc(current, 3, desired_status=STOP),
        alloc(current, 4, client_status=UNKNOWN, desired_status=STOP, alloc_states=was_unknown()),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Stop 5")
    assert stopped(results) == [0, 1, 4]


def test_a23_groups_are_counted_apart():
    current = job(task_groups=(group(10), group(10, "api")))
    results = reconcile_cluster(situation(current, allocs(current, 0, 1)))
    assert results.desired_updates == {
        "web": counters("Place 8, Ignore 2"),
        "api": counters("Place 10"),
    }


def test_a24_an_evicted_alloc_is_placed_again_under_its_name():
    current = job(2)
    existing = [alloc(current, 0, desired_status=EVICT), alloc(current, 1)]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Place 1, Ignore 1")
    assert placed(results) == [0]
