"""Random histories of a small cluster, lived through by the simulator, for tests of what is said.

Everything happens as it does in the product: people and nodes call operations, the leader, workers
and the applier do their part. The record answers pages as well (`MemoryRecord`).
"""

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.allocations import stop_allocation
from cluster.operations.deployments import promote_deployment
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    mark_node_unresponsive,
    update_status,
)
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.errors import SchedulerError
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.writes.allocations import update_from_client
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskEvent,
    TaskState,
)
from scheduler.structs.identity import JobKey
from scheduler.structs.node import DrainStrategy, NodeStatus
from tests.builders import SECOND, make_node
from tests.callers import MANAGER
from tests.memory_record import MemoryRecord
from tests.simulation.world import World

JOBS = ("shop", "night", "logs")
TYPES = {"shop": "service", "night": "batch", "logs": "system"}
#: One action and a number that says on what.
Act = tuple[str, int]


class History:
    """One cluster of three nodes, and what befalls it."""

    def __init__(self) -> None:
        self.world = World(settings=LeaderSettings(leftover_after=0.0), store=MemoryRecord())
        self.world.put_nodes(*(make_node(number) for number in range(3)))
        self.versions = dict.fromkeys(JOBS, 0)

    @property
    def record(self) -> MemoryRecord:
        return self.world.store

    @property
    def now(self) -> int:
        return self.world.clock.now()

    def live(self, act: Act) -> None:
        """What happens, and what follows from it until nobody has anything left to do."""
        name, number = act
        try:
            ACTS[name](self, number)
        except SchedulerError:
            # Refused, as it may be: nothing has changed.
            return
        finally:
            self.settle()

    def settle(self) -> None:
        self.world.follow()
        self.world.work_off()
        self.world.tick()
        self.world.work_off()
        # Steps that found no commit to ride in are recorded by themselves: pages wait for them.
        self.world.tick()

    # What people do.

    def document(self, name: str, count: int) -> dict[str, object]:
        task = {
            "Name": "main",
            "Driver": "mock_driver",
            "Env": {"VERSION": str(self.versions[name])},
            "Resources": {"CPU": 900, "MemoryMB": 64},
        }
        group: dict[str, object] = {"Name": "main", "Tasks": [task]}
        if TYPES[name] != "system":
            group["Count"] = count
        if TYPES[name] == "service":
            group["Update"] = {"MaxParallel": 1, "Canary": count % 2, "MinHealthyTime": 0}
            group["ReschedulePolicy"] = {
                "Delay": 30 * SECOND, "DelayFunction": "constant", "Unlimited": True,
            }  # fmt: skip
            if self.versions[name] % 2:
                group["Disconnect"] = {"LostAfter": 40 * SECOND, "Replace": True}
        return {"ID": name, "Type": TYPES[name], "TaskGroups": [group]}

    def submit(self, number: int) -> None:
        name = JOBS[number % 3]
        self.versions[name] += number % 2
        job = parse_job(self.document(name, number % 6))
        registration = JobRegistration(job=job)
        register_job(self.record, registration, by=MANAGER, now=self.now, ids=self.world.ids)

    def stop(self, number: int) -> None:
        key = JobKey("default", JOBS[number % 3])
        purge = number % 4 == 3
        deregister_job(self.record, key, purge=purge, by=MANAGER, now=self.now, ids=self.world.ids)

    def promote(self, number: int) -> None:
        for deployment in self.record.list_all(nouns.DEPLOYMENTS):
            if deployment.is_active:
                promote_deployment(
                    self.record, deployment.id, by=MANAGER, now=self.now, ids=self.world.ids
                )

    def drain(self, number: int) -> None:
        strategy = DrainStrategy(deadline=3600 * SECOND) if number % 3 else None
        asked = DrainRequest(strategy=strategy, mark_eligible=strategy is None)
        drain_node(
            self.record, self._node(number), asked, by=MANAGER, now=self.now, ids=self.world.ids
        )

    def stop_one(self, number: int) -> None:
        allocs = self._allocs()
        if allocs:
            chosen = allocs[number % len(allocs)]
            stop_allocation(self.record, chosen.id, by=MANAGER, now=self.now, ids=self.world.ids)

    # What nodes do.

    def lose(self, number: int) -> None:
        mark_node_unresponsive(
            self.record, self._node(number), by=MANAGER, now=self.now, ids=self.world.ids
        )

    def come_back(self, number: int) -> None:
        update_status(
            self.record, self._node(number), NodeStatus.READY, by=MANAGER, now=self.now,
            ids=self.world.ids,
        )  # fmt: skip

    def run(self, number: int) -> None:
        """Every ready node starts what it should and stops what it should not."""
        self._report(_as_wanted(alloc, self.now) for alloc in self._reachable())

    def fail(self, number: int) -> None:
        allocs = [alloc for alloc in self._reachable() if not alloc.is_terminal]
        self._report(_failed(alloc, self.now) for alloc in allocs[: 1 + number % 3])

    def back_off(self, number: int) -> None:
        allocs = [alloc for alloc in self._reachable() if not alloc.is_terminal]
        self._report(_backing_off(alloc, self.now) for alloc in allocs[: 1 + number % 2])

    def complete(self, number: int) -> None:
        allocs = [
            alloc
            for alloc in self._reachable()
            if alloc.job_type == "batch" and not alloc.is_terminal
        ]
        self._report(
            alloc.changed(client_status=ClientStatus.COMPLETE) for alloc in allocs[: number % 3]
        )

    def wait(self, number: int) -> None:
        for _ in range(1 + number % 4):
            self.world.tick(12.0)
            self.settle()

    def _node(self, number: int) -> str:
        return make_node(number % 3).id

    def _allocs(self) -> list[Allocation]:
        return sorted(self.record.allocations(), key=lambda alloc: alloc.id)

    def _reachable(self) -> list[Allocation]:
        ready = {node.id for node in self.record.nodes() if node.status is NodeStatus.READY}
        return [alloc for alloc in self._allocs() if alloc.node_id in ready]

    def _report(self, reports: object) -> None:
        told = [report for report in reports if report is not None]
        if told:
            self.record.write(
                WriteKind.ALLOCATION_UPDATED,
                lambda change: update_from_client(change, told, self.world.ids),
                now=self.now,
            )


def _state(alloc: Allocation, **fields: object) -> dict[str, TaskState]:
    return {"main": replace(alloc.task_states.get("main", TaskState()), **fields)}


def _as_wanted(alloc: Allocation, now: int) -> Allocation | None:
    if alloc.is_server_terminal and not alloc.is_client_terminal:
        return alloc.changed(client_status=ClientStatus.COMPLETE)
    if alloc.is_terminal or alloc.client_status is ClientStatus.RUNNING:
        return None
    started = TaskEvent(type="Started", time=now, display_message="Task started by client")
    states = _state(alloc, state="running", started_at=now, events=(started,))
    health = None
    if alloc.deployment_id:
        health = replace(
            alloc.deployment_status or DeploymentHealth(), healthy=True, timestamp=now
        )
    return alloc.changed(
        client_status=ClientStatus.RUNNING, task_states=states, deployment_status=health
    )


def _failed(alloc: Allocation, now: int) -> Allocation:
    ended = TaskEvent(type="Not Restarting", time=now, display_message="Exceeded attempts")
    states = _state(alloc, state="dead", failed=True, finished_at=now, events=(ended,))
    return alloc.changed(client_status=ClientStatus.FAILED, task_states=states)


def _backing_off(alloc: Allocation, now: int) -> Allocation:
    waits = TaskEvent(type="Restarting", time=now, display_message="Task restarting in 15s")
    states = _state(alloc, state="pending", restarts=3, events=(waits,))
    return alloc.changed(client_status=ClientStatus.PENDING, task_states=states)


ACTS: dict[str, Callable[[History, int], None]] = {
    act.__name__: act
    for act in (
        History.submit, History.stop, History.promote, History.drain, History.stop_one,
        History.lose, History.come_back, History.run, History.fail, History.back_off,
        History.complete, History.wait,
    )
}  # fmt: skip
#: A job comes first, so that most histories have something to tell.
histories = st.lists(
    st.tuples(st.sampled_from([*ACTS, "submit", "submit", "run", "run"]), st.integers(0, 11)),
    min_size=2,
    max_size=14,
).map(lambda acts: [("submit", 3), *acts])
