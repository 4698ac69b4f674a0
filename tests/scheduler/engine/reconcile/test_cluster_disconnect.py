"""Disconnecting and reconnecting allocations: rows E01 to E34 of the reconciler's scenarios."""

import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import AllocState
from scheduler.structs.deployment import GroupRollout
from scheduler.structs.policies import MINUTE, SECOND
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
    canary,
    counters,
    deployment,
    disconnect,
    flags,
    in_place,
    job,
    old_destructive,
    older,
    placed,
    situation,
    stopped,
    update,
    was_unknown,
)


def back(of, *indexes: int, **fields: object):
    """Allocations that report again after their node was gone."""
    return allocs(of, *indexes, **{"alloc_states": was_unknown(), **fields})


def away(count: int = 3, eval_id: str | None = None, **fields: object) -> Situation:
    """Two of three allocations run on a node that stopped answering."""
    current = job(count, disconnect=fields.pop("block", disconnect()), **fields)
    existing = [*allocs(current, 0, 1, node="disconnected"), alloc(current, 2)]
    extra = {} if eval_id is None else {"eval_id": eval_id}
    return situation(current, existing, **extra)


def test_e01_allocs_that_were_not_replaced_are_welcomed_back():
    current = job(2, disconnect=disconnect())
    results = reconcile_cluster(situation(current, back(current, 0, 1)))
    assert results.desired_updates["web"] == counters("Ignore 2, Reconnect 2")
    assert [one.alloc_states[-1] for one in results.reconnect_updates] == [
        AllocState(value="running", time=NOW)
    ] * 2


def test_e02_the_replacement_goes_when_the_original_is_as_good():
    current = job(3, disconnect=disconnect())
    original = back(current, 0, next_allocation="0-new")
    replacement = alloc(current, 0, tag="-new", previous_allocation="0")
    results = reconcile_cluster(
        situation(current, [*original, replacement, *allocs(current, 1, 2)])
    )
    assert results.desired_updates["web"] == counters("Stop 1, Ignore 3, Reconnect 1")
    assert [(stop.alloc.id, stop.reason) for stop in results.stop] == [
        ("0-new", reasons.RECONNECTED)
    ]


@pytest.mark.parametrize(
    ("is_replaced", "expected"),
    [
        pytest.param(True, "Stop 2, Ignore 4", id="E03-replaced"),
        pytest.param(False, "Place 2, Stop 2, Ignore 2", id="E04-not-replaced"),
    ],
)
def test_allocs_that_come_back_failed_are_stopped(is_replaced, expected):
    current = job(4, disconnect=disconnect())
    existing = back(current, 0, 1, client_status=FAILED) + allocs(current, 2, 3)
    if is_replaced:
        existing = [
            one.changed(next_allocation=f"{one.id}-new") if one.client_status is FAILED else one
            for one in existing
        ]
        existing += allocs(current, 0, 1, tag="-new")
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters(expected)
    assert {stop.client_status for stop in results.stop} == {FAILED}
    assert [one.previous for one in results.place] == ([] if is_replaced else [None, None])


def test_e05_batch_work_that_finished_out_of_sight_is_done():
    current = job(2, type="batch", disconnect=disconnect())
    results = reconcile_cluster(situation(current, back(current, 0, 1, client_status=COMPLETE)))
    assert results.desired_updates["web"] == counters("Ignore 2")


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        pytest.param(
            lambda current: [
                alloc(current, 0, "disconnected", client_status=PENDING, next_allocation="0-new"),
                alloc(current, 0, tag="-new"),
                alloc(current, 1),
            ],
            "Stop 1, Ignore 2",
            id="E08-pending-and-replaced",
        ),
        pytest.param(
            lambda current: back(current, 0, client_status=UNKNOWN) + allocs(current, 1),
            "Ignore 2",
            id="E24-not-reported-yet",
        ),
        pytest.param(
            lambda current: [
                *back(current, 0, desired_transition=flags(migrate=True)),
                alloc(current, 1),
            ],
            "Migrate 1, Ignore 1",
            id="E25-flagged",
        ),
        pytest.param(
            lambda current: [
                alloc(
                    current,
                    0,
                    "disconnected",
                    client_status=UNKNOWN,
                    alloc_states=was_unknown(NOW - 5 * MINUTE),
                ),
                alloc(current, 1),
            ],
            "Place 1, Stop 1, Ignore 1",
            id="E21-expired-to-the-second",
        ),
    ],
)
def test_returning_allocs_of_a_group_of_two(existing, expected):
    current = job(2, disconnect=disconnect())
    results = reconcile_cluster(situation(current, existing(current)))
    assert results.desired_updates["web"] == counters(expected)


@pytest.mark.parametrize(
    ("scene", "expected", "triggers"),
    [
        pytest.param(
            lambda: away(eval_id=""),
            "Place 2, Ignore 1, Disconnect 2, RescheduleNow 2",
            [("max-disconnect-timeout", 5 * MINUTE)],
            id="E12-replaced-at-once",
        ),
        pytest.param(
            away,
            "Ignore 3, Disconnect 2, RescheduleLater 2",
            [("max-disconnect-timeout", 5 * MINUTE), ("alloc-reschedule", 5 * SECOND)],
            id="E13-replaced-later",
        ),
        pytest.param(
            lambda: away(type="batch"),
            "Ignore 3, Disconnect 2, RescheduleLater 2",
            [("max-disconnect-timeout", 5 * MINUTE), ("alloc-reschedule", 5 * SECOND)],
            id="E16-batch",
        ),
        pytest.param(
            lambda: away(block=disconnect(replace=False)),
            "Ignore 3, Disconnect 2",
            [("max-disconnect-timeout", 5 * MINUTE)],
            id="E17-never-replaced",
        ),
    ],
)
def test_allocs_on_a_silent_node_become_unknown(scene, expected, triggers):
    results = reconcile_cluster(scene())
    assert results.desired_updates["web"] == counters(expected)
    followups = results.followup_evals.get("web", ())
    assert [(one.triggered_by, one.wait_until - NOW) for one in followups] == triggers
    if triggers:
        assert {one.followup_eval_id for one in results.disconnect_updates} == {followups[-1].id}
        assert {one.client_status for one in results.disconnect_updates} == {UNKNOWN}


@pytest.mark.parametrize(
    ("job_type", "waits_for", "expected"),
    [
        pytest.param("service", None, "Place 2, Ignore 1", id="E14-its-own-evaluation"),
        pytest.param("service", OTHER_EVAL, "Ignore 3", id="E15-another-evaluation"),
        pytest.param("batch", None, "Ignore 3", id="E16-batch-waits-for-expiry"),
    ],
)
def test_an_unknown_alloc_is_replaced_by_the_evaluation_it_waits_for(
    job_type, waits_for, expected
):
    current = job(3, disconnect=disconnect(), type=job_type)
    scene = situation(current, [])
    unknown = allocs(
        current,
        0,
        1,
        node="disconnected",
        client_status=UNKNOWN,
        alloc_states=was_unknown(NOW - 5 * SECOND),
        followup_eval_id=waits_for or scene.eval_id,
    )
    results = reconcile_cluster(situation(current, [*unknown, alloc(current, 2)]))
    assert results.desired_updates["web"] == counters(expected)
    assert all(one.is_reschedule and one.previous in unknown for one in results.place)
    assert results.stop == ()


def test_e22_without_a_disconnect_block_a_silent_node_loses_its_alloc():
    current = job(2)
    results = reconcile_cluster(
        situation(current, [alloc(current, 0, "disconnected"), alloc(current, 1)])
    )
    assert results.desired_updates["web"] == counters("Place 1, Stop 1, Ignore 1")
    assert [(stop.alloc.id, stop.client_status) for stop in results.stop] == [("0", LOST)]
    assert [one.is_lost for one in results.place] == [True]


def test_e23_a_returning_alloc_of_an_older_version_gives_its_place_to_a_new_one():
    current = job(2, disconnect=disconnect())
    results = reconcile_cluster(situation(current, [*back(older(current), 0), alloc(current, 1)]))
    assert results.desired_updates["web"] == counters("Stop 1, Place 1, Ignore 1")
    assert [(stop.alloc.id, stop.reason) for stop in results.stop] == [("0", reasons.NOT_NEEDED)]
    assert [one.previous for one in results.place] == [None]


@pytest.mark.parametrize(
    ("first", "block", "expected", "triggers"),
    [
        pytest.param(
            {"node": "down"},
            disconnect(0, replace=False),
            "Ignore 3, Disconnect 1",
            [("max-disconnect-timeout", NOW)],
            id="E18-running-on-a-down-node",
        ),
        pytest.param(
            {"node": "down", "client_status": PENDING},
            disconnect(replace=False),
            "Place 1, Stop 1, Ignore 2",
            [],
            id="E19-pending-on-a-down-node",
        ),
        pytest.param(
            {"node": "down", "client_status": UNKNOWN, "alloc_states": was_unknown()},
            disconnect(replace=False),
            "Ignore 3",
            [],
            id="E20-unknown-on-a-down-node",
        ),
        pytest.param(
            {
                "node": "down",
                "client_status": UNKNOWN,
                "alloc_states": was_unknown(NOW - 6 * MINUTE),
            },
            disconnect(replace=False),
            "Place 1, Stop 1, Ignore 2",
            [],
            id="E20-and-expired",
        ),
    ],
)
def test_replacement_can_be_forbidden(first, block, expected, triggers):
    current = job(3, disconnect=block)
    results = reconcile_cluster(
        situation(current, [alloc(current, 0, **first), *allocs(current, 1, 2)])
    )
    assert results.desired_updates["web"] == counters(expected)
    followups = results.followup_evals.get("web", ())
    assert [(one.triggered_by, one.wait_until) for one in followups] == triggers


def test_e10_expired_allocs_that_were_replaced_are_lost():
    current = job(5, disconnect=disconnect(2 * SECOND))
    expired = allocs(
        current,
        0,
        1,
        node="disconnected",
        client_status=UNKNOWN,
        alloc_states=was_unknown(NOW - MINUTE),
    )
    results = reconcile_cluster(
        situation(current, expired + allocs(current, 0, 1, 2, 3, 4, tag="-new"))
    )
    assert results.desired_updates["web"] == counters("Stop 2, Ignore 5")
    assert {stop.client_status for stop in results.stop} == {LOST}


def test_e26_an_accepted_return_is_an_ordinary_alloc():
    current = job(2, disconnect=disconnect())
    states = (*was_unknown(), AllocState(value="running", time=NOW))
    results = reconcile_cluster(
        situation(current, allocs(current, 0, 1, alloc_states=states), judge_update=in_place)
    )
    assert results.desired_updates["web"] == counters("InPlaceUpdate 2")


def test_e27_an_unknown_alloc_is_not_counted_as_surplus():
    current = job(1, disconnect=disconnect())
    unknown = alloc(current, 0, "disconnected", client_status=UNKNOWN, alloc_states=was_unknown())
    results = reconcile_cluster(situation(current, [unknown, *allocs(current, 1, 2)]))
    assert results.desired_updates["web"] == counters("Stop 1, Ignore 2")
    assert stopped(results) == [2]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param(lambda current: allocs(current, 1, 2), "Stop 1, Ignore 2", id="E28-short"),
        pytest.param(
            lambda current: [alloc(current, 1, client_status=FAILED), *allocs(current, 2, 3)],
            "Stop 2, Ignore 2",
            id="E29-and-one-failed",
        ),
    ],
)
def test_nothing_is_placed_while_a_cut_off_node_may_still_run_the_alloc(others, expected):
    current = job(4, disconnect=disconnect(0, stop_after=30 * SECOND))
    results = reconcile_cluster(situation(current, [alloc(current, 0, "down"), *others(current)]))
    assert results.desired_updates["web"] == counters(expected)
    assert results.place == ()
    (followup,) = results.followup_evals["web"]
    assert (followup.triggered_by, followup.wait_until) == ("alloc-failure", NOW + 35 * SECOND)
    assert {s.followup_eval_id for s in results.stop if s.client_status is LOST} == {followup.id}


def test_e30_a_cut_off_node_has_certainly_stopped_it_after_its_time():
    current = job(4, disconnect=disconnect(0, stop_after=30 * SECOND))
    lost = alloc(
        current, 0, "down", alloc_states=(AllocState(value="lost", time=NOW - 100 * SECOND),)
    )
    results = reconcile_cluster(situation(current, [lost, *allocs(current, 1, 2)]))
    assert results.desired_updates["web"] == counters("Stop 1, Place 2, Ignore 2")
    assert placed(results) == [0, 3]
    assert [one.is_lost for one in results.place] == [True, False]
    assert results.followup_evals == {}


def test_e34_a_canary_out_of_sight_is_topped_up():
    current = job(3, update=update(1, 1), disconnect=disconnect())
    lost_sight = alloc(
        current,
        0,
        "disconnected",
        tag="-canary",
        deployment_id="dep",
        deployment_status=canary(),
    )
    state = GroupRollout(placed_canaries=("0-canary",), desired_canaries=1)
    results = reconcile_cluster(
        situation(
            current,
            [*allocs(older(current), 0, 1, 2), lost_sight],
            judge_update=old_destructive,
            deployment=deployment(current, web=state),
        )
    )
    assert results.desired_updates["web"] == counters("Canary 1, Stop 1, Ignore 3, Disconnect 1")
    assert stopped(results) == [2]


def replaced_twice(current, index: int):
    """A replacement that failed and was stopped, and the one that runs in its place."""
    failed = alloc(
        current,
        index,
        tag="-second",
        previous_allocation=f"{index}",
        client_status=FAILED,
        desired_status=STOP,
        next_allocation=f"{index}-third",
    )
    return [failed, alloc(current, index, tag="-third", previous_allocation=failed.id)]


def test_e07_a_stopped_alloc_that_comes_back_stays_stopped():
    current = job(1, disconnect=disconnect())
    existing = [
        *back(current, 0, desired_status=STOP, next_allocation="0-second"),
        *replaced_twice(current, 0),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Ignore 1")


def test_e06_a_broken_chain_of_replacements_leaves_the_surplus_to_the_names():
    current = job(5, disconnect=disconnect(reconcile="keep_replacement"))
    existing = [
        *back(current, 0, next_allocation="0-second"),
        *back(current, 1, next_allocation="1-second"),
        *allocs(current, 2, 3, 4),
        *replaced_twice(current, 0),
        *replaced_twice(current, 1),
    ]
    results = reconcile_cluster(situation(current, existing))
    assert results.desired_updates["web"] == counters("Stop 2, Reconnect 2, Ignore 5")
    assert {stop.reason for stop in results.stop} == {reasons.NOT_NEEDED}


def test_e09_failed_replacements_of_failed_returns_are_replaced():
    current = job(5, disconnect=disconnect())
    existing = [
        alloc(
            current,
            index,
            client_status=FAILED,
            alloc_states=was_unknown(),
            next_allocation=f"{index}-new",
        )
        for index in (0, 1)
    ]
    existing += allocs(current, 0, 1, tag="-new", client_status=FAILED)
    existing += allocs(current, 2, 3, 4)
    results = reconcile_cluster(situation(current, existing, eval_id=""))
    assert results.desired_updates["web"] == counters("Stop 4, Place 2, Ignore 3")


def test_e11_due_replacements_are_made_at_once():
    current = job(5, disconnect=disconnect())
    existing = [*allocs(current, 0, 1, node="disconnected"), *allocs(current, 2, 3, 4)]
    results = reconcile_cluster(situation(current, existing, eval_id=""))
    assert results.desired_updates["web"] == counters(
        "Place 2, Ignore 3, Disconnect 2, RescheduleNow 2"
    )
    assert {one.previous.client_status for one in results.place if one.previous} == {UNKNOWN}
    assert results.stop == ()
