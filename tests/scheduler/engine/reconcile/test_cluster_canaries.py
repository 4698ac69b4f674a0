"""Canaries, from their placement to their promotion: of rows D08 to D49 of the scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.structs.deployment import DeploymentStatus
from tests.scheduler.engine.reconcile.scene import (
    FAILED,
    alloc,
    allocs,
    canaries,
    canary,
    canary_state,
    counters,
    deployment,
    destructive,
    flags,
    group,
    job,
    old_destructive,
    older,
    placed,
    replaced,
    rolling,
    situation,
    stopped,
    update,
    updates_of,
)

MIGRATE = flags(migrate=True)
RESCHEDULE = flags(reschedule=True)
HELD = [DeploymentStatus.PAUSED, DeploymentStatus.FAILED]


@pytest.mark.parametrize(
    ("auto_promote", "text"),
    [
        pytest.param(False, reasons.DEPLOYMENT_NEEDS_PROMOTION, id="by-hand"),
        pytest.param(True, reasons.DEPLOYMENT_AUTO_PROMOTION, id="by-itself"),
    ],
)
def test_d08_a_deployment_says_who_must_promote_its_canaries(auto_promote, text):
    results = reconcile_cluster(rolling(update(2, 2, auto_promote=auto_promote)))
    assert results.deployment is not None
    assert results.deployment.status_description == text
    assert results.deployment.task_groups["web"].desired_canaries == 2
    assert placed(results) == [0, 1]


def test_d12_missing_canaries_take_the_names_that_are_left():
    results = reconcile_cluster(
        rolling(
            update(2, 4),
            state=canary_state("0-canary", "3-canary", desired=4),
            extra=lambda current: canaries(current, 0, 3),
        )
    )
    assert results.desired_updates["web"] == counters("Canary 2, Ignore 12")
    assert placed(results) == [1, 2]


def test_d13_groups_share_one_deployment():
    groups = (group(10, update=update(2, 2)), group(10, "api", update=update(2, 2)))
    current = job(task_groups=groups)
    existing = [
        alloc(older(current), index, tag=name, name=f"web.{name}[{index}]", task_group=name)
        for name in ("web", "api")
        for index in range(10)
    ]
    results = reconcile_cluster(situation(current, existing, judge_update=destructive))
    assert results.desired_updates == {
        "web": counters("Canary 2, Ignore 10"),
        "api": counters("Canary 2, Ignore 10"),
    }
    assert results.deployment is not None
    assert set(results.deployment.task_groups) == {"web", "api"}


def test_d15_old_namesakes_of_promoted_canaries_go_first():
    results = reconcile_cluster(
        rolling(
            update(2, 2),
            state=canary_state("0-canary", "1-canary", promoted=True, desired_total=10),
            extra=lambda current: canaries(current, 0, 1),
        )
    )
    assert results.desired_updates["web"] == counters("Stop 2, DestructiveUpdate 2, Ignore 8")
    assert stopped(results) == [0, 1]
    assert {stop.alloc.id for stop in results.stop} == {"0", "1"}
    assert replaced(results) == [2, 3]


def test_d16_a_deployment_is_successful_when_the_last_old_allocs_go():
    results = reconcile_cluster(
        rolling(
            update(2, 2),
            count=2,
            held=2,
            state=canary_state(
                "0-canary", "1-canary", promoted=True, desired_total=2, healthy_allocs=2
            ),
            extra=lambda current: canaries(current, 0, 1),
        )
    )
    assert results.desired_updates["web"] == counters("Stop 2, Ignore 2")
    assert {stop.alloc.id for stop in results.stop} == {"0", "1"}
    assert updates_of(results) == [("successful", reasons.DEPLOYMENT_SUCCESSFUL)]


@pytest.mark.parametrize(
    ("status", "expected", "stops"),
    [
        pytest.param(DeploymentStatus.PAUSED, "Ignore 11", [], id="D20-paused"),
        pytest.param(DeploymentStatus.FAILED, "Stop 1, Ignore 10", ["0-canary"], id="D21-failed"),
    ],
)
def test_a_held_deployment_places_no_more_canaries(status, expected, stops):
    results = reconcile_cluster(
        rolling(
            update(2, 2),
            state=canary_state("0-canary"),
            status=status,
            extra=lambda current: canaries(current, 0),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert [stop.alloc.id for stop in results.stop] == stops
    assert results.place == ()


@pytest.mark.parametrize(
    ("held", "nodes", "expected", "gone"),
    [
        pytest.param(
            (),
            {"node": "draining", "desired_transition": MIGRATE},
            "Canary 2, Ignore 10",
            [0, 1],
            id="D24-draining",
        ),
        pytest.param((0,), {"node": "down"}, "Canary 1, Ignore 11", [1], id="D25-one-down"),
        pytest.param((), {"node": "down"}, "Canary 2, Ignore 10", [0, 1], id="both-down"),
    ],
)
def test_canaries_lost_with_their_node_are_placed_anew_without_counting(
    held, nodes, expected, gone
):
    results = reconcile_cluster(
        rolling(
            update(2, 2),
            state=canary_state("0-canary", "1-canary"),
            extra=lambda current: [
                *canaries(current, *held),
                *canaries(current, *gone, **nodes),
            ],
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert {stop.alloc.id for stop in results.stop} == {f"{index}-canary" for index in gone}
    assert placed(results) == gone
    assert all(one.is_canary and one.previous is None for one in results.place)


def test_d26_canaries_of_an_older_version_give_way():
    former = job(10, update=update(2, 2))
    current = msgspec.structs.replace(former, version=2)
    results = reconcile_cluster(
        situation(
            current,
            [*allocs(former, *range(10)), *canaries(former, 0, 1)],
            judge_update=destructive,
            deployment=deployment(former, web=canary_state("0-canary", "1-canary")),
        )
    )
    assert updates_of(results) == [("cancelled", reasons.DEPLOYMENT_NEWER_JOB)]
    assert results.desired_updates["web"] == counters("Stop 2, Canary 2, Ignore 10")
    assert {stop.alloc.id for stop in results.stop} == {"0-canary", "1-canary"}
    assert results.deployment is not None


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        pytest.param({}, "Ignore 4", id="D37-unflagged"),
        pytest.param(
            {"desired_transition": RESCHEDULE}, "Place 1, Stop 1, Ignore 3", id="D38-flagged"
        ),
    ],
)
def test_a_failed_canary_is_replaced_once_it_is_flagged(wish, expected):
    results = reconcile_cluster(
        rolling(
            update(1, 1),
            count=3,
            held=3,
            state=canary_state("0-canary", desired=1),
            extra=lambda current: canaries(
                current, 0, client_status=FAILED, deployment_status=canary(), **wish
            ),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert [(one.is_canary, one.is_reschedule) for one in results.place] == (
        [(True, True)] if wish else []
    )


def test_d42_a_lost_old_alloc_is_replaced_from_its_version_while_canaries_wait():
    results = reconcile_cluster(
        rolling(
            update(1, 1),
            count=3,
            held=0,
            state=canary_state("0-canary", desired=1),
            extra=lambda current: [
                alloc(older(current), 0, "down"),
                alloc(older(current), 1),
                *canaries(current, 0),
            ],
        )
    )
    assert results.desired_updates["web"] == counters("Place 1, Stop 1, Ignore 2")
    (placement,) = results.place
    assert (placement.is_lost, placement.downgrade_non_canary, placement.min_job_version) == (
        True,
        True,
        0,
    )


def test_d49_placements_are_cut_to_the_count_though_the_stops_stay():
    current = job(3, update=update(2, 2))
    existing = [
        *allocs(older(current), 0, 1, node="draining", desired_transition=MIGRATE),
        alloc(older(current), 2),
    ]
    results = reconcile_cluster(situation(current, existing, judge_update=old_destructive))
    assert results.desired_updates["web"] == counters("Canary 2, Migrate 2, Place 3, Ignore 1")
    assert len(results.stop) == 2
    assert len(results.place) == 3


def test_d14_a_group_with_canaries_waits_while_another_rolls_on():
    groups = (group(2, update=update(1)), group(2, "api", update=update(1, 1)))
    current = job(task_groups=groups)
    existing = [
        alloc(older(current), index, tag=name, name=f"web.{name}[{index}]", task_group=name)
        for name in ("web", "api")
        for index in range(2)
    ]
    results = reconcile_cluster(situation(current, existing, judge_update=destructive))
    assert results.desired_updates == {
        "web": counters("DestructiveUpdate 1, Ignore 1"),
        "api": counters("Canary 1, Ignore 2"),
    }
    assert results.deployment is not None
    assert set(results.deployment.task_groups) == {"web", "api"}


def test_d27_a_failed_deployment_takes_back_only_unpromoted_canaries():
    groups = (group(10, update=update(2, 2)), group(10, "api", update=update(2, 2)))
    current = job(task_groups=groups)
    existing = []
    for name in ("web", "api"):
        existing += [
            alloc(older(current), index, tag=name, name=f"web.{name}[{index}]", task_group=name)
            for index in range(2, 10)
        ]
        existing += [
            alloc(
                current,
                index,
                tag=f"-{name}-canary",
                name=f"web.{name}[{index}]",
                task_group=name,
                deployment_id="dep",
                deployment_status=canary(healthy=True),
            )
            for index in range(2)
        ]
    found = deployment(
        current,
        DeploymentStatus.FAILED,
        web=canary_state("0-web-canary", "1-web-canary", promoted=True),
        api=canary_state("0-api-canary", "1-api-canary"),
    )
    results = reconcile_cluster(
        situation(current, existing, judge_update=old_destructive, deployment=found)
    )
    assert results.desired_updates["web"] == counters("Ignore 10")
    assert results.desired_updates["api"] == counters("Stop 2, Ignore 8")
    assert {stop.alloc.id for stop in results.stop} == {"0-api-canary", "1-api-canary"}


@pytest.mark.parametrize(
    ("status", "others", "expected", "moved", "replace"),
    [
        pytest.param(
            DeploymentStatus.RUNNING,
            2,
            "Place 1, Stop 1, Migrate 2, DestructiveUpdate 2, Ignore 5",
            [0, 1, 2],
            [8, 9],
            id="D29-running",
        ),
        pytest.param(
            DeploymentStatus.FAILED,
            1,
            "Place 1, Stop 1, Migrate 1, Ignore 8",
            [0, 1],
            [],
            id="D30-failed",
        ),
    ],
)
def test_lost_and_draining_allocs_move_whatever_the_rollout_does(
    status, others, expected, moved, replace
):
    current = job(10, update=update(4))
    new_count = 8 if others == 2 else 4
    healthy = msgspec.structs.replace(canary(healthy=True), canary=False)
    of_deployment = {"deployment_id": "dep", "deployment_status": healthy}
    existing = [
        alloc(current, 0, "down", **of_deployment),
        *allocs(
            current,
            *range(1, 1 + others),
            node="draining",
            desired_transition=MIGRATE,
            **of_deployment,
        ),
        *allocs(current, *range(1 + others, new_count), **of_deployment),
        *allocs(older(current), *range(new_count, 10)),
    ]
    results = reconcile_cluster(
        situation(
            current,
            existing,
            judge_update=old_destructive,
            deployment=deployment(current, status, web=canary_state(desired=0)),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert (stopped(results), placed(results), replaced(results)) == (moved, moved, replace)
