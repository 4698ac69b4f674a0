"""How many evaluations a rollout makes, and nodes that come and go; rows of evaluations.md 17."""

from collections import Counter

import pytest
from msgspec.structs import replace

from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.deployments import promote_deployment
from cluster.operations.nodes import mark_node_unresponsive, register_node, update_status
from scheduler.structs.allocation import Allocation, ClientStatus, DeploymentHealth
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.node import DriverInfo, NodeStatus
from scheduler.watchers.deployments import Deployments
from scheduler.watchers.watcher import Watcher
from tests.builders import make_job, make_node
from tests.callers import MANAGER
from tests.simulation.world import World

pytestmark = pytest.mark.simulation

KEY = make_job().key
SECRET = "of the node"
UPDATE = {"MaxParallel": 1, "Canary": 1, "MinHealthyTime": 0}


class Rollout(World):
    """Three allocations of a job, which then changes; a leader that watches over it."""

    def __init__(self, update: dict[str, object]) -> None:
        super().__init__()
        self.put_nodes(*(make_node(number) for number in range(1, 9)))
        self.register(group={"Count": 3})
        self.settle()
        for alloc in self.unjudged():
            self.call_healthy(alloc)
        self.before = {evaluation.id for evaluation in self.store.evaluations_by_job(KEY)}
        self.register(group={"Count": 3, "Update": update}, Meta={"version": "next"})
        self.settle()

    def new_watchers(self) -> tuple[Watcher, ...]:
        """Nodes are not listened for: none falls silent."""
        return (Deployments(),)

    def settle(self) -> None:
        """Some seconds in which leader, worker and applier do what there is to do."""
        for _ in range(4):
            self.work_off()
            self.tick(1)

    def made(self) -> list[Evaluation]:
        """The evaluations since the job changed."""
        rows = self.store.evaluations_by_job(KEY)
        return [evaluation for evaluation in rows if evaluation.id not in self.before]

    def rollout(self) -> Deployment:
        return max(self.store.deployments_by_job(KEY), key=lambda row: row.create_index)

    def unjudged(self) -> list[Allocation]:
        return [
            alloc
            for alloc in self.store.allocations_by_job(KEY)
            if alloc.deployment_id
            and not alloc.is_terminal
            and (alloc.deployment_status is None or alloc.deployment_status.healthy is None)
        ]

    def call_healthy(self, alloc: Allocation) -> None:
        """Its node reports that it is well."""
        health = alloc.deployment_status or DeploymentHealth()
        judged = alloc.changed(
            client_status=ClientStatus.RUNNING,
            deployment_status=replace(health, healthy=True, timestamp=self.clock.now()),
        )
        report = NodeReport(node_id=alloc.node_id, allocations=(judged,))
        answer = report_from_client(
            self.store, (report,), by=MANAGER, now=self.clock.now(), ids=self.ids
        )
        assert answer[1] == (None,)
        self.settle()


@pytest.mark.parametrize(
    "promotes_itself", [False, True], ids=["122-promoted-by-hand", "122-promotes-itself"]
)
def test_each_step_of_a_rollout_is_one_evaluation(*, promotes_itself: bool) -> None:
    world = Rollout(UPDATE | {"AutoPromote": promotes_itself})
    (canary,) = world.unjudged()
    world.call_healthy(canary)
    if not promotes_itself:
        promote_deployment(
            world.store,
            world.rollout().id,
            every_group=True,
            by=MANAGER,
            now=world.clock.now(),
            ids=world.ids,
        )
        world.settle()
    for _ in range(2):
        (alloc,) = world.unjudged()
        world.call_healthy(alloc)
    assert (world.rollout().status, world.unjudged()) == ("successful", [])
    made = world.made()
    assert Counter(row.triggered_by for row in made) == {
        "job-register": 1,
        "deployment-watcher": 4,
    }
    assert {(row.status, row.previous_eval, row.next_eval, row.blocked_eval) for row in made} == {
        ("complete", "", "", "")
    }


def go_down(world: World, node_id: str) -> None:
    mark_node_unresponsive(world.store, node_id, by=MANAGER, now=world.clock.now(), ids=world.ids)


def beat(world: World, node_id: str) -> None:
    update_status(
        world.store, node_id, NodeStatus.READY, by=MANAGER, now=world.clock.now(), ids=world.ids
    )


def start_agent(world: World, number: int) -> None:
    """Each start finds the drivers anew."""
    driver = DriverInfo(detected=True, healthy=True, update_time=world.clock.now())
    register_node(
        world.store,
        make_node(number, drivers={"mock_driver": driver}),
        secret=SECRET,
        may_join=True,
        by=MANAGER,
        now=world.clock.now(),
        ids=world.ids,
    )


@pytest.mark.parametrize(
    ("restarts", "count"),
    [pytest.param(False, 20, id="123-by-heartbeat"), pytest.param(True, 30, id="123-restarted")],
)
def test_a_node_that_goes_and_comes_has_every_system_job_looked_at(
    *, restarts: bool, count: int
) -> None:
    world = World()
    for number in (1, 2):
        start_agent(world, number)
    for number in range(5):
        world.put_job(make_job(id=f"job-{number}", type="system"))
    world.work_off()
    for number in (1, 2):
        node_id = make_node(number).id
        go_down(world, node_id)
        world.tick(1)
        world.work_off()
        if restarts:
            start_agent(world, number)
        beat(world, node_id)
        world.tick(1)
        world.work_off()
    causes = Counter(row.triggered_by for row in world.store.evaluations())
    assert causes == {"job-register": 5, "node-update": count}
