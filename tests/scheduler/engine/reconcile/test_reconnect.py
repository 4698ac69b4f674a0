"""Which allocation survives a return: rows F17 to F22 of the reconciler's scenarios."""

import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.reconnect import keeps_replacement
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import TaskState
from scheduler.structs.policies import MINUTE, ReconcileChoice
from tests.scheduler.engine.reconcile.scene import (
    NOW,
    PENDING,
    RUNNING,
    alloc,
    disconnect,
    job,
    situation,
    was_unknown,
)


def scored(score: float | None) -> AllocMetric:
    rows = () if score is None else (NodeScore(node_id="n", norm_score=score),)
    return AllocMetric(score_meta_data=rows)


def started(*, ago: int = 0, restarted: int = 0) -> dict[str, TaskState]:
    if not ago:
        return {}
    return {
        "web": TaskState(
            state="running",
            started_at=NOW - ago * MINUTE,
            restarts=1 if restarted else 0,
            last_restart=NOW - restarted * MINUTE if restarted else 0,
        )
    }


def survivor(choice: str, original: dict, replacement: dict) -> str:
    """`original` or `replacement`, whichever is picked."""
    current = job(1)
    first = alloc(current, 0, **original)
    second = alloc(current, 0, tag="-new", **replacement)
    is_second = keeps_replacement(choice, first, second, current.task_groups[0])
    return "replacement" if is_second else "original"


@pytest.mark.parametrize(
    ("choice", "original", "replacement", "kept"),
    [
        pytest.param("keep_original", {}, {"metrics": scored(9)}, "original", id="keep-original"),
        pytest.param("keep_replacement", {}, {}, "replacement", id="keep-replacement"),
        pytest.param(
            "", {"metrics": scored(10)}, {"metrics": scored(20)}, "replacement", id="F17-better"
        ),
        pytest.param(
            "best_score",
            {"metrics": scored(10)},
            {"metrics": scored(20), "client_status": PENDING},
            "original",
            id="F17-better-but-pending",
        ),
        pytest.param(
            "best_score",
            {"metrics": scored(10), "client_status": PENDING},
            {"metrics": scored(20)},
            "replacement",
            id="F17-better-and-only-it-runs",
        ),
        pytest.param(
            "best_score",
            {"metrics": scored(10), "client_status": PENDING},
            {"metrics": scored(20), "client_status": PENDING},
            "replacement",
            id="better-and-neither-runs",
        ),
        pytest.param(
            "best_score",
            {"metrics": scored(10), "client_status": PENDING},
            {"metrics": scored(5)},
            "original",
            id="F18-worse",
        ),
        pytest.param("best_score", {}, {"metrics": scored(1)}, "replacement", id="only-one-score"),
        pytest.param("best_score", {}, {}, "original", id="no-scores"),
        pytest.param(
            "longest_running",
            {"task_states": started(ago=60)},
            {"task_states": started(ago=30, restarted=10)},
            "original",
            id="F19-original-is-older",
        ),
        pytest.param(
            "longest_running",
            {"task_states": started(ago=60, restarted=5)},
            {"task_states": started(ago=10)},
            "replacement",
            id="F20-original-was-restarted",
        ),
        pytest.param(
            "longest_running",
            {},
            {"task_states": started(ago=10)},
            "replacement",
            id="F21-original-never-started",
        ),
        pytest.param(
            "longest_running",
            {"task_states": started(ago=10)},
            {},
            "original",
            id="F21-replacement-never-started",
        ),
        pytest.param(
            "longest_running",
            {"metrics": scored(1)},
            {"metrics": scored(2), "client_status": RUNNING},
            "replacement",
            id="F21-neither-started",
        ),
    ],
)
def test_one_of_two_allocs_survives(choice, original, replacement, kept):
    assert survivor(choice, original, replacement) == kept


@pytest.mark.parametrize("choice", ReconcileChoice)
@pytest.mark.parametrize(
    "newer",
    [
        pytest.param({"job_version": 2}, id="F22-newer-version"),
        pytest.param({"job_create_index": 99}, id="F22-created-anew"),
    ],
)
def test_a_replacement_of_a_newer_job_survives_by_any_strategy(choice, newer):
    older_runs_best = {"metrics": scored(9), "task_states": started(ago=60)}
    worse = {"client_status": PENDING, "metrics": scored(1), **newer}
    assert survivor(choice, older_runs_best, worse) == "replacement"


@pytest.mark.parametrize(
    ("choice", "stops"),
    [
        pytest.param("keep_original", {"0-new": reasons.RECONNECTED}, id="the-original-stays"),
        pytest.param("keep_replacement", {"0": reasons.NOT_NEEDED}, id="the-replacement-stays"),
    ],
)
def test_the_group_as_it_is_now_names_the_strategy_and_the_loser_is_stopped(choice, stops):
    current = job(1, disconnect=disconnect(reconcile=choice))
    first = alloc(current, 0, alloc_states=was_unknown(), next_allocation="0-new")
    second = alloc(current, 0, tag="-new", previous_allocation="0")
    results = reconcile_cluster(situation(current, [first, second]))
    assert {stop.alloc.id: stop.reason for stop in results.stop} == stops
