"""A rehearsal names the nodes that are chosen when the same is done: a hundred times."""

from collections import Counter

import numpy as np
import pytest

from tests.builders import SECOND
from tests.rehearsal.quiet_cluster import QuietCluster, job_document

#: Share of destinations that must be foretold, however many workers there are.
FORETOLD = 0.99
CLUSTERS = 25
CHANGES = 4


def a_job(chance, number):
    return job_document(
        f"job-{number}",
        count=int(chance.integers(1, 6)),
        cpu=int(chance.choice([100, 250, 400])),
        memory=int(chance.choice([32, 64, 128])),
        priority=int(chance.choice([30, 50, 50, 70])),
        Update={
            "MaxParallel": int(chance.integers(1, 3)),
            "MinHealthyTime": SECOND,
            "HealthyDeadline": 60 * SECOND,
            "ProgressDeadline": 300 * SECOND,
        },
        Migrate={
            "MaxParallel": int(chance.integers(1, 3)),
            "MinHealthyTime": SECOND,
            "HealthyDeadline": 60 * SECOND,
        },
    )


def a_change(chance, cluster, jobs):
    """A drain, an update, a scale or a loss; of one node at most each time."""
    number = int(chance.integers(len(jobs)))
    job = jobs[number]
    group = job["TaskGroups"][0]
    match int(chance.integers(4)):
        case 0 | 1:
            nodes = [node for node in cluster.store.nodes() if node.is_ready]
            node = nodes[int(chance.integers(len(nodes)))]
            return {"Drain": {"NodeIDs": [node.id], "Spec": {"Deadline": "1h"}}}
        case 2:
            group["Tasks"][0]["Resources"]["CPU"] += 50
            return {"Job": job}
        case _:
            group["Count"] = group["Count"] % 5 + 1
            return {"Scale": {"JobID": job["ID"], "Count": group["Count"]}}


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_rehearsed_is_what_is_done(workers):
    foretold = all_of_them = 0
    for seed in range(CLUSTERS):
        chance = np.random.default_rng(seed)
        cluster = QuietCluster(8, workers=workers, seed=seed)
        jobs = [a_job(chance, number) for number in range(6)]
        for job in jobs:
            cluster.run(job)
        cluster.rest()
        for _ in range(CHANGES):
            change = a_change(chance, cluster, jobs)
            before = cluster.live_ids()
            result = cluster.rehearse(change)
            rehearsed = Counter(
                ((each.job_id, each.task_group), each.to_node_name)
                for each in result.allocations
                if each.to_node_name
            )
            cluster.do(change)
            done = Counter(cluster.new_places(before))
            foretold += (rehearsed & done).total()
            all_of_them += max(rehearsed.total(), done.total())
    assert all_of_them > 100
    assert foretold >= FORETOLD * all_of_them
