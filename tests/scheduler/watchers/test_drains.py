"""Drains; numbers are rows of control-plane.md 16.5."""

import pytest

from scheduler.commands import Command, CompleteDrain, DrainAllocations
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    DesiredTransition,
)
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.node import DrainStrategy, LastDrain, Node
from scheduler.structs.policies import MigrateStrategy
from scheduler.watchers.drains import Drains, drainable
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_job,
    make_node,
    make_task_group,
)

MIGRATE = DesiredTransition(migrate=True)
HEALTHY = DeploymentHealth(healthy=True)
DRAINING, OTHER = make_node(1), make_node(2)


def make_service(max_parallel: int, count: int = 10) -> Job:
    migrate = MigrateStrategy(max_parallel=max_parallel)
    return make_job(task_groups=(make_task_group(count=count, migrate=migrate),))


def make_allocs(job: Job, count: int, start: int = 0, **fields: object) -> list[Allocation]:
    defaults: dict[str, object] = {
        "client_status": ClientStatus.RUNNING,
        "deployment_status": HEALTHY,
    }
    return [
        make_allocation(job, number, **(defaults | fields))
        for number in range(start, start + count)
    ]


STOPPED = {"desired_status": DesiredStatus.STOP, "desired_transition": MIGRATE}


@pytest.mark.parametrize(
    ("max_parallel", "groups", "drained"),
    [
        pytest.param(1, [(10, {})], 1, id="R01-one"),
        pytest.param(2, [(10, {})], 2, id="R01-two"),
        pytest.param(10, [(10, {})], 10, id="R01-ten"),
        pytest.param(1, [(1, {"desired_transition": MIGRATE}), (9, {})], 0, id="R02"),
        pytest.param(1, [(10, {"node_id": OTHER.id})], 0, id="R03"),
        pytest.param(
            1,
            [(5, {}), (5, {"node_id": OTHER.id, "deployment_status": None})],
            0,
            id="R04",
        ),
        pytest.param(1, [(1, {}), (9, {"node_id": OTHER.id})], 1, id="R05"),
        pytest.param(
            5,
            [
                (3, STOPPED),
                (2, STOPPED | {"client_status": ClientStatus.COMPLETE}),
                (5, {}),
                (3, {"node_id": OTHER.id}),
            ],
            3,
            id="R07",
        ),
        pytest.param(3, [(9, {}), (1, {"deployment_status": None})], 2, id="R08"),
        pytest.param(1, [(10, {"node_id": "collected"})], 0, id="R10"),
    ],
)
def test_how_many_may_leave_at_once(
    max_parallel: int, groups: list[tuple[int, dict[str, object]]], drained: int
) -> None:
    job = make_service(max_parallel)
    allocs: list[Allocation] = []
    for count, fields in groups:
        allocs += make_allocs(job, count, len(allocs), **fields)
    chosen = drainable(job, allocs, [DRAINING.id])
    assert len(chosen) == drained
    assert {alloc.node_id for alloc in chosen} <= {DRAINING.id}


class Site:
    """A watcher with its store."""

    def __init__(self, strategy: DrainStrategy | None = None, *allocs: Allocation) -> None:
        self.store = MemoryStateStore()
        self.watcher = Drains()
        self.monotonic = 0.0
        self.now = SOME_MOMENT
        for job in (make_service(1, 1), make_job(id="batch", type="batch"),
                    make_job(id="system", type="system")):  # fmt: skip
            self._write(lambda change, job=job: change.put_job(job))
        self.put(*allocs)
        self.watcher.restore(self.store, Moment(self.now, self.monotonic))
        self.index = self.store.index
        self.put_node(make_node(1, drain_strategy=strategy))

    def _write(self, work: object) -> None:
        self.store.write(WriteKind.NODE_DRAIN, work, now=self.now)  # type: ignore[arg-type]

    def put(self, *allocs: Allocation) -> None:
        def work(change: Change) -> None:
            for alloc in allocs:
                put_found(change, alloc)

        self._write(work)

    def put_node(self, node: Node) -> None:
        self._write(lambda change: put_found(change, node))

    def tick(self, seconds: float = 0.0) -> list[Command]:
        self.monotonic += seconds
        self.now += round(seconds * SECOND)
        for frame in self.store.frames_since(self.index):
            self.watcher.observe(frame, Moment(self.now, self.monotonic))
        self.index = self.store.index
        return list(self.watcher.tick(self.store, Moment(self.now, self.monotonic)))

    def deadline(self) -> float | None:
        return self.watcher.next_deadline(Moment(self.now, self.monotonic))


SERVICE = make_allocs(make_service(1, 1), 1)[0]
BATCH = make_allocation(make_job(id="batch", type="batch"), 1, client_status=ClientStatus.RUNNING)
SYSTEM = make_allocation(
    make_job(id="system", type="system"), 2, client_status=ClientStatus.RUNNING
)
NO_DEADLINE = DrainStrategy()
DONE = CompleteDrain(nodes={DRAINING.id: False})
FORCED = CompleteDrain(nodes={DRAINING.id: True})


def test_r13_an_empty_node_completes_at_once() -> None:
    assert Site(NO_DEADLINE).tick() == [DONE]


def test_r06_a_service_leaves_after_the_batch_second_and_the_node_completes_when_it_ended() -> (
    None
):
    site = Site(NO_DEADLINE, SERVICE)
    assert site.tick() == []
    assert site.deadline() == 1.0
    assert site.tick(0.9) == []
    assert site.tick(0.1) == [DrainAllocations(transitions={SERVICE.id: MIGRATE})]
    stopped = SERVICE.changed(**STOPPED)
    site.put(stopped)
    assert site.tick(5) == []
    site.put(stopped.changed(client_status=ClientStatus.COMPLETE))
    assert site.tick() == [DONE]


def test_a_second_drain_within_the_batch_second_lets_nobody_else_go() -> None:
    first, second = make_allocs(make_service(1, 2), 2)
    site = Site(NO_DEADLINE, first, second.changed(node_id=OTHER.id))
    site._write(lambda change: change.put_job(make_service(1, 2)))
    assert site.tick() == []
    site.put_node(make_node(2, drain_strategy=NO_DEADLINE))
    assert site.tick(1) == [DrainAllocations(transitions={first.id: MIGRATE})]


def test_who_leaves_is_the_same_whichever_drain_within_the_batch_second_came_first() -> None:
    first, second = make_allocs(make_service(1, 2), 2)
    site = Site(NO_DEADLINE, first.changed(node_id=OTHER.id), second)
    site._write(lambda change: change.put_job(make_service(1, 2)))
    assert site.tick() == []
    site.put_node(make_node(2, drain_strategy=NO_DEADLINE))
    assert site.tick(1) == [DrainAllocations(transitions={first.id: MIGRATE})]


def test_an_allocation_that_ends_while_its_request_waits_completes_the_drain() -> None:
    site = Site(NO_DEADLINE, SERVICE)
    site.tick()
    site.put(SERVICE.changed(client_status=ClientStatus.COMPLETE))
    assert site.tick(0.5) == [DONE]


def test_r11_batch_work_stays_until_it_is_forced_and_is_not_replaced() -> None:
    site = Site(NO_DEADLINE, BATCH)
    assert site.tick() == []
    assert site.tick(9) == []
    site.put_node(make_node(1, drain_strategy=DrainStrategy(deadline=-1)))
    stopped = DesiredTransition(migrate=True, migrate_disable_placement=True)
    assert site.tick() == [DrainAllocations(transitions={BATCH.id: stopped}), FORCED]


def test_r12_at_the_deadline_everything_left_is_moved() -> None:
    strategy = DrainStrategy(deadline=2 * SECOND, force_deadline=SOME_MOMENT + 2 * SECOND)
    site = Site(strategy, BATCH, SYSTEM)
    assert site.tick() == []
    assert site.deadline() == 2.0
    assert site.tick(1.9) == []
    moved, completed = site.tick(0.1)
    assert isinstance(moved, DrainAllocations)
    assert set(moved.transitions) == {BATCH.id, SYSTEM.id}
    assert completed == FORCED


@pytest.mark.parametrize("ignores", [True, False], ids=["R19-ignored", "moved-last"])
def test_system_allocations_go_last_or_stay(*, ignores: bool) -> None:
    strategy = DrainStrategy(ignore_system_jobs=ignores)
    moved = DrainAllocations(transitions={SYSTEM.id: MIGRATE})
    assert Site(strategy, SYSTEM).tick() == ([DONE] if ignores else [moved, DONE])


@pytest.mark.parametrize(
    ("last_drain", "commands"),
    [
        pytest.param(None, [], id="never-known"),
        pytest.param(LastDrain(status="canceled"), [], id="canceled"),
        pytest.param(
            LastDrain(status="complete"),
            [DrainAllocations(transitions={SERVICE.id: MIGRATE})],
            id="completed-before-its-request-went-out",
        ),
    ],
)
def test_a_request_outlives_its_drain_only_when_that_was_completed(
    last_drain: LastDrain | None, commands: list[Command]
) -> None:
    site = Site(NO_DEADLINE, SERVICE)
    site.tick()
    site.put_node(make_node(1, last_drain=last_drain))
    assert site.tick(1) == commands
    assert site.deadline() is None


def test_a_drain_by_force_asks_its_services_as_well() -> None:
    site = Site(DrainStrategy(deadline=-1), SERVICE)
    moved = DrainAllocations(transitions={SERVICE.id: MIGRATE})
    assert site.tick() == [moved, FORCED]
    site.put_node(make_node(1, last_drain=LastDrain(status="complete")))
    assert site.deadline() == 1.0
    assert site.tick(1) == [moved]


def test_r16_a_new_deadline_replaces_the_old_one() -> None:
    site = Site(DrainStrategy(deadline=SECOND, force_deadline=SOME_MOMENT + SECOND), BATCH)
    site.tick()
    later = DrainStrategy(deadline=9 * SECOND, force_deadline=SOME_MOMENT + 9 * SECOND)
    site.put_node(make_node(1, drain_strategy=later))
    assert site.tick(2) == []
    assert site.tick(7)[-1] == FORCED


def test_r18_close_deadlines_are_handled_together() -> None:
    site = Site()
    site.watcher = Drains(deadline_window=0.1)
    for number, offset_ms in enumerate((5, 10, 20, 99, 350, 360), start=1):
        deadline = SOME_MOMENT + offset_ms * SECOND // 1000
        strategy = DrainStrategy(deadline=1, force_deadline=deadline)
        busy = SERVICE.changed(id=f"{number:036}", node_id=make_node(number).id)
        site.put(busy)
        site.put_node(make_node(number, drain_strategy=strategy))
    site.watcher.restore(site.store, Moment(site.now, 0.0))
    fired = [
        len(command.nodes)
        for _ in range(40)
        for command in site.tick(0.01)
        if isinstance(command, CompleteDrain)
    ]
    assert fired == [4, 2]


def test_a_drain_whose_command_failed_is_looked_at_again() -> None:
    site = Site(NO_DEADLINE)
    assert site.tick() == [DONE]
    assert site.tick(1) == []
    assert site.tick(9) == [DONE]
