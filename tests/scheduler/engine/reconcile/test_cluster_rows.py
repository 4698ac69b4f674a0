"""Rows of the reconciler's scenarios that join several of its parts."""

import msgspec

from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.structs.allocation import RescheduleEvent, RescheduleTracker
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.policies import HOUR, SECOND, ReschedulePolicy
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    FAILED,
    LOST,
    NOW,
    OTHER_EVAL,
    PENDING,
    STOP,
    UNKNOWN,
    alloc,
    allocs,
    canaries,
    canary,
    canary_state,
    counters,
    deployment,
    disconnect,
    flags,
    job,
    old_destructive,
    older,
    placed,
    situation,
    stopped,
    update,
    updates_of,
    was_unknown,
)

NO_EVAL = {"eval_id": ""}
UNLIMITED = ReschedulePolicy(
    unlimited=True, delay=5 * SECOND, max_delay=HOUR, delay_function="constant"
)


def of_deployment(current, *indexes, **fields):
    return allocs(current, *indexes, **{"deployment_id": "dep", **fields})


def test_d19_new_allocs_without_a_verdict_use_up_the_whole_limit():
    current = job(30, update=update(4))
    found = reconcile_cluster(
        situation(
            current,
            [*allocs(older(current), *range(10)), *of_deployment(current, *range(10, 30))],
            deployment=deployment(current),
            judge_update=old_destructive,
        )
    )
    assert found.desired_updates["web"] == counters("Ignore 30")


def test_c22_a_failed_alloc_of_a_deployment_is_surplus_like_any_other():
    current = job(2, update=update())
    existing = [
        *of_deployment(current, 0, 1),
        *of_deployment(current, 2, client_status=FAILED),
    ]
    found = reconcile_cluster(situation(current, existing, deployment=deployment(current)))
    assert found.desired_updates["web"] == counters("Stop 1, Ignore 2")
    assert stopped(found) == [2]


def test_d36_a_forced_alloc_of_an_active_deployment_stays():
    current = job(2, update=update())
    existing = [
        *of_deployment(current, 0),
        *of_deployment(
            current, 1, client_status=FAILED, desired_transition=flags(force_reschedule=True)
        ),
    ]
    found = reconcile_cluster(situation(current, existing, deployment=deployment(current)))
    assert found.desired_updates["web"] == counters("Ignore 2")


def test_d46_a_region_that_waits_for_its_turn_places_nothing():
    current = job(2, update=update(), multiregion={"Regions": []})
    waiting = msgspec.structs.replace(
        deployment(current, DeploymentStatus.INITIALIZING), task_groups={}, is_multiregion=True
    )
    found = reconcile_cluster(situation(current, [], deployment=waiting))
    assert found.place == ()
    assert found.deployment is not None
    assert found.deployment.task_groups["web"].desired_total == 2
    assert [status for status, _ in updates_of(found)] == ["pending"]


def canarying_away(*away: int, **of_away: object):
    """Half of six old allocations run, two on a silent node; canaries 0 and 2 run, some away."""
    current = job(6, update=update(6, 2), disconnect=disconnect())
    old = older(current)
    # They belong to no deployment: one that is under way would not have them replaced.
    unbound = {"deployment_id": ""}
    found = [
        *allocs(old, 3, 5, node="disconnected"),
        alloc(old, 4),
        *canaries(current, 0, 2, **unbound),
        *canaries(current, *away, node="disconnected", **(unbound | of_away)),
        *allocs(old, 0, 1, 2, tag="-stopped", desired_status=STOP, client_status=COMPLETE),
    ]
    placed_canaries = (f"{index}-canary" for index in (0, 2, *away))
    state = canary_state(*placed_canaries, desired=2, desired_total=6)
    return situation(
        current,
        found,
        deployment=deployment(current, web=state),
        judge_update=old_destructive,
        **NO_EVAL,
    )


def test_e31_disconnected_canaries_and_old_ones_are_replaced_at_once():
    found = reconcile_cluster(canarying_away(1))
    assert found.desired_updates["web"] == counters(
        "Place 3, Ignore 3, Disconnect 3, RescheduleNow 3"
    )
    assert sorted((one.previous.id, one.is_canary) for one in found.place if one.previous) == [
        ("1-canary", True),
        ("3", False),
        ("5", False),
    ]
    assert found.stop == ()


def test_e32_a_canary_that_is_unknown_already_is_not_replaced_again():
    unknown = {"client_status": UNKNOWN, "alloc_states": was_unknown()}
    found = reconcile_cluster(canarying_away(1, followup_eval_id=OTHER_EVAL, **unknown))
    assert found.desired_updates["web"] == counters(
        "Place 2, Ignore 4, Disconnect 2, RescheduleNow 2"
    )


def canaries_failing(policy: ReschedulePolicy, *histories: int):
    """Two canaries that failed, beside five old allocations and what is left of earlier ones."""
    current = job(5, update=update(5, 2), reschedule_policy=policy)
    old = older(current)
    found = [
        alloc(
            current,
            number,
            tag="-canary",
            deployment_id="dep",
            client_status=FAILED,
            deployment_status=canary(healthy=False),
            desired_transition=flags(reschedule=True),
            reschedule_tracker=RescheduleTracker(
                events=tuple(
                    RescheduleEvent(reschedule_time=NOW - 60 * SECOND, delay=5 * SECOND)
                    for _ in range(events)
                )
            )
            if events
            else None,
        )
        for number, events in enumerate(histories)
    ]
    earlier = [
        alloc(
            current,
            number % 2,
            tag=f"-earlier-{number}",
            deployment_id="dep",
            client_status=FAILED,
            deployment_status=canary(healthy=False),
        )
        for number in range(4)
    ]
    ids = (*("0-canary", "1-canary"), *(one.id for one in earlier))
    state = canary_state(*ids, desired_total=5)
    return situation(
        current,
        [*found, *allocs(old, *range(5)), *earlier],
        deployment=deployment(current, web=state),
        judge_update=old_destructive,
        **NO_EVAL,
    )


def test_d40_canaries_that_failed_are_replaced_by_canaries():
    found = reconcile_cluster(canaries_failing(UNLIMITED, 0, 1))
    assert found.desired_updates["web"] == counters("Place 2, Stop 2, Ignore 9")
    assert placed(found) == [0, 1]


def test_d41_a_canary_without_attempts_left_stays_failed():
    once = ReschedulePolicy(attempts=1, interval=HOUR, delay=5 * SECOND, delay_function="constant")
    found = reconcile_cluster(canaries_failing(once, 0, 1))
    assert found.desired_updates["web"] == counters("Place 1, Stop 1, Ignore 10")


def test_e33_pending_canaries_on_a_disconnected_node_are_lost():
    found = reconcile_cluster(canarying_away(1, 3, client_status=PENDING))
    assert found.desired_updates["web"] == counters(
        "Place 2, Ignore 3, Disconnect 2, RescheduleNow 2"
    )
    assert {stop.alloc.id: stop.client_status for stop in found.stop} == {
        "1-canary": LOST,
        "3-canary": LOST,
    }
    assert sorted(placed(found)) == [3, 5]


def test_d39_failed_old_allocs_are_replaced_while_canaries_run():
    former = job(5, update=update(5, 2))
    current = msgspec.structs.replace(former, version=2)
    exhausted = RescheduleTracker(
        events=(RescheduleEvent(reschedule_time=-SECOND, delay=5 * SECOND),) * 2
    )
    found = reconcile_cluster(
        situation(
            current,
            [
                *canaries(current, 0, 1),
                *allocs(former, 0, 1, client_status=FAILED),
                alloc(former, 2, client_status=FAILED, reschedule_tracker=exhausted),
                *allocs(former, 3, 4),
            ],
            deployment=deployment(
                current, web=canary_state("0-canary", "1-canary", desired_total=5)
            ),
            **NO_EVAL,
        )
    )
    assert found.desired_updates["web"] == counters("Place 2, Stop 2, Ignore 5")
    assert [(one.previous.id, one.is_canary) for one in found.place if one.previous] == [
        ("0", False),
        ("1", False),
    ]
    assert stopped(found) == [0, 1]
