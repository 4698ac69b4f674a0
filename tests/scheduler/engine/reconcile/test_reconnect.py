"""Which allocation survives a return: rows F17 to F22 of the reconciler's scenarios."""

import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import TaskState
from scheduler.structs.policies import MINUTE
from tests.scheduler.engine.reconcile.scene import (
    NOW,
    PENDING,
    RUNNING,
    UNKNOWN,
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
    """`original` or `replacement`, whichever reconciliation keeps."""
    current = job(1, disconnect=disconnect(reconcile=choice))
    first = alloc(current, 0, alloc_states=was_unknown(), next_allocation="0-new", **original)
    second = alloc(current, 0, tag="-new", previous_allocation="0", **replacement)
    results = reconcile_cluster(situation(current, [first, second]))
    stopped = {stop.alloc.id: stop.reason for stop in results.stop}
    if stopped == {"0-new": reasons.RECONNECTED}:
        return "original"
    assert stopped == {"0": reasons.NOT_NEEDED}
    return "replacement"


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
            {"metrics": scored(10), "client_status": UNKNOWN},
            {"metrics": scored(20), "client_status": PENDING},
            "replacement",
            id="F17-neither-runs",
        ),
        pytest.param(
            "best_score",
            {"metrics": scored(10), "client_status": UNKNOWN},
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
        pytest.param(
            "keep_original", {}, {"job_version": 2}, "replacement", id="F22-newer-version"
        ),
        pytest.param(
            "keep_original",
            {},
            {"job_create_index": 99},
            "replacement",
            id="F22-created-anew",
        ),
    ],
)
def test_one_of_two_allocs_survives(choice, original, replacement, kept):
    assert survivor(choice, original, replacement) == kept
