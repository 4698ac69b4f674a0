"""The control plane through bad days, by seed; a seed that failed once stays in seeds.txt."""

from pathlib import Path

import pytest

from scheduler.structs.job import Job
from tests.builders import make_job, make_node, make_task_group
from tests.simulation.checkers import (
    check_liveness,
    check_lives,
    check_nodes_blameless,
    check_safety,
    event_log,
    is_settled,
)
from tests.simulation.faults import Cluster, Faults

pytestmark = pytest.mark.simulation

SEEDS = [int(line) for line in (Path(__file__).parent / "seeds.txt").read_text().split()]
BAD_DAYS = {
    "perfect": Faults(),
    "lost-messages": Faults(lose_message=0.1),
    "crashing-workers": Faults(crash_worker=0.1, stale_snapshot=0.5),
    "crashing-applier": Faults(crash_applier=0.2, stale_snapshot=0.5),
    "crashing-leader": Faults(crash_leader=0.05),
    "vanishing-nodes": Faults(lose_node=0.02, stale_snapshot=0.5),
    "silences": Faults(silence=0.1),
    "everything": Faults(0.05, 0.05, 0.02, 0.05, 0.01, 0.5),
}


def service(number: int, count: int) -> Job:
    return make_job(id=f"job-{number}", task_groups=(make_task_group(count=count),))


def live_through(seed: int, faults: Faults) -> Cluster:
    """Forty steps with jobs coming and changing, then quiet until everything has settled."""
    cluster = Cluster(seed, faults)
    world = cluster.world
    world.put_nodes(*(make_node(number) for number in range(1, 9)))
    for step in range(40):
        if step % 4 == 0:
            world.put_job(service(step // 4 % 6, int(world.chance.integers(1, 7))))
        cluster.step(float(world.chance.choice([0.1, 1.0, 3.0])))
        check_safety(world)
    cluster.faults = Faults()
    for step in range(400):
        cluster.step(2.0)
        if step > 30 and is_settled(world):
            break
    check_safety(world)
    return cluster


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("faults", BAD_DAYS.values(), ids=BAD_DAYS)
def test_every_job_settles_after_a_bad_day(seed: int, faults: Faults) -> None:
    cluster = live_through(seed, faults)
    check_liveness(cluster.world)
    check_lives(cluster.world, leader_crashed=faults.crash_leader > 0)
    if not faults.lose_node:
        check_nodes_blameless(cluster.world)


def test_the_same_seed_writes_the_same_log() -> None:
    logs = [event_log(live_through(3, BAD_DAYS["everything"]).world) for _ in range(2)]
    assert logs[0] == logs[1]
