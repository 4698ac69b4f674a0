"""Rows of the reconciler's scenarios that join several of its parts."""

import msgspec

from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.structs.allocation import RescheduleEvent, RescheduleTracker
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.policies import HOUR, SECOND, ReschedulePolicy
from tests.scheduler.engine.reconcile.scene import (
    FAILED,
    NOW,
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


def canarying_away(*, wanted: int, **of_canaries: object):
    """Six old places and canaries, some of them on a node that stopped answering."""
    current = job(6, update=update(6, wanted), disconnect=disconnect())
    old = older(current)
    away = of_canaries.pop("away", (1,))
    found = [
        *allocs(old, 3, 5, node="disconnected"),
        alloc(old, 4),
        *canaries(current, *(number for number in (0, 1, 2) if number not in away)),
        *(one.changed(**of_canaries) for one in canaries(current, *away, node="disconnected")),
        *(
            alloc(old, number, tag="-stopped", desired_status=STOP, client_status="complete")
            for number in (0, 1, 2)
        ),
    ]
    state = canary_state("0-canary", "1-canary", "2-canary", desired=wanted, desired_total=6)
    return situation(
        current,
        found,
        deployment=deployment(current, web=state),
        judge_update=old_destructive,
        **NO_EVAL,
    )


def test_e31_disconnected_canaries_and_old_ones_are_replaced_at_once():
    found = reconcile_cluster(canarying_away(wanted=2, deployment_id=""))
    assert found.desired_updates["web"] == counters(
        "Place 3, Ignore 3, Disconnect 3, RescheduleNow 3"
    )


def test_e32_a_canary_that_is_unknown_already_is_not_replaced_again():
    found = reconcile_cluster(
        canarying_away(wanted=3, client_status=UNKNOWN, alloc_states=was_unknown())
    )
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
    found = reconcile_cluster(canarying_away(wanted=2, away=(1, 2), client_status=PENDING))
    assert found.desired_updates["web"].disconnect == 2
    assert found.desired_updates["web"].reschedule_now == 2
