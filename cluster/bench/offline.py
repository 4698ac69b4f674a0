"""Worlds in memory for the scenarios that measure the engine alone: no database, no processes.

In: plain numbers. Out: nodes, jobs, and evaluations worked off by the real scheduler.
"""

from collections.abc import Iterable
from hashlib import blake2b

from msgspec.structs import replace

from cluster.jobspec.patterns import Re2Matcher
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.registry import new_scheduler
from scheduler.ports import Change, Snapshot
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource
from scheduler.structs.node import (
    DriverInfo,
    Node,
    NodeCpu,
    NodeDisk,
    NodeMemory,
    NodeResources,
    NodeStatus,
)
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import EphemeralDisk, Task, TaskGroup
from scheduler.worker import seed_of

#: Some moment: nothing measured here depends on it.
NOW = 1_750_000_000_000_000_000
_MATCHER = Re2Matcher()


class NumberedIDs:
    """Identifiers in the shape of UUIDs, counted up."""

    def __init__(self) -> None:
        self._given = 0

    def next_id(self) -> str:
        """The next one."""
        self._given += 1
        return identifier(f"given {self._given}")


def identifier(text: str) -> str:
    """An identifier in the shape of a UUID that follows from a text."""
    digits = blake2b(text.encode(), digest_size=16).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def make_node(number: int, *, cpu: int, memory_mb: int, **meta: str) -> Node:
    """A ready node with one driver."""
    return Node(
        id=identifier(f"node {number}"),
        name=f"node-{number}",
        datacenter="dc1",
        attributes={"kernel.name": "linux", "driver.mock_driver": "1"},
        meta=meta,
        drivers={"mock_driver": DriverInfo(detected=True, healthy=True)},
        status=NodeStatus.READY,
        node_resources=NodeResources(
            cpu=NodeCpu(cpu_shares=cpu),
            memory=NodeMemory(memory_mb=memory_mb),
            disk=NodeDisk(disk_mb=1_000_000),
            networks=(NetworkResource(mode="host", device="eth0", ip="10.0.0.1"),),
        ),
    )


def make_group(name: str, *, count: int, cpu: int, memory_mb: int) -> TaskGroup:
    """A group of one task."""
    task = Task(
        name="task",
        driver="mock_driver",
        resources=Resources(cpu=cpu, memory_mb=memory_mb),
    )
    return TaskGroup(
        name=name, count=count, tasks=(task,), ephemeral_disk=EphemeralDisk(size_mb=10)
    )


def evaluation_of(job: Job, number: int = 1) -> Evaluation:
    """The evaluation of a registration."""
    return Evaluation(
        id=identifier(f"evaluation {number} of {job.id}"),
        namespace=job.namespace,
        priority=job.priority,
        type=job.type,
        triggered_by=EvalTrigger.JOB_REGISTER,
        job_id=job.id,
    )


def store_of(nodes: Iterable[Node], jobs: Iterable[Job]) -> MemoryStateStore:
    """A record with these rows."""
    store = MemoryStateStore()

    def put(change: Change) -> None:
        for node in nodes:
            change.put_node(node)
        for job in jobs:
            change.put_job(replace(job, create_index=change.index, job_modify_index=change.index))

    store.write(WriteKind.JOB_REGISTERED, put, now=NOW)
    return store


def run_to_plan(
    snapshot: Snapshot, evaluation: Evaluation, ids: NumberedIDs
) -> tuple[Plan | None, Outcome]:
    """Work an evaluation off as if its plan were committed whole; nothing is written."""
    scheduler = new_scheduler(
        evaluation.type,
        snapshot,
        ids=ids,
        now=NOW,
        matcher=_MATCHER,
        seed=seed_of(evaluation.job_key),
    )
    run = scheduler.process(evaluation)
    plan: Plan | None = None
    try:
        plan = next(run)
        run.send(PlanAnswer(result=PlanResult.whole(plan)))
    except StopIteration as end:
        outcome: Outcome = end.value
        return plan, outcome
    raise AssertionError("a plan that is committed whole ends the run")
