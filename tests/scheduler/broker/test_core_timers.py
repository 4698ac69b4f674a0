"""The leader's core jobs; ids are rows of control-plane.md 16.3."""

import pytest

from cluster.operations.garbage import demand_collection
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.places import BrokerStats, Place
from scheduler.collection import looks
from scheduler.errors import NotOutstanding, RequestRefused, TokenMismatch
from scheduler.messages import Delivery, FinishRequest, Reap, ReapRequest
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.found_rows import put_found
from scheduler.structs.collection import (
    WITHOUT_WORK,
    CollectionSettings,
    CoreJob,
    forced_cutoffs,
)
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import JobStatus
from scheduler.worker import Batch
from tests.builders import SECOND, make_evaluation, make_job
from tests.callers import MANAGER
from tests.scheduler.leading import pause_broker
from tests.simulation.world import World

CORE = ("_core",)
DEAD = make_job(stop=True, status=JobStatus.DEAD.value)


class CoreWorld(World):
    """Core evaluations wait until a test takes them."""

    collection = CollectionSettings()

    def collect(self, process: str = "collector") -> None:
        del process

    def run_core(self) -> None:
        """A worker takes and runs what is ready."""
        super().collect("w")

    def take(self, limit: int = 16) -> list[Delivery]:
        return [*self.leader.dequeue("w", CORE, limit, self.moment)]

    def demand(self) -> None:
        demand_collection(self.store, by=MANAGER, now=self.clock.now())
        self.follow()


def names(deliveries: list[Delivery]) -> list[str]:
    return sorted(delivery.evaluation.job_id for delivery in deliveries)


def finish(delivery: Delivery, **fields: object) -> FinishRequest:
    return FinishRequest(eval_id=delivery.evaluation.id, token=delivery.token, **fields)


def reap_of(delivery: Delivery, token: str = "") -> ReapRequest:
    reap = Reap(core_job="eval-gc", started_at=1, cutoffs=forced_cutoffs(1))
    return ReapRequest(eval_id=delivery.evaluation.id, token=token or delivery.token, reap=reap)


# By time.


def test_the_first_firing_comes_after_one_interval() -> None:
    world = CoreWorld()
    world.tick()
    assert world.take() == []
    assert world.leader.next_deadline(world.moment) <= world.clock.monotonic() + 300
    world.tick(299.5)
    assert world.take() == []
    world.tick(0.5)
    assert names(world.take()) == [
        "csi-plugin-gc",
        "csi-volume-claim-gc",
        "deployment-gc",
        "eval-gc",
        "global-token-expired-gc",
        "job-gc",
        "local-token-expired-gc",
        "node-gc",
    ]
    world.tick(300)
    assert {"one-time-token-gc", "root-key-rotate-gc", "variables-rekey"} <= set(
        names(world.take())
    )


@pytest.mark.parametrize("core_job", sorted(set(CoreJob)))
def test_what_the_trigger_scheduled_makes(core_job: str) -> None:
    """One each time and core job: namespace, type, priority, index; and never a row."""
    world = CoreWorld()
    if core_job == CoreJob.FORCED:
        world.demand()
    world.tick(600)
    made = [d.evaluation for d in world.take() if d.evaluation.job_id == core_job]
    assert made == [
        Evaluation(
            id=made[0].id,
            namespace="-",
            type="_core",
            priority=32767,
            triggered_by="scheduled",
            job_id=core_job,
            status=EvalStatus.PENDING,
            modify_index=world.store.index,
            create_time=world.clock.now(),
            modify_time=world.clock.now(),
        )
    ]
    assert (world.store.evaluations(), world.store.open_evaluations()) == ([], [])
    assert world.store.lifecycle(made[0].id) == []
    assert world.leader.take_hints() == ()


def test_each_core_job_has_its_own_interval() -> None:
    class Impatient(CoreWorld):
        collection = CollectionSettings(node_interval=7, job_interval=10)

    world = Impatient()
    world.tick(7)
    assert names(world.take()) == ["node-gc"]
    world.tick(3)
    assert names(world.take()) == ["job-gc"]


def test_one_that_is_still_under_way_is_not_put_in_again() -> None:
    world = CoreWorld()
    world.tick(300)
    held = {delivery.evaluation.job_id: delivery for delivery in world.take()}
    world.finish("w", finish(held["job-gc"]))
    world.leader.alive("w", [d.evaluation.id for d in held.values()], monotonic=300)
    world.tick(1)
    assert world.take() == []
    world.tick(299.5)
    assert "job-gc" in names(world.take())


def test_a_paused_broker_takes_none_and_begins_anew() -> None:
    world = CoreWorld()
    pause_broker(world, paused=True)
    world.tick(301)
    world.tick(301)
    assert world.leader.broker.stats() == BrokerStats()
    pause_broker(world, paused=False)
    world.tick(299)
    assert world.take() == []
    world.tick(1.5)
    assert "eval-gc" in names(world.take())


# On demand.


def test_a_demand_is_met_at_once_and_once() -> None:
    world = CoreWorld()
    world.demand()
    world.tick()
    [delivery] = world.take()
    assert delivery.evaluation.job_id == "force-gc"
    world.tick(1)
    assert world.take() == []
    world.finish("w", finish(delivery))
    world.tick(1)
    assert world.take() == []


def test_a_demand_during_a_forced_run_is_met_after_it() -> None:
    world = CoreWorld()
    world.demand()
    world.tick()
    [delivery] = world.take()
    world.clock.advance(1)
    world.demand()
    world.tick()
    assert world.take() == []
    world.finish("w", finish(delivery))
    world.tick()
    assert names(world.take()) == ["force-gc"]


def test_a_demand_outlives_the_leader_until_it_is_met() -> None:
    world = CoreWorld()
    world.demand()
    world.tick()
    assert names(world.take()) == ["force-gc"]

    world.new_leader()
    world.tick()
    world.run_core()
    row = world.store.get(COLLECTIONS, "force-gc")
    assert (row.is_awaited, row.ended_at) == (False, world.clock.now())

    world.new_leader()
    world.tick()
    assert world.take() == []


def test_a_demand_is_met_once_the_broker_runs_again() -> None:
    world = CoreWorld()
    pause_broker(world, paused=True)
    world.demand()
    world.tick()
    assert world.take() == []
    pause_broker(world, paused=False)
    world.tick()
    assert names(world.take()) == ["force-gc"]


# How they end.


def test_a_run_goes_on_as_itself_and_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FOUND_AT_ONCE", 2)
    world = CoreWorld()
    world.put_job(DEAD)
    world.store.write(
        "t",
        lambda change: [
            put_found(
                change,
                make_evaluation(n, status=EvalStatus.COMPLETE, job_id=DEAD.id, modify_time=1),
            )
            for n in range(1, 6)
        ],
        now=1,
    )
    world.put_evaluations(
        *[e.changed(status=EvalStatus.COMPLETE) for e in world.store.open_evaluations()]
    )
    world.clock.advance(1)
    world.demand()
    world.tick()
    began = world.clock.now()
    world.run_core()
    row = world.store.get(COLLECTIONS, "force-gc")
    assert (row.evaluations, row.jobs, row.started_at) == (6, 1, began)
    assert not row.is_awaited
    assert world.store.jobs() == []


def test_what_goes_on_is_put_in_with_the_beginning_of_its_run() -> None:
    world = CoreWorld()
    world.tick(300)
    [delivery] = [d for d in world.take() if d.evaluation.job_id == "eval-gc"]
    world.clock.advance(2)
    world.finish("w", finish(delivery, goes_on="eval-gc:x"))
    assert world.store.get(COLLECTIONS, "eval-gc") is None, "it has not ended"
    [onwards] = world.take()
    assert onwards.evaluation == delivery.evaluation.changed(
        id=onwards.evaluation.id,
        job_id="eval-gc:x",
        modify_index=world.store.index,
        modify_time=world.clock.now(),
    )


@pytest.mark.parametrize("core_job", sorted(WITHOUT_WORK))
def test_what_has_no_work_leaves_no_row(core_job: str) -> None:
    world = CoreWorld()
    world.tick(600)
    [delivery] = [d for d in world.take() if d.evaluation.job_id == core_job]
    index = world.store.index
    world.finish("w", finish(delivery))
    assert world.store.index == index


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"goes_on": "job-gc"}, "a core evaluation goes on as itself"),
        ({"update": make_evaluation()}, "core evaluations are not stored"),
        ({"created": (make_evaluation(),)}, "core evaluations are not stored"),
        ({"reblocked": make_evaluation()}, "core evaluations are not stored"),
    ],
)
def test_a_core_run_writes_no_evaluations(fields: dict[str, object], reason: str) -> None:
    world = CoreWorld()
    world.tick(300)
    [delivery] = [d for d in world.take() if d.evaluation.job_id == "eval-gc"]
    with pytest.raises(RequestRefused, match=reason):
        world.finish("w", finish(delivery, **fields))
    assert world.store.evaluations() == []


def test_only_core_evaluations_go_on_or_delete() -> None:
    world = CoreWorld()
    world.put_evaluations(make_evaluation())
    [delivery] = world.leader.dequeue("w", ("service",), 1, world.moment)
    with pytest.raises(RequestRefused, match="only core evaluations go on"):
        world.finish("w", finish(delivery, goes_on="eval-gc"))
    with pytest.raises(RequestRefused, match="only core evaluations delete what is over"):
        world.leader.check_reap("w", reap_of(delivery), world.moment)


def test_a_reap_needs_the_token_of_a_delivery_that_is_out_and_is_a_sign_of_life() -> None:
    world = CoreWorld()
    world.tick(300)
    delivery = world.take()[0]
    with pytest.raises(TokenMismatch):
        world.leader.check_reap("w", reap_of(delivery, "another"), world.moment)
    world.clock.advance(59)
    world.leader.check_reap("w", reap_of(delivery), world.moment)
    world.leader.broker.tick(world.moment._replace(monotonic=world.clock.monotonic() + 59))
    world.leader.check_reap("w", reap_of(delivery), world.moment)
    world.finish("w", finish(delivery))
    with pytest.raises(NotOutstanding):
        world.leader.check_reap("w", reap_of(delivery), world.moment)


def test_the_worker_that_was_given_up_deletes_nothing() -> None:
    """Its delivery is another's by now; that one does all of it."""
    world = CoreWorld()
    world.put_job(DEAD)
    world.put_evaluations(
        *[e.changed(status=EvalStatus.COMPLETE) for e in world.store.open_evaluations()]
    )
    world.clock.advance(1)
    world.demand()
    world.tick()
    lost = world.new_batch("lost", types=CORE)
    turn = lost.begin_all(now=world.clock.now())
    assert turn.reaps
    world.clock.advance(61)
    world.tick()
    world.tick(2)
    world.run_core()
    assert world.store.jobs() == []
    index = world.store.index
    late = world.reap("lost", turn.reaps[0], lost)
    assert [finish.ack for finish in late.finishes] == [False]
    assert world.store.index == index


def fail(world: CoreWorld, delivery: Delivery) -> None:
    world.finish("w", finish(delivery, ack=False, error="broke"))


def test_c18_a_core_evaluation_at_its_delivery_limit_is_dropped_without_a_word() -> None:
    world = CoreWorld(settings=LeaderSettings(nack_first_delay=0, nack_later_delay=0))
    world.demand()
    world.tick()
    index = world.store.index
    for _ in range(3):
        [delivery] = world.take()
        fail(world, delivery)
    assert world.leader.broker.place_of(delivery.evaluation.id) is Place.FAILED
    assert world.tick() == []
    assert world.leader.broker.stats() == BrokerStats()
    assert (world.store.index, world.store.evaluations()) == (index, [])
    world.tick(300)
    assert "eval-gc" in names(world.take()), "the next time brings a fresh one"


def test_a_worker_that_is_lost_in_a_run_is_followed_by_another() -> None:
    world = CoreWorld()
    world.demand()
    world.tick()
    lost: Batch = world.new_batch("lost", types=CORE)
    world.leader.alive("lost", lost.working_on, monotonic=world.clock.monotonic())
    world.tick(6)
    world.tick(1)
    assert names(world.take()) == ["force-gc"]


def test_durations_are_told_by_the_row() -> None:
    world = CoreWorld()
    world.demand()
    world.tick()
    [delivery] = world.take()
    world.clock.advance(3)
    world.finish("w", finish(delivery))
    row = world.store.get(COLLECTIONS, "force-gc")
    assert row.ended_at - row.started_at == 3 * SECOND
