"""A large record for rehearsals: nodes with allocations at rest, written straight into the tables.

In: how many of each, on the command line, and the environment's database. Out: rows, as many
operations would have left them. A program of its own, so that its database is its own.
"""

import sys
from collections.abc import Iterator, Sequence

from django.core.management import call_command
from msgspec.structs import replace

from cluster.bench.offline import identifier, make_group, make_node
from cluster.runtime.clock import SystemClock
from cluster.store.writer import DjangoStateStore
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskState,
)
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
)

_MHZ, _MB = 16_000, 65_536
_ASK_MHZ, _ASK_MB = 200, 128
#: Allocations of one job.
OF_A_JOB = 50
#: In one write.
_JOBS_AT_ONCE, _NODES_AT_ONCE = 20, 500


def fill(made: list[Node], allocations: int, *, stride: int = 1) -> None:
    """Write nodes and jobs; a job has its allocations on every `stride`th node."""
    store, now = DjangoStateStore(), SystemClock().now()
    for start in range(0, len(made), _NODES_AT_ONCE):
        _write(store, [*made[start : start + _NODES_AT_ONCE]], now)
    jobs = -(-allocations // OF_A_JOB)
    for first in range(0, jobs, _JOBS_AT_ONCE):
        numbers = range(first, min(jobs, first + _JOBS_AT_ONCE))

        def work(change: Change, numbers: range = numbers) -> None:
            for number in numbers:
                job = write_job(change, _job(number))
                for alloc in _allocations(job, number, made, now, stride):
                    put_found(change, replace(alloc, create_index=change.index))

        store.write(WriteKind.PLAN_RESULT, work, now=now)


def _write(store: DjangoStateStore, nodes: Sequence[Node], now: int) -> None:
    def work(change: Change) -> None:
        for node in nodes:
            put_found(change, node)

    store.write(WriteKind.NODE_REGISTRATION, work, now=now)


def _job(number: int) -> Job:
    group = make_group("group", count=OF_A_JOB, cpu=_ASK_MHZ, memory_mb=_ASK_MB)
    return Job(
        id=f"job-{number}",
        name=f"job-{number}",
        type="service",
        priority=50,
        datacenters=("*",),
        node_pool="default",
        task_groups=(replace(group, migrate=MigrateStrategy(max_parallel=1)),),
    )


def _allocations(
    job: Job, number: int, nodes: list[Node], now: int, stride: int
) -> Iterator[Allocation]:
    held = AllocatedResources(
        tasks={
            "task": AllocatedTaskResources(
                cpu=AllocatedCpu(cpu_shares=_ASK_MHZ), memory=AllocatedMemory(memory_mb=_ASK_MB)
            )
        }
    )
    for place in range(OF_A_JOB):
        node = nodes[_place(number, place, stride) % len(nodes)]
        yield Allocation(
            id=identifier(f"allocation {number}/{place}"),
            eval_id=identifier(f"evaluation of {job.id}"),
            name=f"{job.id}.group[{place}]",
            node_id=node.id,
            node_name=node.name,
            job_id=job.id,
            job_type=job.type,
            job_priority=job.priority,
            job_create_index=job.create_index,
            task_group="group",
            allocated_resources=held,
            client_status=ClientStatus.RUNNING,
            task_states={"task": TaskState(state="running", started_at=now)},
            deployment_status=DeploymentHealth(healthy=True, timestamp=now),
            create_time=now,
            modify_time=now,
        )


def _place(number: int, place: int, stride: int) -> int:
    """Beside each other, or over the whole fleet: then no node has two of one job."""
    if stride == 1:
        return number * OF_A_JOB + place
    return number % stride + place * stride


def main() -> None:
    """Prepare the database of the environment, and fill it."""
    call_command("migrate", verbosity=0)
    nodes = range(int(sys.argv[1]))
    fill([make_node(number, cpu=_MHZ, memory_mb=_MB) for number in nodes], int(sys.argv[2]))
