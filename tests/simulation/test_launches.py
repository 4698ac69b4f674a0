"""Launches by time through leader, worker and applier: from what is due to what is placed."""

from itertools import pairwise

import pytest

from cluster.jobspec.launch_times import next_due
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobChildrenSummary
from scheduler.watchers.periodic import Launches
from scheduler.watchers.watcher import Watcher
from tests.builders import make_node
from tests.simulation.world import World

pytestmark = pytest.mark.simulation

EVERY_MINUTE = {"Specs": ["* * * * *"]}
NODES = [make_node(number) for number in (1, 2, 3)]
GROUP = {
    "Count": 1,
    "Tasks": [{"Name": "web", "Driver": "mock_driver", "Resources": {"CPU": 100}}],
}


class LaunchingWorld(World):
    """Launches are watched over, and nothing else: nodes may be silent."""

    def new_watchers(self) -> tuple[Watcher, ...]:
        return (Launches(next_due),)

    def pass_minutes(self, count: int) -> None:
        for _ in range(count * 12):
            self.tick(5)
            self.work_off()


@pytest.fixture
def world():
    world = LaunchingWorld()
    world.put_nodes(*NODES)
    return world


@pytest.mark.parametrize(
    ("job_type", "placed"),
    [pytest.param("batch", 1, id="batch"), pytest.param("sysbatch", 3, id="sysbatch")],
)
def test_each_child_is_placed_by_the_scheduler_of_its_type(world, job_type, placed):
    world.register(GROUP, Type=job_type, Periodic=EVERY_MINUTE)
    world.pass_minutes(2)

    children = [job for job in world.store.jobs() if job.parent_id]
    assert len(children) == 2
    for child in children:
        (evaluation,) = world.store.evaluations_by_job(child.key)
        assert (evaluation.triggered_by, evaluation.type) == ("periodic-job", job_type)
        assert evaluation.status is EvalStatus.COMPLETE
        assert len(world.store.allocations_by_job(child.key)) == placed
    summary = world.store.get(JOB_SUMMARIES, JobKey("default", "web"))
    assert summary.children == JobChildrenSummary(running=2)


def test_a_child_without_room_waits_and_prohibits_the_next(world):
    wide = {"Count": 1, "Tasks": [{"Name": "web", "Driver": "mock_driver"}]}
    wide["Tasks"][0]["Resources"] = {"CPU": 100_000}
    world.register(wide, Type="batch", Periodic={**EVERY_MINUTE, "ProhibitOverlap": True})
    world.pass_minutes(3)
    (child,) = [job for job in world.store.jobs() if job.parent_id]
    statuses = {each.status for each in world.store.evaluations_by_job(child.key)}
    assert statuses == {EvalStatus.COMPLETE, EvalStatus.BLOCKED}
    assert child.status == "pending"


def test_a_change_of_leaders_neither_repeats_nor_loses_a_launch(world):
    world.register(GROUP, Type="batch", Periodic=EVERY_MINUTE)
    for _ in range(5):
        world.pass_minutes(1)
        world.new_leader()
    launched = [int(job.id.rpartition("-")[2]) for job in world.store.jobs() if job.parent_id]
    assert len(launched) == 5
    assert {later - one for one, later in pairwise(launched)} == {60}
