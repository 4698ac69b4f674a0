"""Deployments and canaries: rows D01 to D49 of the reconciler's scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.results import ReconcileResults
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import DeploymentStatus, GroupRollout
from tests.scheduler.engine.reconcile.scene import (
    FAILED,
    STOP,
    alloc,
    allocs,
    canary,
    counters,
    deployment,
    destructive,
    flags,
    group,
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
RESCHEDULE = flags(reschedule=True)
HELD = [DeploymentStatus.PAUSED, DeploymentStatus.FAILED]


def updates_of(results: ReconcileResults) -> list[tuple[str, str]]:
    return [(one.status.value, one.status_description) for one in results.deployment_updates]


def rolling(
    strategy, *, count: int = 10, held: int = 10, state: GroupRollout | None = None, **fields
) -> Situation:
    """Old allocations under a new version with an update block; with a `state`, under way."""
    current = job(count, update=strategy)
    extra = fields.pop("extra", lambda _: [])(current)
    if state is not None:
        status = fields.pop("status", DeploymentStatus.RUNNING)
        fields["deployment"] = deployment(current, status, web=state)
    existing = [*allocs(older(current), *range(held)), *extra]
    return situation(current, existing, judge_update=old_destructive, **fields)


@pytest.mark.parametrize("is_purged", [False, True])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            DeploymentStatus.RUNNING,
            [("cancelled", reasons.DEPLOYMENT_STOPPED_JOB)],
            id="D01-running",
        ),
        pytest.param(DeploymentStatus.FAILED, [], id="D01-failed"),
    ],
)
def test_d01_a_stopped_job_cancels_its_active_deployment(is_purged, status, expected):
    former = job(10)
    current = None if is_purged else msgspec.structs.replace(former, stop=True)
    results = reconcile_cluster(
        situation(
            current,
            allocs(former, *range(10)),
            deployment=deployment(former, status),
            known_as=former,
        )
    )
    assert updates_of(results) == expected
    assert results.desired_updates["web"] == counters("Stop 10")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            DeploymentStatus.RUNNING,
            [("cancelled", reasons.DEPLOYMENT_NEWER_JOB)],
            id="D02-running",
        ),
        pytest.param(DeploymentStatus.FAILED, [], id="D02-failed"),
    ],
)
def test_d02_a_newer_version_cancels_the_active_deployment(status, expected):
    former = job(10)
    current = job(10, version=11)
    results = reconcile_cluster(
        situation(current, allocs(former, *range(10)), deployment=deployment(former, status))
    )
    assert updates_of(results) == expected
    assert results.desired_updates["web"] == counters("Ignore 10")


@pytest.mark.parametrize(
    ("scene", "expected", "total"),
    [
        pytest.param(
            lambda: rolling(update(4)), "DestructiveUpdate 4, Ignore 6", 10, id="D03-destructive"
        ),
        pytest.param(
            lambda: rolling(update(4), held=7),
            "Place 3, DestructiveUpdate 1, Ignore 6",
            10,
            id="D07-short-and-destructive",
        ),
        pytest.param(
            lambda: rolling(update(2, 2)), "Canary 2, Ignore 10", 10, id="D08-canaries-first"
        ),
        pytest.param(
            lambda: rolling(update(2, 2), count=15),
            "Canary 2, Ignore 10",
            15,
            id="D09-canaries-and-grown",
        ),
        pytest.param(
            lambda: rolling(update(2, 2), count=5),
            "Canary 2, Stop 5, Ignore 5",
            5,
            id="D10-canaries-and-shrunk",
        ),
        pytest.param(
            lambda: rolling(update(2, 7), count=3, held=3),
            "Canary 7, Place 3, Ignore 3",
            3,
            id="D11-more-canaries-than-count",
        ),
    ],
)
def test_a_new_version_starts_a_deployment(scene, expected, total):
    results = reconcile_cluster(scene())
    assert results.desired_updates == {"web": counters(expected)}
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == total
    assert results.deployment.status is DeploymentStatus.RUNNING


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


def test_d04_updates_in_place_are_not_limited():
    current = job(10, update=update(4))
    results = reconcile_cluster(
        situation(current, allocs(older(current), *range(10)), judge_update=in_place)
    )
    assert results.desired_updates["web"] == counters("InPlaceUpdate 10")
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == 10


def test_d05_a_job_created_anew_starts_a_deployment():
    former = job(10, update=update(4))
    current = msgspec.structs.replace(former, create_index=50)
    results = reconcile_cluster(situation(current, allocs(former, *range(5))))
    assert results.desired_updates["web"] == counters("Place 5, Ignore 5")
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == 5


def test_d06_an_unchanged_version_starts_none():
    current = job(10, update=update(4))
    results = reconcile_cluster(situation(current, allocs(current, *range(10))))
    assert results.desired_updates["web"] == counters("Ignore 10")
    assert results.deployment is None


def canaries(of, *indexes: int, tag: str = "-canary", **fields) -> list[Allocation]:
    return [
        alloc(
            of,
            index,
            tag=tag,
            deployment_id="dep",
            **{"deployment_status": canary(healthy=True), **fields},
        )
        for index in indexes
    ]


def canary_state(*ids: str, desired: int = 2, **fields: object) -> GroupRollout:
    return GroupRollout(placed_canaries=ids, desired_canaries=desired, **fields)


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
    assert updates_of(results) == [("successful", reasons.DEPLOYMENT_SUCCESSFUL)]


@pytest.mark.parametrize("healthy", range(5))
def test_d17_healthy_allocs_let_the_next_ones_be_replaced(healthy):
    current = job(10, update=update(4))
    verdicts = [True] * healthy + [None] * (4 - healthy)
    new = [
        alloc(
            current,
            index,
            deployment_id="dep",
            deployment_status=msgspec.structs.replace(canary(healthy=verdict), canary=False),
        )
        for index, verdict in enumerate(verdicts)
    ]
    results = reconcile_cluster(
        situation(
            current,
            new + allocs(older(current), *range(4, 10)),
            judge_update=old_destructive,
            deployment=deployment(current, web=GroupRollout(desired_total=10)),
        )
    )
    expected = f"DestructiveUpdate {healthy}, Ignore {10 - healthy}"
    assert results.desired_updates["web"] == counters(expected)
    assert replaced(results) == list(range(4, 4 + healthy))


def test_d18_one_unhealthy_alloc_stops_the_rollout():
    current = job(10, update=update(4))
    verdict = msgspec.structs.replace(canary(healthy=False), canary=False)
    new = [alloc(current, 0, deployment_id="dep", deployment_status=verdict)]
    results = reconcile_cluster(
        situation(
            current,
            new + allocs(older(current), *range(1, 10)),
            judge_update=old_destructive,
            deployment=deployment(current, web=GroupRollout(desired_total=10)),
        )
    )
    assert results.desired_updates["web"] == counters("Ignore 10")


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


@pytest.mark.parametrize("status", HELD)
def test_d22_a_held_deployment_does_not_grow(status):
    current = job(15, update=update(4))
    results = reconcile_cluster(
        situation(current, allocs(current, *range(10)), deployment=deployment(current, status))
    )
    assert results.desired_updates["web"] == counters("Ignore 10")
    assert results.place == ()


@pytest.mark.parametrize("status", HELD)
def test_d23_a_held_deployment_replaces_nothing(status):
    results = reconcile_cluster(
        rolling(
            update(4),
            held=9,
            state=GroupRollout(desired_total=10),
            status=status,
            extra=lambda current: allocs(current, 9),
        )
    )
    assert results.desired_updates["web"] == counters("Ignore 10")


@pytest.mark.parametrize(
    ("nodes", "expected", "stops"),
    [
        pytest.param(
            {"node": "draining", "desired_transition": MIGRATE},
            "Canary 2, Ignore 10",
            2,
            id="D24-draining",
        ),
        pytest.param({"node": "down"}, "Canary 2, Ignore 10", 2, id="D25-down"),
    ],
)
def test_canaries_lost_with_their_node_are_placed_anew_without_counting(nodes, expected, stops):
    results = reconcile_cluster(
        rolling(
            update(2, 2),
            state=canary_state("0-canary", "1-canary"),
            extra=lambda current: canaries(current, 0, 1, **nodes),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert len(results.stop) == stops
    assert placed(results) == [0, 1]


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
    assert results.deployment is not None


def test_d28_a_failed_deployment_of_an_older_version_does_not_hold_the_new_one():
    former = job(10, update=update(4))
    current = msgspec.structs.replace(former, version=2)
    results = reconcile_cluster(
        situation(
            current,
            allocs(former, *range(10)),
            judge_update=destructive,
            deployment=deployment(former, DeploymentStatus.FAILED),
        )
    )
    assert results.desired_updates["web"] == counters("DestructiveUpdate 4, Ignore 6")
    assert results.deployment is not None
    assert results.deployment_updates == ()


@pytest.mark.parametrize(
    ("status", "count", "held", "state", "expected", "ends"),
    [
        pytest.param(
            DeploymentStatus.SUCCESSFUL, 10, 10, {}, "Ignore 10", [], id="D31-successful"
        ),
        pytest.param(
            DeploymentStatus.RUNNING,
            10,
            10,
            {"desired_total": 10, "healthy_allocs": 10},
            "Ignore 10",
            [("successful", reasons.DEPLOYMENT_SUCCESSFUL)],
            id="D32-complete",
        ),
        pytest.param(
            DeploymentStatus.RUNNING,
            10,
            10,
            {"desired_total": 10, "healthy_allocs": 9},
            "Ignore 10",
            [],
            id="D48-not-healthy-yet",
        ),
    ],
)
def test_an_idle_deployment_ends_when_enough_is_healthy(
    status, count, held, state, expected, ends
):
    current = job(count, update=update(4))
    results = reconcile_cluster(
        situation(
            current,
            allocs(current, *range(held)),
            deployment=deployment(current, status, web=GroupRollout(**state)),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert updates_of(results) == ends


def failing(status: DeploymentStatus, flagged: int, failed: int, running: int = 0) -> Situation:
    current = job(10, update=update(4))
    existing = [
        alloc(
            current,
            index,
            client_status=FAILED,
            deployment_id="dep",
            **({"desired_transition": RESCHEDULE} if index < flagged else {}),
        )
        for index in range(failed)
    ]
    existing += allocs(current, *range(failed, failed + running), deployment_id="dep")
    return situation(
        current,
        existing,
        deployment=deployment(current, status, web=GroupRollout(desired_total=10)),
    )


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        pytest.param(
            lambda: failing(DeploymentStatus.FAILED, 0, 2, running=2), "Ignore 2", id="D33-failed"
        ),
        pytest.param(
            lambda: failing(DeploymentStatus.RUNNING, 5, 10),
            "Place 5, Stop 5, Ignore 5",
            id="D34-running-half-flagged",
        ),
        pytest.param(
            lambda: failing(DeploymentStatus.SUCCESSFUL, 0, 10),
            "Place 10, Stop 10",
            id="D35-successful",
        ),
    ],
)
def test_failed_allocs_of_a_deployment_are_replaced_only_if_it_allows(scene, expected):
    results = reconcile_cluster(scene())
    assert results.desired_updates["web"] == counters(expected)


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


def test_d43_a_paused_deployment_still_replaces_what_is_lost():
    current = job(2, update=update(4))
    results = reconcile_cluster(
        situation(
            current,
            [alloc(current, 0, "down"), alloc(current, 1)],
            deployment=deployment(current, DeploymentStatus.PAUSED),
        )
    )
    assert results.desired_updates["web"] == counters("Place 1, Stop 1, Ignore 1")


def test_d44_a_held_rollout_may_place_a_rescheduled_alloc_twice():
    current = job(4, update=update(4))
    results = reconcile_cluster(
        situation(
            current,
            [
                alloc(current, 0, "down"),
                alloc(current, 1, client_status=FAILED),
                *allocs(current, 2, 3),
            ],
            deployment=deployment(current, DeploymentStatus.PAUSED),
        )
    )
    assert results.desired_updates["web"] == counters("Place 2, Stop 2, Ignore 2")
    assert placed(results) == [1, 1]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(DeploymentStatus.RUNNING, ["blocked"], id="running"),
        pytest.param(DeploymentStatus.UNBLOCKING, [], id="unblocking"),
        pytest.param(DeploymentStatus.INITIALIZING, ["blocked", "pending"], id="initializing"),
    ],
)
def test_d45_a_deployment_over_several_regions_waits_for_the_others(status, expected):
    current = job(1, update=update(4), multiregion={})
    found = msgspec.structs.replace(
        deployment(current, status, web=GroupRollout(desired_total=1, healthy_allocs=1)),
        is_multiregion=True,
    )
    results = reconcile_cluster(situation(current, allocs(current, 0), deployment=found))
    assert [one.status.value for one in results.deployment_updates] == expected
    assert (results.deployment is not None) == (status is DeploymentStatus.INITIALIZING)


def test_d47_a_group_of_none_does_not_hold_a_deployment_up():
    current = job(task_groups=(group(1, update=update(4)), group(0, "api", update=update(4))))
    results = reconcile_cluster(
        situation(
            current,
            allocs(current, 0),
            deployment=deployment(current, web=GroupRollout(desired_total=1, healthy_allocs=1)),
        )
    )
    assert updates_of(results) == [("successful", reasons.DEPLOYMENT_SUCCESSFUL)]


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


def test_a_stopped_alloc_of_the_deployment_does_not_keep_it_from_ending():
    current = job(1, update=update(4))
    existing = [alloc(current, 0), alloc(current, 0, tag="-old", desired_status=STOP)]
    results = reconcile_cluster(
        situation(
            current,
            existing,
            deployment=deployment(current, web=GroupRollout(desired_total=1, healthy_allocs=1)),
        )
    )
    assert updates_of(results) == [("successful", reasons.DEPLOYMENT_SUCCESSFUL)]
