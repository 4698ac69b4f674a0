"""What has ended goes by itself in time, whoever leads, and what runs stays."""

import pytest

from cluster.operations.jobs import deregister_job
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import WriteKind
from scheduler.state.writes.allocations import update_from_client
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.collection import CollectionSettings
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from tests.builders import make_node
from tests.callers import MANAGER
from tests.simulation.world import World

HOURS_UNTIL_ALL_IS_GONE = 6


class TidyWorld(World):
    """A control plane that collects."""

    collection = CollectionSettings()

    def report_all(self, job_id: str, status: ClientStatus) -> None:
        """Nodes tell of all allocations of a job."""
        reports = [
            alloc.changed(client_status=status)
            for alloc in self.store.allocations()
            if alloc.job_id == job_id
        ]
        assert reports
        self.store.write(
            WriteKind.ALLOCATION_UPDATED,
            lambda change: update_from_client(change, reports, self.ids),
            now=self.clock.now(),
        )
        self.follow()


@pytest.mark.parametrize("leaders", ["one", "another-each-hour"])
def test_what_ended_goes_and_what_runs_stays(leaders: str) -> None:
    world = TidyWorld()
    world.put_nodes(*map(make_node, range(1, 5)))
    world.register()
    world.register(ID="stays", Name="stays")
    world.work_off()
    now = world.clock.now()
    world.report_all("stays", ClientStatus.RUNNING)
    web = JobKey("default", "web")
    deregister_job(world.store, web, by=MANAGER, now=now, ids=world.ids)
    world.follow()
    world.work_off()
    world.report_all("web", ClientStatus.COMPLETE)
    world.work_off()
    for _ in range(HOURS_UNTIL_ALL_IS_GONE):
        for _ in range(12):
            world.tick(300)
        if leaders == "another-each-hour":
            world.new_leader()
    assert [job.id for job in world.store.jobs()] == ["stays"]
    assert {row.job_id for row in world.store.evaluations()} == {"stays"}
    assert {row.job_id for row in world.store.allocations()} == {"stays"}
    told = [event for frame in world.store.frames_since(0) for event in frame.events]
    evaluations = [event.value for event in told if isinstance(event.value, Evaluation)]
    assert all(evaluation.type != "_core" for evaluation in evaluations)
    row = world.store.get(COLLECTIONS, "eval-gc")
    assert row.ended_at >= row.started_at > now
