"""Deployments without canaries: of rows D01 to D48 of the reconciler's scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.situation import Situation
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
    rolling,
    situation,
    stopped,
    update,
    updates_of,
)

MIGRATE = flags(migrate=True)
RESCHEDULE = flags(reschedule=True)
HELD = [DeploymentStatus.PAUSED, DeploymentStatus.FAILED]
DONE = {"desired_total": 10, "healthy_allocs": 10}


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
    ("scene", "expected", "total", "place", "replace", "stop"),
    [
        pytest.param(
            lambda: rolling(update(4)),
            "DestructiveUpdate 4, Ignore 6",
            10,
            [],
            [0, 1, 2, 3],
            [],
            id="D03-destructive",
        ),
        pytest.param(
            lambda: rolling(update(4), held=7),
            "Place 3, DestructiveUpdate 1, Ignore 6",
            10,
            [7, 8, 9],
            [0],
            [],
            id="D07-short-and-destructive",
        ),
        pytest.param(
            lambda: rolling(update(2, 2)),
            "Canary 2, Ignore 10",
            10,
            [0, 1],
            [],
            [],
            id="D08-canaries-first",
        ),
        pytest.param(
            lambda: rolling(update(2, 2), count=15),
            "Canary 2, Ignore 10",
            15,
            [0, 1],
            [],
            [],
            id="D09-canaries-and-grown",
        ),
        pytest.param(
            lambda: rolling(update(2, 2), count=5),
            "Canary 2, Stop 5, Ignore 5",
            5,
            [0, 1],
            [],
            [5, 6, 7, 8, 9],
            id="D10-canaries-and-shrunk",
        ),
        pytest.param(
            lambda: rolling(update(2, 7), count=3, held=3),
            "Canary 7, Place 3, Ignore 3",
            3,
            [0, 1, 2],
            [],
            [],
            id="D11-more-canaries-than-count",
        ),
    ],
)
def test_a_new_version_starts_a_deployment(scene, expected, total, place, replace, stop):
    results = reconcile_cluster(scene())
    assert results.desired_updates == {"web": counters(expected)}
    assert (placed(results), replaced(results), stopped(results)) == (place, replace, stop)
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == total
    assert results.deployment.status is DeploymentStatus.RUNNING


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


def test_a_version_that_runs_already_starts_one_while_there_is_something_to_replace():
    current = job(10, update=update(4))
    both = [*allocs(current, *range(5)), *allocs(older(current), *range(5, 10))]
    results = reconcile_cluster(situation(current, both, judge_update=old_destructive))
    assert results.deployment is not None
    assert results.deployment.task_groups["web"].desired_total == 5


def test_d06_an_unchanged_version_starts_none():
    current = job(10, update=update(4))
    results = reconcile_cluster(situation(current, allocs(current, *range(10))))
    assert results.desired_updates["web"] == counters("Ignore 10")
    assert results.deployment is None


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
    new = [
        alloc(
            current,
            index,
            deployment_id="dep",
            deployment_status=msgspec.structs.replace(canary(healthy=index != 2), canary=False),
        )
        for index in range(4)
    ]
    results = reconcile_cluster(
        situation(
            current,
            new + allocs(older(current), *range(4, 10)),
            judge_update=old_destructive,
            deployment=deployment(current, web=GroupRollout(desired_total=10)),
        )
    )
    assert results.desired_updates["web"] == counters("Ignore 10")


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
    ("status", "given_up", "state", "expected", "ends"),
    [
        pytest.param(DeploymentStatus.SUCCESSFUL, 0, DONE, "Ignore 10", [], id="D31-successful"),
        pytest.param(
            DeploymentStatus.RUNNING,
            0,
            DONE,
            "Ignore 10",
            [("successful", reasons.DEPLOYMENT_SUCCESSFUL)],
            id="D32-complete",
        ),
        pytest.param(
            DeploymentStatus.RUNNING,
            10,
            DONE,
            "Ignore 10",
            [("successful", reasons.DEPLOYMENT_SUCCESSFUL)],
            id="D32-beside-what-failed-and-was-stopped",
        ),
        pytest.param(
            DeploymentStatus.RUNNING,
            0,
            {"desired_total": 10, "healthy_allocs": 9},
            "Ignore 10",
            [],
            id="not-healthy-yet",
        ),
    ],
)
def test_an_idle_deployment_ends_when_enough_is_healthy(status, given_up, state, expected, ends):
    current = job(10, update=update(4))
    verdict = msgspec.structs.replace(canary(healthy=True), canary=False)
    of_deployment = {"deployment_id": "dep", "deployment_status": verdict}
    ended = {"client_status": FAILED, "desired_status": STOP, "deployment_id": "dep"}
    results = reconcile_cluster(
        situation(
            current,
            [
                *allocs(current, *range(10), **of_deployment),
                *allocs(current, *range(given_up), tag="-ended", **ended),
            ],
            deployment=deployment(current, status, web=GroupRollout(**state)),
        )
    )
    assert results.desired_updates["web"] == counters(expected)
    assert updates_of(results) == ends


def test_d48_a_group_without_health_yet_keeps_the_deployment_open():
    current = job(task_groups=(group(10, update=update(4)), group(10, "api")))
    existing = [
        alloc(current, index, tag=name, name=f"web.{name}[{index}]", task_group=name)
        for name in ("web", "api")
        for index in range(10)
    ]
    found = deployment(current, web=GroupRollout(desired_total=10))
    results = reconcile_cluster(situation(current, existing, deployment=found))
    assert results.desired_updates == {"web": counters("Ignore 10"), "api": counters("Ignore 10")}
    assert (updates_of(results), results.deployment) == ([], None)


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
    ("scene", "expected", "moved"),
    [
        pytest.param(
            lambda: failing(DeploymentStatus.FAILED, 0, 2, running=2),
            "Ignore 2",
            [],
            id="D33-failed",
        ),
        pytest.param(
            lambda: failing(DeploymentStatus.RUNNING, 5, 10),
            "Place 5, Stop 5, Ignore 5",
            [0, 1, 2, 3, 4],
            id="D34-running-half-flagged",
        ),
        pytest.param(
            lambda: failing(DeploymentStatus.SUCCESSFUL, 0, 10),
            "Place 10, Stop 10",
            list(range(10)),
            id="D35-successful",
        ),
    ],
)
def test_failed_allocs_of_a_deployment_are_replaced_only_if_it_allows(scene, expected, moved):
    results = reconcile_cluster(scene())
    assert results.desired_updates["web"] == counters(expected)
    assert (placed(results), stopped(results)) == (moved, moved)


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


def test_d44_a_held_rollout_replaces_what_is_lost_and_what_failed_each_once():
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
    assert placed(results) == [0, 1]


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
