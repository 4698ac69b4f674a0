"""Lost nodes, drains, migrations and reschedules: rows B01 to B18 and C01 to C22."""

from collections.abc import Callable

import pytest

from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import RescheduleEvent, RescheduleTracker, TaskState
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
    old_destructive,
    older,
    placed,
    replaced,
    situation,
    stopped,
    update,
)

MIGRATE = flags(migrate=True)
DRAINED = flags(migrate=True, migrate_disable_placement=True)
RESTART = flags(migrate=True, reschedule=True)
DONE = {"web": TaskState(state="dead")}


def two_on(node: str, count: int = 10, wish=None, **job_fields: object) -> Situation:
    """Ten allocations, the first two on a node that is in trouble."""
    current = job(count, **job_fields)
    wishes = {"desired_transition": wish} if wish else {}
    moving = allocs(current, 0, 1, node=node, **wishes)
    return situation(current, moving + allocs(current, *range(2, 10)))


def old_two_on(node: str, wish=None) -> Situation:
    current = job(10, update=update(4))
    wishes = {"desired_transition": wish} if wish else {}
    existing = allocs(older(current), 0, 1, node=node, **wishes)
    existing += allocs(older(current), *range(2, 10))
    return situation(current, existing, judge_update=old_destructive)


def drained_service(count: int, held: int, flagged: int) -> Situation:
    current = job(count)
    moving = allocs(current, *range(flagged), node="draining", desired_transition=MIGRATE)
    return situation(current, moving + allocs(current, *range(flagged, held)))


def five_with(**fields: object) -> Situation:
    """Five service allocations, the first of them in some state."""
    return situation(job(5), [alloc(job(5), 0, **fields), *allocs(job(5), 1, 2, 3, 4)])


def batch_with(*ended, count: int = 3) -> Situation:
    current = job(count, type="batch")
    return situation(current, [alloc(current, at, **fields) for at, fields in enumerate(ended)])


@pytest.mark.parametrize(
    ("given", "expected", "place", "stop"),
    [
        pytest.param(
            lambda: two_on("down"), "Place 2, Stop 2, Ignore 8", [0, 1], [0, 1], id="B01-lost"
        ),
        pytest.param(
            lambda: two_on("down", 15),
            "Place 7, Stop 2, Ignore 8",
            [0, 1, 10, 11, 12, 13, 14],
            [0, 1],
            id="B02-lost-and-grown",
        ),
        pytest.param(
            lambda: two_on("down", 5),
            "Stop 5, Ignore 5",
            [],
            [0, 1, 7, 8, 9],
            id="B03-lost-and-shrunk",
        ),
        pytest.param(
            lambda: two_on("draining", wish=MIGRATE),
            "Migrate 2, Ignore 8",
            [0, 1],
            [0, 1],
            id="B04-flagged",
        ),
        pytest.param(
            lambda: two_on("draining", 15, wish=MIGRATE),
            "Place 5, Migrate 2, Ignore 8",
            [10, 11, 12, 13, 14, 0, 1],
            [0, 1],
            id="B05-flagged-and-grown",
        ),
        pytest.param(
            lambda: drained_service(8, 10, 3),
            "Migrate 1, Stop 2, Ignore 7",
            [0],
            [0, 1, 2],
            id="B06-flagged-and-shrunk",
        ),
        pytest.param(
            lambda: drained_service(3, 5, 2),
            "Stop 2, Ignore 3",
            [],
            [0, 1],
            id="B07-flagged-are-the-surplus",
        ),
        pytest.param(
            lambda: situation(job(2), [*allocs(job(2), 0, node="draining"), *allocs(job(2), 1)]),
            "Ignore 2",
            [],
            [],
            id="B08-draining-but-not-flagged",
        ),
        pytest.param(
            lambda: situation(
                job(2),
                [
                    alloc(job(2), 0, "gone"),
                    alloc(job(2), 1, "gone", desired_transition=MIGRATE),
                ],
            ),
            "Place 1, Stop 1, Migrate 1",
            [0, 1],
            [0, 1],
            id="B09-vanished-node",
        ),
        pytest.param(
            lambda: two_on("draining", wish=MIGRATE, type="batch"),
            "Migrate 2, Ignore 8",
            [0, 1],
            [0, 1],
            id="B10-batch-flagged",
        ),
        pytest.param(
            lambda: two_on("draining", wish=DRAINED, type="batch"),
            "Migrate 2, Ignore 8",
            [],
            [0, 1],
            id="B11-batch-drained",
        ),
        pytest.param(
            lambda: situation(
                job(10, type="batch"),
                [
                    *allocs(
                        job(10, type="batch"),
                        0,
                        1,
                        node="draining",
                        desired_status=STOP,
                        desired_transition=DRAINED,
                    ),
                    *allocs(job(10, type="batch"), *range(2, 10)),
                ],
            ),
            "Ignore 10",
            [],
            [],
            id="B12-drained-batch-keeps-its-slot",
        ),
        pytest.param(
            lambda: two_on("ready", wish=RESTART, type="batch", reschedule_policy=None),
            "Migrate 2, Ignore 8",
            [],
            [0, 1],
            id="B13-stopped-by-hand-without-policy",
        ),
        pytest.param(
            lambda: two_on("ready", wish=RESTART, type="batch"),
            "Place 2, Migrate 2, Ignore 8",
            [0, 1],
            [0, 1],
            id="B14-stopped-by-hand-and-due",
        ),
        pytest.param(
            lambda: batch_with({"desired_status": STOP, "desired_transition": RESTART}, {}, {}),
            "Place 1, Ignore 2",
            [0],
            [],
            id="B16-stopped-by-hand-one-evaluation-later",
        ),
        pytest.param(
            lambda: situation(
                job(5), allocs(job(5), 0, client_status=COMPLETE) + allocs(job(5), 1, 2, 3, 4)
            ),
            "Place 1, Ignore 4",
            [0],
            [],
            id="C02-completed-service",
        ),
        pytest.param(
            lambda: five_with(client_status=FAILED, desired_status=STOP),
            "Place 1, Ignore 4",
            [0],
            [],
            id="C03-failed-and-stopped",
        ),
        pytest.param(
            lambda: situation(
                job(5),
                allocs(job(5), *range(3))
                + allocs(job(5), 3, client_status=FAILED)
                + allocs(job(5), 4, 5),
            ),
            "Place 1, Stop 1, Ignore 5",
            [3],
            [3],
            id="C17-one-too-many-and-one-failed",
        ),
        pytest.param(
            lambda: batch_with(
                {"client_status": COMPLETE, "desired_status": STOP, "task_states": DONE}, {}, {}
            ),
            "Place 1, Ignore 3",
            [0],
            [],
            id="C19-finished-but-stopped-batch-runs-again",
        ),
        pytest.param(
            lambda: batch_with(
                {"client_status": COMPLETE, "task_states": DONE},
                {"client_status": COMPLETE, "task_states": DONE},
                {},
            ),
            "Ignore 3",
            [],
            [],
            id="C20-finished-batch-is-done",
        ),
    ],
)
def test_troubled_allocs_are_replaced_moved_or_left(
    given: Callable[[], Situation], expected, place, stop
):
    results = reconcile_cluster(given())
    assert results.desired_updates == {"web": counters(expected)}
    assert placed(results) == place
    assert stopped(results) == stop


def test_b01_a_lost_alloc_is_replaced_as_lost_under_its_name():
    results = reconcile_cluster(two_on("down"))
    assert [
        (one.previous.id, one.is_lost, one.is_reschedule) for one in results.place if one.previous
    ] == [("0", True, False), ("1", True, False)]


def test_b15_a_batch_restart_that_is_not_due_leaves_its_evaluation_on_the_stop():
    current = job(10, type="batch")
    moving = allocs(current, 0, 1, desired_transition=RESTART, modify_time=NOW)
    results = reconcile_cluster(situation(current, moving + allocs(current, *range(2, 10))))
    assert results.desired_updates["web"] == counters("Migrate 2, Ignore 8, RescheduleLater 2")
    assert results.place == ()
    (followup,) = results.followup_evals["web"]
    assert followup.wait_until == NOW + 5 * SECOND
    assert {stop.alloc.followup_eval_id for stop in results.stop} == {followup.id}


def test_b17_migrations_do_not_use_up_the_limit():
    results = reconcile_cluster(old_two_on("draining", MIGRATE))
    assert results.desired_updates["web"] == counters("Migrate 2, DestructiveUpdate 4, Ignore 4")
    assert replaced(results) == [2, 3, 4, 5]
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == 8


def test_b18_replacements_of_lost_allocs_use_up_the_limit():
    results = reconcile_cluster(old_two_on("down"))
    assert results.desired_updates["web"] == counters(
        "Place 2, Stop 2, DestructiveUpdate 2, Ignore 6"
    )
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == 10


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


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"modify_time": NOW - 4 * SECOND},
            "Place 1, Stop 1, Ignore 4",
            id="C05-within-a-second-of-due",
        ),
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
            id="C09-attempts-used-up",
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
        pytest.param({"next_allocation": "9"}, "Place 1, Ignore 4", id="C11-replaced-before"),
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


def batch_of_four(policy: ReschedulePolicy, **failed: object) -> Situation:
    """Two failed and replaced, one failed, two running, one complete."""
    current = job(4, type="batch", reschedule_policy=policy)
    return situation(
        current,
        [
            alloc(current, 0, client_status=FAILED, next_allocation="a"),
            alloc(current, 1, client_status=FAILED, next_allocation="b"),
            alloc(current, 2, client_status=FAILED, **failed),
            *allocs(current, 3, 0, tag="-new"),
            alloc(current, 1, client_status=COMPLETE, tag="-done"),
        ],
    )


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        pytest.param(
            lambda: batch_of_four(
                THRICE_A_DAY, modify_time=NOW, reschedule_tracker=tracker(HOUR, HOUR)
            ),
            "Ignore 4, RescheduleLater 1",
            id="C12-not-due",
        ),
        pytest.param(
            lambda: batch_of_four(
                THRICE_A_DAY, modify_time=NOW - MINUTE, followup_eval_id=OTHER_EVAL
            ),
            "Place 1, Stop 1, Ignore 3",
            id="C13-overdue",
        ),
        pytest.param(
            lambda: batch_of_four(ReschedulePolicy(), modify_time=NOW - MINUTE),
            "Ignore 4",
            id="C14-never",
        ),
    ],
)
def test_failed_batch_work_is_replaced_by_its_policy(scene, expected):
    results = reconcile_cluster(scene())
    assert results.desired_updates["web"] == counters(expected)
