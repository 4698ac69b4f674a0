"""Lost nodes, drains and migrations: rows B01 to B18, and those of C that need no more."""

from collections.abc import Callable

import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import TaskState
from scheduler.structs.policies import SECOND, ReschedulePolicy
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    FAILED,
    NOW,
    STOP,
    alloc,
    allocs,
    counters,
    flags,
    job,
    old_destructive,
    older,
    placed,
    replaced,
    situation,
    stopped,
    update,
)

NEVER = ReschedulePolicy()
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
            lambda: two_on("ready", wish=RESTART, type="batch", reschedule_policy=NEVER),
            "Migrate 2, Ignore 8",
            [],
            [0, 1],
            id="B13-stopped-by-hand-without-attempts",
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
    assert results.followup_evals == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            lambda: two_on("draining", wish=MIGRATE, type="batch"),
            [("0", False), ("1", False)],
            id="B10-a-move-is-no-reschedule",
        ),
        pytest.param(
            lambda: two_on("ready", wish=RESTART, type="batch"),
            [("0", True), ("1", True)],
            id="B14-a-restart-is-one",
        ),
        pytest.param(
            lambda: batch_with({"desired_status": STOP, "desired_transition": RESTART}, {}, {}),
            [(None, False)],
            id="B16-a-slot-given-up-is-filled-afresh",
        ),
    ],
)
def test_a_replacement_knows_what_it_replaces_and_why(given, expected):
    results = reconcile_cluster(given())
    assert [
        (one.previous.id if one.previous else None, one.is_reschedule) for one in results.place
    ] == expected


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


def test_b09_of_two_on_a_vanished_node_one_is_lost_and_the_flagged_one_moves():
    moving = alloc(job(2), 1, "gone", desired_transition=MIGRATE)
    results = reconcile_cluster(situation(job(2), [alloc(job(2), 0, "gone"), moving]))
    assert {stop.alloc.id: stop.reason for stop in results.stop} == {
        "0": reasons.LOST,
        "1": reasons.MIGRATING,
    }


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
