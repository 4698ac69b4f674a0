"""A rehearsal names the nodes that are chosen when the same is done: a hundred times."""

from collections import Counter, deque
from contextlib import ExitStack

import numpy as np
import pytest

from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.writer import DjangoStateStore
from tests.builders import SECOND
from tests.conformance.chain_stores import DatabaseRecord
from tests.record_databases import copy_sqlite, database
from tests.rehearsal.quiet_cluster import QuietCluster, job_document

#: Share of destinations that must be foretold, however many workers there are.
FORETOLD = 0.99
CLUSTERS = 25
CHANGES = 4
#: Seconds between two acts of everybody where the health of some is unknown.
ROUND_S = 0.1
#: Snapshots of a database that are kept open: workers hold some for a while.
MOST_OPEN = 12


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


def compared(cluster, chance):
    """Of a few changes of a cluster: how many destinations were foretold, and of how many."""
    jobs = [a_job(chance, number) for number in range(6)]
    for job in jobs:
        cluster.run(job)
    cluster.rest()
    found = np.zeros(2)
    for _ in range(CHANGES):
        change = a_change(chance, cluster, jobs)
        before = cluster.live_ids()
        result = cluster.rehearse(change)
        cluster.do(change)
        found += same_places(result, cluster, before)
    return found


def same_places(result, cluster, before):
    """How many destinations were foretold, and of how many."""
    rehearsed = Counter(
        ((each.job_id, each.task_group), each.to_node_name)
        for each in result.allocations
        if each.to_node_name
    )
    done = Counter(cluster.new_places(before))
    return np.array([(rehearsed & done).total(), max(rehearsed.total(), done.total())])


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_rehearsed_is_what_is_done(workers):
    found = sum(
        compared(QuietCluster(8, workers=workers, seed=seed), np.random.default_rng(seed))
        for seed in range(CLUSTERS)
    )
    assert found[1] > 100
    assert found[0] >= FORETOLD * found[1], found


@pytest.mark.parametrize(
    "workers", [2, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 3, 4))]
)
def test_what_is_rehearsed_before_anybody_knows_who_is_healthy_is_what_is_done(workers):
    """Drains that begin, and are rehearsed, while what was started last is not judged yet.

    Everybody acts ten times a second: who acts as seldom as the drainer and rollouts gather what
    they do cannot tell apart what comes within one of their seconds and what comes after it.
    """
    found = np.zeros(2)
    for seed in range(CLUSTERS):
        chance = np.random.default_rng(seed)
        cluster = QuietCluster(8, workers=workers, seed=seed, round_s=ROUND_S)
        for number in range(6):
            job = a_job(chance, number)
            job["TaskGroups"][0]["Migrate"]["MinHealthyTime"] = 8 * SECOND
            job["TaskGroups"][0]["Update"]["MinHealthyTime"] = 8 * SECOND
            cluster.run(job)
        for _ in range(round(int(chance.integers(4, 8)) / ROUND_S)):
            cluster.cluster.round(ROUND_S)
        unjudged = tuple(
            alloc
            for alloc in cluster.store.allocations()
            if not alloc.is_terminal
            and (alloc.deployment_status is None or alloc.deployment_status.healthy is None)
        )
        assert unjudged
        node = str(chance.choice([alloc.node_id for alloc in unjudged]))
        change = {"Drain": {"NodeIDs": [node], "Spec": {"Deadline": "1h"}}}
        before = cluster.live_ids()
        result = cluster.rehearse(change, under_way=unjudged)
        cluster.do(change)
        found += same_places(result, cluster, before)
    assert found[1] > CLUSTERS
    assert found[0] >= FORETOLD * found[1], found


class DatabaseOfCluster(DatabaseRecord):
    """A record in a database, each of whose snapshots is a read of its own, as of one process."""

    def __init__(self, store):
        super().__init__(store)
        self._open = deque()

    def snapshot(self):
        cache, batch = SnapshotCache(self._store.alias), ExitStack()
        batch.enter_context(cache.batch())
        self._open.append((cache, batch))
        if len(self._open) > MOST_OPEN:
            self._end(*self._open.popleft())
        return cache.snapshot_at(0)

    def close(self):
        for each in self._open:
            self._end(*each)
        super().close()

    def _end(self, cache, batch):
        batch.close()
        cache.close()


@pytest.mark.parametrize(
    "clusters", [range(3), pytest.param(range(3, CLUSTERS + 3), marks=pytest.mark.long)], ids=len
)
def test_what_is_rehearsed_on_a_database_is_what_is_done_there(
    clusters, sqlite_template, tmp_path, django_db_blocker
):
    found = np.zeros(2)
    for seed in clusters:
        settings = copy_sqlite(sqlite_template, tmp_path / f"{seed}.sqlite3")
        with django_db_blocker.unblock(), database(settings) as alias:
            record = DatabaseOfCluster(DjangoStateStore(alias))
            try:
                cluster = QuietCluster(8, workers=2, seed=seed, store=record)
                found += compared(cluster, np.random.default_rng(seed))
            finally:
                record.close()
    assert found[1] > 5 * len(clusters)
    assert found[0] >= FORETOLD * found[1], found
