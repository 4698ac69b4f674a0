"""A rehearsed rollout is told in the phases of a real one: canaries, promotion, batches."""

import pytest

from dashboard.queries.rehearsed_story import _phases
from tests.builders import SECOND
from tests.rehearsal.quiet_cluster import QuietCluster, job_document

UPDATE = {"MaxParallel": 2, "MinHealthyTime": 5 * SECOND, "HealthyDeadline": 60 * SECOND}


@pytest.fixture
def cluster():
    made = QuietCluster()
    made.run(job_document("web", count=5, Update=UPDATE))
    made.rest()
    return made


def phases(cluster, **update):
    changed = job_document("web", count=5, cpu=250, Update={**UPDATE, **update})
    return [
        (phase.title, phase.wanted, phase.healthy, phase.is_to_come)
        for phase in _phases(cluster.rehearse({"Job": changed}))
    ]


def test_batches_are_told_apart(cluster):
    assert phases(cluster) == [
        ("Batch 1 of 3", 2, 2, False),
        ("Batch 2 of 3", 2, 2, False),
        ("Batch 3 of 3", 1, 1, False),
    ]  # fmt: skip


def test_canaries_come_first_and_then_what_the_promotion_lets_go_on(cluster):
    told = phases(cluster, Canary=1, AutoPromote=True)
    assert told[:2] == [("Canary", 1, 1, False), ("Promoted", 0, 0, False)]
    assert [title for title, *_ in told[2:]] == ["Batch 1 of 2", "Batch 2 of 2"]


def test_what_is_no_rollout_has_no_phases(cluster):
    assert _phases(cluster.rehearse({"Stop": {"JobID": "web"}})) == []
