"""Failed allocations, replaced now, later or never: of rows C01 to C22 of the scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import RescheduleEvent, RescheduleTracker
from scheduler.structs.policies import HOUR, MINUTE, SECOND, ReschedulePolicy
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    FAILED,
    NOW,
    OTHER_EVAL,
    PENDING,
    STOP,
    alloc,
    allocs,
    counters,
    flags,
    in_place,
    job,
    placed,
    situation,
    stopped,
    update,
)

NEVER = ReschedulePolicy()


def tracker(*ages: int) -> RescheduleTracker:
    return RescheduleTracker(
        events=tuple(RescheduleEvent(reschedule_time=NOW - age, delay=5 * SECOND) for age in ages)
    )


ONCE_A_DAY = ReschedulePolicy(
    attempts=1, interval=24 * HOUR, delay=15 * SECOND, delay_function="constant"
)


def test_c01_a_failed_alloc_is_looked_at_again_when_its_delay_has_passed():
    current = job(5, reschedule_policy=ONCE_A_DAY)
    existing = [
        alloc(current, 0, client_status=FAILED, reschedule_tracker=tracker(HOUR)),
        alloc(current, 1, client_status=FAILED, modify_time=NOW),
        *allocs(current, 2, 3),
        alloc(current, 4, desired_status=STOP),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Place 1, Ignore 4, RescheduleLater 1")
    assert placed(results) == [4]
    (followup,) = results.followup_evals["web"]
    assert (followup.wait_until, followup.triggered_by) == (
        NOW + 15 * SECOND,
        "alloc-reschedule",
    )
    assert [(one.id, one.followup_eval_id) for one in results.attribute_updates] == [
        ("1", followup.id)
    ]


def test_c04_an_update_block_without_a_deployment_changes_nothing_about_reschedules():
    policy = ReschedulePolicy(
        attempts=1, interval=24 * HOUR, delay=5 * SECOND, delay_function="constant"
    )
    current = job(5, reschedule_policy=policy, update=update(4))
    existing = [
        alloc(current, 0, client_status=FAILED, reschedule_tracker=tracker(HOUR)),
        alloc(current, 1, client_status=FAILED, modify_time=NOW - 10 * SECOND),
        *allocs(current, 2, 3),
        alloc(current, 4, desired_status=STOP),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Place 2, Stop 1, Ignore 3")
    assert [
        (one.name, one.previous.id if one.previous else None, one.is_reschedule)
        for one in results.place
    ] == [("web.web[1]", "1", True), ("web.web[4]", None, False)]
    assert stopped(results) == [1]
    assert results.followup_evals == {}


def test_c05_a_reschedule_within_a_second_of_due_does_not_wait():
    exhausted = alloc(
        job(5), 4, client_status=FAILED, modify_time=NOW, reschedule_tracker=tracker(0, 0)
    )
    due = alloc(job(5), 0, client_status=FAILED, modify_time=NOW - 4 * SECOND)
    results = reconcile_cluster(situation(job(5), [due, *allocs(job(5), 1, 2, 3), exhausted]))
    assert results.desired_updates["web"] == counters("Place 1, Stop 1, Ignore 4")
    (placement,) = results.place
    assert (placement.previous, placement.is_reschedule) == (due, True)


def test_c09_without_attempts_only_a_stopped_one_is_placed_anew():
    current = job(5, reschedule_policy=NEVER)
    existing = [
        *allocs(current, 0, 1, client_status=FAILED),
        *allocs(current, 2, 3),
        alloc(current, 4, desired_status=STOP),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Place 1, Ignore 4")
    (placement,) = results.place
    assert (placement.name, placement.previous) == ("web.web[4]", None)


def test_c11_what_was_replaced_before_is_not_replaced_again():
    current = job(5)
    existing = [
        alloc(current, 1, client_status=FAILED, next_allocation="2"),
        *allocs(current, 2, 3, 5, 6),
        alloc(current, 4, desired_status=STOP),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Place 1, Ignore 4")
    assert [(one.name, one.previous) for one in results.place] == [("web.web[0]", None)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"modify_time": NOW + 25 * SECOND, "followup_eval_id": "this"},
            "Place 1, Stop 1, Ignore 4",
            id="C06-its-own-evaluation-does-not-wait",
        ),
        pytest.param(
            {"modify_time": NOW, "followup_eval_id": OTHER_EVAL},
            "Ignore 5",
            id="C07-another-evaluation-will-look",
        ),
        pytest.param(
            {"modify_time": NOW - MINUTE, "followup_eval_id": OTHER_EVAL},
            "Place 1, Stop 1, Ignore 4",
            id="C08-overdue-whoever-waits",
        ),
        pytest.param(
            {"reschedule_tracker": tracker(0, 0), "modify_time": NOW - SECOND},
            "Ignore 5",
            id="attempts-used-up",
        ),
        pytest.param(
            {
                "reschedule_tracker": tracker(0, 0),
                "modify_time": NOW - SECOND,
                "desired_transition": flags(force_reschedule=True),
            },
            "Place 1, Stop 1, Ignore 4",
            id="C10-forced",
        ),
    ],
)
def test_a_failed_service_alloc_is_replaced_when_due(fields, expected):
    current = job(5)
    scene = situation(current, [])
    if fields.get("followup_eval_id") == "this":
        fields = {**fields, "followup_eval_id": scene.eval_id}
    existing = [alloc(current, 0, client_status=FAILED, **fields), *allocs(current, 1, 2, 3, 4)]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters(expected)
    assert results.followup_evals == {}


def test_c15_close_failures_share_a_delayed_evaluation():
    policy = ReschedulePolicy(
        attempts=3, interval=24 * HOUR, delay=15 * SECOND, delay_function="constant"
    )
    current = job(10, type="batch", reschedule_policy=policy)
    existing = [
        alloc(current, index, client_status=FAILED, modify_time=NOW + index * 50_000_000)
        for index in range(5)
    ]
    existing += allocs(current, 5, 6, client_status=FAILED, modify_time=NOW + 10 * SECOND)
    existing += allocs(current, 7, 8, 9)
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Ignore 10, RescheduleLater 7")
    first, second = results.followup_evals["web"]
    assert [(one.wait_until - NOW, one.triggered_by) for one in (first, second)] == [
        (15 * SECOND, "alloc-reschedule"),
        (25 * SECOND, "alloc-failure"),
    ]
    noted = [one.followup_eval_id for one in results.attribute_updates]
    assert (noted.count(first.id), noted.count(second.id)) == (5, 2)


def test_c16_a_finished_surplus_batch_alloc_is_stopped():
    current = job(5, type="batch")
    existing = [
        *allocs(current, *range(5), client_status=PENDING),
        alloc(current, 5, client_status=COMPLETE),
        alloc(current, 6, client_status=COMPLETE, desired_status=STOP),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Stop 1, Ignore 6")
    assert stopped(results) == [5]


def test_c18_a_batch_job_run_anew_starts_over():
    current = job(10, type="batch", create_index=50)
    ended = allocs(current, *range(5), client_status=COMPLETE, job_create_index=10)
    ended += allocs(
        current, *range(5, 10), client_status=COMPLETE, job_create_index=10, desired_status=STOP
    )
    results = reconcile_cluster(situation(current, ended))
    assert results.desired_updates["web"] == counters("Place 10, Ignore 10")


def test_c21_an_alloc_may_be_changed_in_place_and_wait_for_its_replacement():
    current = job(2)
    existing = [
        alloc(current, 0, client_status=FAILED, modify_time=NOW - SECOND),
        alloc(current, 1),
    ]
    results = reconcile_cluster(situation(current, existing, judge_update=in_place))
    assert results.desired_updates["web"] == counters("InPlaceUpdate 2, RescheduleLater 1")
    assert [one.id for one in results.inplace] == ["0", "1"]
    assert [one.id for one in results.attribute_updates] == ["0"]


THRICE_A_DAY = ReschedulePolicy(
    attempts=3, interval=24 * HOUR, delay=15 * SECOND, delay_function="constant"
)
SOON = msgspec.structs.replace(THRICE_A_DAY, delay=5 * SECOND)
#: Failed as long ago as the shorter delay, and noted for an evaluation that is not this one.
DUE = {
    "modify_time": NOW - 5 * SECOND,
    "followup_eval_id": OTHER_EVAL,
    "reschedule_tracker": tracker(HOUR, HOUR),
}


def batch_of_four(policy: ReschedulePolicy, **failed: object) -> Situation:
    """Two failed and replaced, one failed, two running, one complete."""
    current = job(4, type="batch", reschedule_policy=policy)
    return situation(
        current,
        [
            alloc(current, 0, client_status=FAILED, next_allocation="1"),
            alloc(current, 1, client_status=FAILED, next_allocation="2"),
            alloc(current, 2, client_status=FAILED, **failed),
            *allocs(current, 3, 4),
            alloc(current, 5, client_status=COMPLETE),
        ],
    )


@pytest.mark.parametrize(
    ("scene", "expected", "place", "waits"),
    [
        pytest.param(
            lambda: batch_of_four(
                THRICE_A_DAY, modify_time=NOW, reschedule_tracker=tracker(HOUR, HOUR)
            ),
            "Ignore 4, RescheduleLater 1",
            [],
            [("2", NOW + 15 * SECOND)],
            id="C12-not-due",
        ),
        pytest.param(
            lambda: batch_of_four(SOON, **DUE),
            "Place 1, Stop 1, Ignore 3",
            [2],
            [],
            id="C13-due-whoever-waits",
        ),
        pytest.param(lambda: batch_of_four(NEVER, **DUE), "Ignore 4", [], [], id="C14-never"),
    ],
)
def test_failed_batch_work_is_replaced_by_its_policy(scene, expected, place, waits):
    results = reconcile_cluster(scene())
    assert results.desired_updates["web"] == counters(expected)
    assert placed(results) == place
    assert stopped(results) == place
    at = {one.id: one.wait_until for one in results.followup_evals.get("web", ())}
    assert [(one.id, at[one.followup_eval_id]) for one in results.attribute_updates] == waits
