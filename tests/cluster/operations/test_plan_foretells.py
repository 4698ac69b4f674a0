"""A plan names the nodes that running the job then takes, also where many are equally good."""

from cluster.jobspec.parse import parse_job
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import JobRegistration, register_job
from tests.builders import CountingIDs, make_node
from tests.callers import MANAGER
from tests.simulation.world import World

DOCUMENT = {
    "ID": "even",
    "Type": "service",
    "Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}],
    "TaskGroups": [
        {"Name": "web", "Count": 3, "Tasks": [{"Name": "main", "Driver": "mock_driver"}]}
    ],
}


def test_running_takes_the_nodes_that_the_plan_named() -> None:
    world = World()
    world.put_nodes(*(make_node(number) for number in range(12)))
    job = parse_job(DOCUMENT)
    ids = CountingIDs(prefix="c")
    planned = plan_job(world.store.snapshot(), job, by=MANAGER, now=world.clock.now(), ids=ids)
    register_job(
        world.store, JobRegistration(job=job), by=MANAGER, now=world.clock.now(), ids=world.ids
    )
    world.follow()
    world.work_off()
    placed = {alloc.name: alloc.node_id for alloc in world.store.allocations_by_job(job.key)}
    assert len(placed) == 3
    assert {each.name: each.node_id for each in planned.placements} == placed
