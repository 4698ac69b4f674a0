"""What two workers are given to do at once, and how much of it is refused.

In: options. Out: shares of refused placements: of single tasks on a cluster in use, where every
evaluation may use half of the nodes (goals.md P8), the same where all may use all, and of large
jobs. Who is refused is asked to try again, as ever: in the end everything is placed.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from cluster.bench.offline import (
    NOW,
    NumberedIDs,
    evaluation_of,
    make_group,
    make_node,
    store_of,
)
from cluster.bench.rush import Rush
from cluster.bench.scenario import Figures, Options, require
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import write_job
from scheduler.structs.constraint import Constraint, Operand
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup

_NODES, _NODE_MHZ, _NODE_MB = 1_000, 8_000, 16_384
_CPU = (100, 250, 500, 1_000)
_MEMORY = (128, 256, 512, 1_024, 2_048, 3_072)
#: Together they take about 60 % of the cluster; only the last are counted.
_BEFORE, _COUNTED = 7_000, 1_000
_TASKS_OF_A_JOB = 50
#: Each node has or has not each of these; an evaluation wants or does not want one of them.
_MARKS = 8
#: Jobs of so many allocations, on nodes that take 40 each: they fill 95 % of the cluster.
_LARGE_JOBS, _ALLOCATIONS = 24, 315
_NODES_PER_LARGE_JOB, _LARGE_NODE_MHZ, _LARGE_NODE_MB = 8.3, 4_000, 8_192


def run(options: Options) -> Figures:
    """What is refused with two workers, and with four."""
    return {
        f"{name}_of_{workers}_workers": share
        for workers in (2, 4)
        for name, share in refused_in_rush(options, workers=workers).items()
    }


def refused_in_rush(options: Options, *, workers: int) -> Figures:
    """Shares of placements refused in three rushes. Raises WrongCount when some are not placed."""
    return {
        "p8_refused_share": _single_tasks(options, workers, marked=True),
        "p8_unmasked_refused_share": _single_tasks(options, workers, marked=False),
        "large_jobs_refused_share": _large_jobs(options, workers),
    }


def _single_tasks(options: Options, workers: int, *, marked: bool) -> float:
    chance = np.random.default_rng(5)
    nodes = options.scaled(_NODES)
    before, counted = options.scaled(_BEFORE), options.scaled(_COUNTED)
    marks = chance.integers(0, 2, (nodes, _MARKS))
    store = store_of(
        (
            make_node(number, cpu=_NODE_MHZ, memory_mb=_NODE_MB, **_meta(marks[number]))
            for number in range(nodes)
        ),
        (),
    )
    tasks = _tasks(chance, before + counted)

    def job(name: str, groups: Sequence[TaskGroup]) -> Job:
        return _job(name, groups, _wish(chance) if marked else ())

    parts = range(0, before, _TASKS_OF_A_JOB)
    fill = [
        job(f"fill-{start}", tasks[start : min(start + _TASKS_OF_A_JOB, before)])
        for start in parts
    ]
    ids = NumberedIDs()
    Rush(store, ids, 1).work_off(_register(store, fill))
    rush = Rush(store, ids, workers)
    rush.work_off(_register(store, [job(task.name, [task]) for task in tasks[before:]]))
    require("tasks placed", _placed(store), before + counted)
    return rush.refused_share


def _large_jobs(options: Options, workers: int) -> float:
    jobs = options.scaled(_LARGE_JOBS)
    nodes = math.ceil(jobs * _NODES_PER_LARGE_JOB)
    store = store_of(
        (
            make_node(number, cpu=_LARGE_NODE_MHZ, memory_mb=_LARGE_NODE_MB)
            for number in range(nodes)
        ),
        (),
    )
    group = make_group("group", count=_ALLOCATIONS, cpu=100, memory_mb=128)
    rush = Rush(store, NumberedIDs(), workers)
    large = [_job(f"large-{number}", [group], ()) for number in range(jobs)]
    rush.work_off(_register(store, large))
    require("allocations placed", _placed(store), jobs * _ALLOCATIONS)
    return rush.refused_share


def _tasks(chance: np.random.Generator, count: int) -> list[TaskGroup]:
    """Mixed tasks, each a group of its own."""
    sizes = zip(chance.choice(_CPU, count), chance.choice(_MEMORY, count), strict=True)
    return [
        make_group(f"task-{number}", count=1, cpu=int(cpu), memory_mb=int(memory))
        for number, (cpu, memory) in enumerate(sizes)
    ]


def _meta(marks: Sequence[int]) -> dict[str, str]:
    return {f"mark{number}": str(mark) for number, mark in enumerate(marks)}


def _wish(chance: np.random.Generator) -> tuple[Constraint, ...]:
    """Half of the nodes."""
    target = f"${{meta.mark{chance.integers(0, _MARKS)}}}"
    wanted = str(chance.integers(0, 2))
    return (Constraint(l_target=target, operand=Operand.EQUAL, r_target=wanted),)


def _job(name: str, groups: Sequence[TaskGroup], constraints: tuple[Constraint, ...]) -> Job:
    return Job(
        id=name,
        name=name,
        type="service",
        datacenters=("dc1",),
        task_groups=tuple(groups),
        constraints=constraints,
    )


def _register(store: MemoryStateStore, jobs: Sequence[Job]) -> Iterator[Evaluation]:
    """Register the jobs, one write for all; their evaluations as stored."""
    evaluations = [evaluation_of(job) for job in jobs]

    def work(change: Change) -> list[Evaluation]:
        stored = []
        for job, evaluation in zip(jobs, evaluations, strict=True):
            write_job(change, job)
            indexed = replace(evaluation, create_index=change.index, modify_index=change.index)
            change.put_evaluation(indexed)
            stored.append(indexed)
        return stored

    yield from store.write(WriteKind.JOB_REGISTERED, work, now=NOW)[1]


def _placed(store: MemoryStateStore) -> int:
    return sum(use.held.alloc_count for use in store.node_uses())
