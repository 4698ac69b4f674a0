"""Scenario density: how few nodes a mixed workload needs, beside sampling a few candidates.

In: options. Out: nodes used over the lower bound, the same for the sampling rule, how full the
cluster is when the first task fits nowhere, and the share of placements refused when two workers
place at once.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from cluster.bench.offline import (
    NOW,
    NumberedIDs,
    evaluation_of,
    make_group,
    make_node,
    run_to_plan,
    store_of,
)
from cluster.bench.rush_load import refused_in_rush
from cluster.bench.scenario import Figures, Options
from scheduler.engine.plan.evaluate import evaluate_plan
from scheduler.engine.rank.binpack import fit_scores
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan, PlanResult

_NODE_MHZ, _NODE_MB = 8_000, 16_384
_NODES, _TASKS = 1_000, 8_000
_CPU = (100, 250, 500, 1_000)
_MEMORY = (128, 256, 512, 1_024, 2_048, 3_072)
_TASKS_OF_A_JOB = 50
_SHUFFLES = 11
_WORKERS = 2


class Load(NamedTuple):
    """Tasks, one per row: MHz and MB."""

    cpu: np.ndarray
    memory: np.ndarray

    @property
    def lower_bound(self) -> int:
        """Nodes that no packing can go below."""
        by_cpu, by_memory = self.cpu.sum() / _NODE_MHZ, self.memory.sum() / _NODE_MB
        return math.ceil(float(max(by_cpu, by_memory)))

    def part(self, rows: "slice | np.ndarray") -> "Load":
        """Some of the tasks."""
        return Load(self.cpu[rows], self.memory[rows])


def run(options: Options) -> Figures:
    """Pack the load by the engine and by sampling."""
    nodes, tasks = options.scaled(_NODES), options.scaled(_TASKS)
    load = _load(np.random.default_rng(1), tasks)
    packed = _Packing(nodes)
    packed.place(load)
    used, bound = packed.nodes_used, load.lower_bound
    sampled = _nodes_of_sampling(load, nodes, math.ceil(math.log2(nodes)))
    lockstep = _Packing(nodes)
    lockstep.place(load, workers=_WORKERS)
    return {
        "lower_bound": float(bound),
        "nodes_used": float(used),
        "over_lower_bound": used / bound,
        "nodes_used_by_sampling": float(sampled),
        "over_sampling": used / sampled,
        "fill_at_first_failure": _fill(nodes),
        "lockstep_nodes_used": float(lockstep.nodes_used),
        "lockstep_refused_share": lockstep.refused / max(1, lockstep.judged),
        **refused_in_rush(options, workers=_WORKERS),
        "compaction_over_lower_bound": _compaction(max(20, nodes // 10), max(100, tasks // 10)),
    }


def _load(chance: np.random.Generator, count: int) -> Load:
    return Load(chance.choice(_CPU, count), chance.choice(_MEMORY, count))


class _Packing:
    """A cluster in memory that jobs are placed on by the engine, each task a group of its own."""

    def __init__(self, nodes: int) -> None:
        self._store: MemoryStateStore = store_of(
            (make_node(number, cpu=_NODE_MHZ, memory_mb=_NODE_MB) for number in range(nodes)), ()
        )
        self._ids = NumberedIDs()
        self._jobs = 0
        #: Placements judged by the applier, and refused.
        self.judged = 0
        self.refused = 0

    @property
    def nodes_used(self) -> int:
        """Nodes that hold something."""
        return sum(1 for use in self._store.node_uses() if use.held.alloc_count)

    @property
    def fill(self) -> float:
        """Share taken of the scarcer resource."""
        uses = [use.held for use in self._store.node_uses()]
        nodes = sum(1 for _ in self._store.nodes())
        cpu = sum(use.cpu for use in uses) / (nodes * _NODE_MHZ)
        return max(cpu, sum(use.memory_mb for use in uses) / (nodes * _NODE_MB))

    def place(self, load: Load, workers: int = 1) -> bool:
        """Place the tasks in order, job by job; False when one fits nowhere.

        Several workers go in lockstep: they always look at the same state, and never at what the
        others are about to take. No real worker does; it is the worst that can be.
        """
        waiting = [self._register(part) for part in _parts(load)]
        while waiting:
            snapshot, tried = self._store.snapshot(), waiting[:workers]
            runs = [run_to_plan(snapshot, evaluation_of(job), self._ids) for job in tried]
            if any(outcome.explanations and _failed(outcome) for _, outcome in runs):
                self._commit_all([plan for plan, _ in runs])
                return False
            refused = self._commit_all([plan for plan, _ in runs])
            waiting = [*(tried[place] for place in refused), *waiting[workers:]]
        return True

    def _commit_all(self, plans: Sequence[Plan | None]) -> list[int]:
        """Judge and commit plans in order; the places of those that were refused in part."""
        refused = []
        for place, plan in enumerate(plans):
            if plan is None:
                continue
            result = self._commit(plan)
            self.judged += sum(map(len, plan.node_allocation.values()))
            if result.rejected_nodes:
                self.refused += sum(
                    len(plan.node_allocation.get(node_id, ())) for node_id in result.rejected_nodes
                )
                refused.append(place)
        return refused

    def _commit(self, plan: Plan) -> PlanResult:
        def work(change: Change) -> PlanResult:
            return commit_plan(change, plan, evaluate_plan(change, plan))

        return self._store.write(WriteKind.PLAN_RESULT, work, now=NOW)[1]

    def _register(self, load: Load) -> Job:
        self._jobs += 1
        name = f"job-{self._jobs}"
        groups = tuple(
            make_group(f"g{place}", count=1, cpu=int(cpu), memory_mb=int(memory))
            for place, (cpu, memory) in enumerate(zip(*load, strict=True))
        )
        job = Job(id=name, name=name, type="batch", datacenters=("dc1",), task_groups=groups)

        def work(change: Change) -> Job:
            evaluation = evaluation_of(job)
            change.put_evaluation(replace(evaluation, create_index=change.index))
            return write_job(change, job)

        return self._store.write(WriteKind.JOB_REGISTERED, work, now=NOW)[1]


def _failed(outcome: object) -> bool:
    evaluation = getattr(outcome, "evaluation", None)
    return bool(evaluation and evaluation.failed_task_groups)


def _parts(load: Load) -> Iterator[Load]:
    for start in range(0, load.cpu.size, _TASKS_OF_A_JOB):
        yield load.part(slice(start, start + _TASKS_OF_A_JOB))


def _fill(nodes: int) -> float:
    packing, chance = _Packing(nodes), np.random.default_rng(2)
    while packing.place(_load(chance, _TASKS_OF_A_JOB * 4)):
        pass
    return packing.fill


def _compaction(nodes: int, tasks: int) -> float:
    """The median over shuffles of the fewest nodes that take everything, over the lower bound."""
    chance = np.random.default_rng(3)
    load = _load(chance, tasks)
    found = []
    for _ in range(_SHUFFLES):
        shuffled = load.part(chance.permutation(tasks))
        too_few, enough = load.lower_bound - 1, max(nodes, load.lower_bound * 2)
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if _Packing(middle).place(shuffled):
                enough = middle
            else:
                too_few = middle
        found.append(enough / load.lower_bound)
    return float(np.median(found))


def _nodes_of_sampling(load: Load, nodes: int, sample: int) -> int:
    """Nodes used when each task looks at the first `sample` nodes of a shuffle that take it."""
    chance = np.random.default_rng(4)
    used = np.zeros((2, nodes))
    for ask in zip(*load, strict=True):
        after = used + np.array([ask]).T
        order = chance.permutation(nodes)
        fits = (after[0] <= _NODE_MHZ) & (after[1] <= _NODE_MB)
        seen = order[fits[order]][:sample]
        if seen.size:
            cpu_capacity, memory_capacity = (
                np.full(seen.size, _NODE_MHZ),
                np.full(seen.size, _NODE_MB),
            )
            scores = fit_scores(
                after[0, seen], cpu_capacity, after[1, seen], memory_capacity, "binpack"
            )
            used[:, seen[int(np.argmax(scores))]] += ask
    return int(np.count_nonzero(used[0]))
