"""Intervals and thresholds that managers set: the leader and the workers follow the record."""

from cluster.operations.garbage import set_collection_overrides
from scheduler.structs.collection import CollectionOverrides, CollectionSettings
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_evaluation
from tests.callers import MANAGER
from tests.scheduler.leading import pause_broker
from tests.simulation.world import World


class CollectingWorld(World):
    """Only the core job of nodes is due within ten minutes; a test takes core evaluations."""

    collection = CollectionSettings(
        evaluation_interval=1000,
        job_interval=1000,
        deployment_interval=1000,
        token_interval=1000,
        node_interval=300,
    )

    def collect(self, process: str = "collector") -> None:
        del process

    def run_core(self) -> None:
        super().collect("w")

    def override(self, **values: float) -> None:
        overrides = CollectionOverrides(**values)
        set_collection_overrides(self.store, overrides, by=MANAGER, now=self.clock.now())
        self.follow()

    def put_ended(self, number: int) -> None:
        """An evaluation that ends now."""
        evaluation = make_evaluation(number)
        self.put_evaluations(evaluation)
        ended = self.stored(evaluation).changed(
            status=EvalStatus.COMPLETE, modify_time=self.clock.now()
        )
        self.put_evaluations(ended)

    def put_in(self, seconds: float) -> list[str]:
        """The core jobs that come in after so long, and are worked off; those of others aside."""
        self.tick(seconds)
        taken = self.leader.dequeue("w", ("_core",), 16, self.moment)
        for delivery in taken:
            self.leader.broker.ack(
                delivery.evaluation.id, delivery.token, monotonic=self.clock.monotonic()
            )
        names = (delivery.evaluation.job_id for delivery in taken)
        return sorted(name for name in names if not name.startswith(("csi", "one", "root", "var")))


def test_a_changed_interval_counts_from_when_the_one_under_way_began() -> None:
    world = CollectingWorld()
    assert world.put_in(100) == []
    world.override(node_interval=120)
    assert world.put_in(19.5) == []
    assert world.put_in(0.5) == ["node-gc"]
    assert world.put_in(119.5) == []
    assert world.put_in(0.5) == ["node-gc"]
    world.override(node_interval=200)
    assert world.put_in(199.5) == []
    assert world.put_in(0.5) == ["node-gc"]


def test_an_interval_that_is_over_by_a_change_ends_at_once() -> None:
    world = CollectingWorld()
    assert world.put_in(250) == []
    world.override(node_interval=60)
    assert world.leader.next_deadline(world.moment) <= world.clock.monotonic()
    assert world.put_in(0) == ["node-gc"]


def test_without_an_override_the_settings_count_again() -> None:
    world = CollectingWorld()
    world.override(node_interval=60, job_interval=60)
    assert world.put_in(60) == ["job-gc", "node-gc"]
    world.override(job_interval=60)
    assert world.put_in(60) == ["job-gc"]
    assert world.put_in(239.5) == ["job-gc"]
    assert world.put_in(0.5) == ["node-gc"]


def test_another_leader_goes_by_what_is_set() -> None:
    world = CollectingWorld()
    world.override(node_interval=60)
    world.new_leader()
    assert world.put_in(59.5) == []
    assert world.put_in(0.5) == ["node-gc"]


def test_what_is_set_while_the_broker_is_paused_counts_after_it() -> None:
    world = CollectingWorld()
    pause_broker(world, paused=True)
    world.override(node_interval=60)
    pause_broker(world, paused=False)
    assert world.put_in(59.5) == []
    assert world.put_in(0.5) == ["node-gc"]


def test_a_leader_without_settings_runs_nothing_by_time_whatever_is_set() -> None:
    class Resting(CollectingWorld):
        collection = None

    world = Resting()
    world.override(node_interval=60)
    assert world.put_in(4000) == []


def test_a_worker_goes_by_the_threshold_that_is_set() -> None:
    """With the setting, an hour, the first would go sooner; and by it the last one stays."""
    world = CollectingWorld()
    world.put_ended(1)
    world.override(evaluation_age=7200)
    world.tick(5000)
    world.run_core()
    assert len(world.store.evaluations()) == 1
    world.override(evaluation_age=600)
    world.tick(1000)
    world.run_core()
    assert world.store.evaluations() == []
    world.override()
    world.put_ended(2)
    world.tick(1000)
    world.run_core()
    assert len(world.store.evaluations()) == 1
