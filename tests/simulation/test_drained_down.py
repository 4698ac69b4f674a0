"""A node that goes down while it is drained by force (control-plane.md 16.5)."""

from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.nodes import DrainRequest, drain_node, mark_node_unresponsive
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import TaskGroupSummary
from scheduler.structs.node import DrainStrategy
from tests.builders import make_node
from tests.callers import MANAGER
from tests.simulation.world import World


def test_r17_what_was_forced_off_a_node_that_goes_down_is_lost_and_the_service_waits():
    world = World()
    node = make_node(1)
    world.put_nodes(node)
    task = {"Name": "main", "Driver": "mock_driver", "Resources": {"CPU": 100}}
    for kind in ("service", "system"):
        world.register({"Count": 1, "Tasks": [task]}, ID=kind, Type=kind)
    world.tick()
    world.work_off()
    means = {"by": MANAGER, "now": world.clock.now(), "ids": world.ids}
    running = tuple(
        alloc.changed(client_status=ClientStatus.RUNNING) for alloc in world.store.allocations()
    )
    assert len(running) == 2
    report_from_client(world.store, (NodeReport(node_id=node.id, allocations=running),), **means)

    drain_node(world.store, node.id, DrainRequest(strategy=DrainStrategy(deadline=-1)), **means)
    world.tick()
    world.tick(1)
    mark_node_unresponsive(world.store, node.id, **means)
    world.tick()
    world.work_off()

    summaries = {
        job.id: [*world.store.get(JOB_SUMMARIES, job.key).summary.values()]
        for job in world.store.jobs()
    }
    assert summaries == {
        "service": [TaskGroupSummary(queued=1, lost=1)],
        "system": [TaskGroupSummary(lost=1)],
    }
