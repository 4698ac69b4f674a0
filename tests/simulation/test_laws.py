"""Laws see what they are there for, in a record written past every rule."""

import pytest
from msgspec.structs import replace

from cluster.simulation.catalogue import job, machine
from cluster.simulation.laws import evaluations, jobs, nodes
from cluster.simulation.laws.law import LawBroken, Memory, replay
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.record import Record
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import Allocation
from scheduler.structs.device import DeviceGrant
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.network import AllocatedPort
from scheduler.structs.node import NodeStatus
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
)
from scheduler.structs.story import Story
from tests.builders import make_allocation, make_evaluation
from tests.simulation.world import World

pytestmark = pytest.mark.simulation


def holding(number: int, *ports: int, **task: object) -> Allocation:
    address = machine(1).node_resources.node_networks[0].addresses[0].address
    shared = AllocatedSharedResources(
        ports=tuple(AllocatedPort(value=port, host_ip=address) for port in ports)
    )
    given = AllocatedResources(tasks={"main": AllocatedTaskResources(**task)}, shared=shared)
    return make_allocation(
        job("web", 0, 6), number, node_id=machine(1).id, allocated_resources=given
    )


def gpu(name: str) -> DeviceGrant:
    return DeviceGrant(vendor="acme", type="gpu", name="x1", device_ids=(name,))


@pytest.mark.parametrize(
    ("held", "found"),
    [
        pytest.param((holding(0, 8080), holding(1, 8080)), "8080.* twice", id="port-twice"),
        pytest.param((holding(0, 22),), "22.* it keeps", id="port-of-the-node"),
        pytest.param(
            (
                holding(0, cpu=AllocatedCpu(reserved_cores=(2,))),
                holding(1, cpu=AllocatedCpu(reserved_cores=(2, 3))),
            ),
            "'core', 2.* twice",
            id="core-twice",
        ),
        pytest.param(
            (holding(0, cpu=AllocatedCpu(reserved_cores=(9,))),),
            "'core', 9.* does not have",
            id="no-such-core",
        ),
        pytest.param(
            (holding(0, devices=(gpu("gpu-1"),)), holding(1, devices=(gpu("gpu-1"),))),
            "gpu-1.* twice",
            id="device-twice",
        ),
        pytest.param(
            (holding(0, devices=(gpu("gpu-7"),)),), "gpu-7.* does not have", id="no-such-device"
        ),
        pytest.param(
            tuple(holding(number, cpu=AllocatedCpu(cpu_shares=1500)) for number in range(3)),
            "4500 of 4000 CPU",
            id="too-much-cpu",
        ),
        pytest.param(
            (holding(0, memory=AllocatedMemory(memory_mb=5000)),),
            "5000 of 4096 memory",
            id="too-much-memory",
        ),
    ],
)
def test_what_is_given_twice_or_kept_is_seen(held: tuple[Allocation, ...], found: str) -> None:
    world = World(1)
    world.put_nodes(replace(machine(1), status=NodeStatus.READY))
    record, memory = Record(), Memory()
    world.store.write(
        WriteKind.PLAN_RESULT,
        lambda change: [change.put_allocation(alloc) for alloc in held],
        now=world.clock.now(),
    )
    frames = list(world.store.frames_since(0))
    for frame in frames[:-1]:
        nodes.LAWS.check(replay(record, frame, memory))
    with pytest.raises(LawBroken, match=f"room: node-1 gives .*{found}"):
        nodes.LAWS.check(replay(record, frames[-1], memory))


FIRST = make_evaluation(1, story_id="s1", create_index=2)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        pytest.param(make_evaluation(2, create_index=3), "nobody began", id="without"),
        pytest.param(FIRST.changed(story_id="s2"), "went over to another", id="another"),
        pytest.param(
            make_evaluation(2, story_id="s2", create_index=3, previous_eval=FIRST.id),
            "another story than what it follows",
            id="not-its-parents",
        ),
        pytest.param(
            make_evaluation(2, story_id="s2", create_index=1), "before its", id="too-early"
        ),
    ],
)
def test_an_evaluation_without_its_story_is_seen(row: Evaluation, found: str) -> None:
    world = World()
    record = Record()
    for frame in world.store.frames_since(0):
        replay(record, frame, Memory())

    def begin(change: Change) -> None:
        for name in ("s1", "s2"):
            change.put(STORIES, Story(id=name, create_index=2))
        change.put_evaluation(FIRST)

    world.store.write(WriteKind.EVALUATION_UPDATED, begin, now=1)
    world.store.write(WriteKind.EVALUATION_UPDATED, lambda c: c.put_evaluation(row), now=1)
    before, after = world.store.frames_since(record.index)
    told = next(law for law in evaluations.LAWS if law.name == "told")
    told.check(replay(record, before, Memory()))
    with pytest.raises(LawBroken, match=found):
        told.check(replay(record, after, Memory()))


@pytest.mark.parametrize(
    ("run", "successor", "seen"),
    [
        pytest.param(EvalStatus.PENDING, True, False, id="its-node-refused-the-stop"),
        pytest.param(EvalStatus.COMPLETE, True, True, id="nobody-tries-again"),
        pytest.param(EvalStatus.PENDING, False, True, id="replaces-another"),
    ],
)
def test_a_name_is_given_twice_only_while_a_refused_stop_is_tried_again(
    run: EvalStatus, successor: bool, seen: bool
) -> None:
    world = World(2)
    world.put_nodes(*(replace(machine(n), status=NodeStatus.READY) for n in (1, 2)))
    web = job("web", 0, 2)
    old = make_allocation(web, 0, node_id=machine(1).id)
    new = make_allocation(web, 1, name=old.name, node_id=machine(2).id, eval_id=FIRST.id)

    def refuse(change: Change) -> None:
        change.put_evaluation(FIRST)
        change.put_evaluation(FIRST.changed(status=run))
        change.put_allocation(new)
        change.put_allocation(replace(old, next_allocation=new.id if successor else ""))

    for work in (lambda change: change.put_allocation(old), refuse):
        world.store.write(WriteKind.PLAN_RESULT, work, now=world.clock.now())
    *before, last = world.store.frames_since(0)
    record, memory = Record(), Memory()
    for frame in before:
        replay(record, frame, memory)
    law = next(law for law in jobs.LAWS if law.name == "names")
    look = replay(record, last, memory)
    assert bool(list(law.broken(look))) is seen
