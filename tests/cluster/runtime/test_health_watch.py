"""What the watch of a web process notes of each part."""

import asyncio
from dataclasses import dataclass

import pytest

from cluster.runtime.embedded import free_port
from cluster.runtime.health_watch import HealthWatch
from cluster.runtime.sign_of_life import SignOfLife
from cluster.store.health import APPLIER, LEADER, NOT_SEEN, RECORD, REDIS, WORKERS, Health
from cluster.store.leases import LeaseKeeper
from scheduler.structs.moment import Moment
from tests.builders import FixedClock
from tests.cluster.agent.conftest import bare_store, store
from tests.cluster.agent.deadline import until

__all__ = ["bare_store", "store"]

LONG = 60.0


@dataclass
class Scene:
    watch: HealthWatch
    health: Health
    clock: FixedClock

    def fault(self, name):
        return next(part.fault for part in self.health.parts if part.name == name)


@pytest.fixture
async def scene(store):
    """A watch that has begun, without its own rhythm, and no Redis."""
    health, clock = Health(), FixedClock()
    watch = HealthWatch(f"redis://127.0.0.1:{free_port()}/0", health)
    watch._clock = clock
    watch.begin()
    for task in watch._tasks:
        task.cancel()
    yield Scene(watch, health, clock)
    await watch.end()


async def test_a_leader_that_renews_its_lease_leads(scene):
    keeper = LeaseKeeper("leader", "one")
    await asyncio.to_thread(keeper.step, 0.0)
    await scene.watch.look_at_leader()
    assert scene.fault(LEADER) == NOT_SEEN, "one look cannot tell"
    await asyncio.to_thread(keeper.step, 1.0)
    await scene.watch.look_at_leader()
    assert scene.fault(LEADER) == ""


async def test_a_leader_that_stands_still_or_goes_is_named_after_a_while(scene):
    keeper = LeaseKeeper("leader", "one")
    for moment in (0.0, 1.0):
        await asyncio.to_thread(keeper.step, moment)
        await scene.watch.look_at_leader()
    scene.clock.advance(1)
    await scene.watch.look_at_leader()
    assert scene.fault(LEADER) == "", "leaders are replaced within seconds"
    scene.clock.advance(LONG)
    await scene.watch.look_at_leader()
    assert scene.fault(LEADER) == "the process that leads gives no sign"
    await asyncio.to_thread(keeper.release)
    await scene.watch.look_at_leader()
    assert scene.fault(LEADER) == "no process leads"


async def test_without_redis_nobody_behind_it_answers(scene):
    scene.clock.advance(LONG)
    await scene.watch.look_at_redis()
    await scene.watch.look_at_processes()
    assert [scene.fault(name) for name in (REDIS, WORKERS, APPLIER)] == [
        "does not answer", "no process answers", "no process answers",
    ]  # fmt: skip


async def test_a_fault_lasts_since_it_began_and_ages_since_it_was_well(scene):
    note, clock = scene.health.note, scene.clock
    told = []
    scene.health.listen(lambda: told.append(scene.fault(RECORD)))
    note(RECORD, "", Moment(clock.now(), 1.0))
    began = clock.now() + 1
    note(RECORD, "full", Moment(began, 2.0))
    note(RECORD, "full", Moment(began + 5, 3.0))
    note(RECORD, "read-only", Moment(began + 6, 4.0))
    part = scene.health.faulty[0]
    assert (part.fault, part.since, part.well_at) == ("read-only", began, 1.0)
    assert told == ["", "full", "read-only"]


async def test_signs_of_life_say_that_the_record_can_be_written(store):
    health = Health()
    watch = HealthWatch(f"redis://127.0.0.1:{free_port()}/0", health)
    sign = SignOfLife(watch)
    sign.begin()
    try:
        await until(lambda: any(p.name == RECORD and not p.fault for p in health.parts), "a sign")
    finally:
        await sign.end()
    assert health.parts == ()
