"""A slow evaluator of the placement formulas that anyone can check against the specification.

In: nodes, what they hold, a job. Out: the score of every node, or why it has none. Everything is
computed from nothing for every question; it shares no code with the engine but the nouns.
"""

from collections import Counter
from dataclasses import dataclass, field

from scheduler.structs.allocation import Allocation
from scheduler.structs.constraint import Spread
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup


@dataclass
class World:
    """The nodes, the stored allocations, and what the plan does so far."""

    nodes: list[Node]
    job: Job
    stored: list[Allocation]
    stopped: list[Allocation] = field(default_factory=list)
    placed: list[Allocation] = field(default_factory=list)

    def held(self, node: Node) -> list[Allocation]:
        gone = {alloc.id for alloc in self.stopped}
        kept = [a for a in self.stored if a.id not in gone and not a.is_client_terminal]
        return [alloc for alloc in kept + self.placed if alloc.node_id == node.id]


def evaluate(world: World, group: TaskGroup, penalised: frozenset[str]) -> dict[str, float | str]:
    """By node id: its final score, or the label under which it is refused or exhausted."""
    return {
        node.id: _refusal(world, group, node) or _score(world, group, node, penalised)
        for node in world.nodes
    }


def value_of(target: str, node: Node) -> str | None:
    if target == "${node.datacenter}":
        return node.datacenter
    return node.meta.get(target.removeprefix("${meta.").removesuffix("}"))


def _refusal(world: World, group: TaskGroup, node: Node) -> str:
    for constraint in (*world.job.constraints, *group.constraints):
        if (
            constraint.operand == "="
            and value_of(constraint.l_target, node) != constraint.r_target
        ):
            return constraint.label
    job_id = world.job.id
    mine = [alloc for alloc in world.held(node) if alloc.job_id == job_id]
    if any(c.operand == "distinct_hosts" for c in world.job.constraints) and mine:
        return "distinct_hosts"
    ask = group.tasks[0].resources
    for name, wanted, has, of in (
        ("cpu", ask.cpu, node.node_resources.cpu.cpu_shares, _cpu),
        ("memory", ask.memory_mb, node.node_resources.memory.memory_mb, _memory),
    ):
        if wanted + sum(map(of, world.held(node))) > has:
            return name
    return ""


def _cpu(alloc: Allocation) -> int:
    return sum(task.cpu.cpu_shares for task in alloc.allocated_resources.tasks.values())


def _memory(alloc: Allocation) -> int:
    return sum(task.memory.memory_mb for task in alloc.allocated_resources.tasks.values())


def _score(world: World, group: TaskGroup, node: Node, penalised: frozenset[str]) -> float:
    scores = [_fit(world, group, node)]
    same = sum(
        alloc.job_id == world.job.id and alloc.task_group == group.name
        for alloc in world.held(node)
    )
    if same:
        scores.append(-(same + 1) / group.count)
    if node.id in penalised:
        scores.append(-1.0)
    if group.affinities:
        total = sum(abs(affinity.weight) for affinity in group.affinities)
        matched = sum(
            affinity.weight
            for affinity in group.affinities
            if value_of(affinity.l_target, node) == affinity.r_target
        )
        scores.append(matched / total)
    boost = sum(_spread(world, group, spread, node) for spread in group.spreads)
    if boost:
        scores.append(boost)
    return sum(scores) / len(scores)


def _fit(world: World, group: TaskGroup, node: Node) -> float:
    ask = group.tasks[0].resources
    cpu = ask.cpu + sum(map(_cpu, world.held(node)))
    memory = ask.memory_mb + sum(map(_memory, world.held(node)))
    free_cpu = 1 - cpu / node.node_resources.cpu.cpu_shares
    free_memory = 1 - memory / node.node_resources.memory.memory_mb
    return min(max(20 - 10**free_cpu - 10**free_memory, 0), 18) / 18


def _spread(world: World, group: TaskGroup, spread: Spread, node: Node) -> float:
    value = value_of(spread.attribute, node)
    if value is None:
        return -1.0
    counts = _combined(world, group, spread)
    if not spread.spread_target:
        return _even(counts, value)
    desired = {t.value: t.percent / 100 * group.count for t in spread.spread_target}
    rest = group.count - sum(desired.values())
    if sum(desired.values()) > 0 and rest > 1e-9:
        desired["*"] = rest
    key = value if value in desired else "*"
    if key not in desired:
        return -1.0
    share = spread.weight / sum(other.weight for other in group.spreads)
    return (desired[key] - (counts.get(key, 0) + 1)) / desired[key] * share


def _even(counts: dict[str, int], value: str) -> float:
    if not counts:
        return 0.0
    used, least, most = counts.get(value, 0), min(counts.values()), max(counts.values())
    if used != least:
        return (least - used) / least if least else -1.0
    if least == most:
        return -1.0
    return (most - least) / least if least else 1.0


def _combined(world: World, group: TaskGroup, spread: Spread) -> dict[str, int]:
    named = {target.value for target in spread.spread_target}

    def values(allocs: list[Allocation]) -> Counter[str]:
        node_of = {node.id: node for node in world.nodes}
        found: Counter[str] = Counter()
        for alloc in allocs:
            value = value_of(spread.attribute, node_of[alloc.node_id])
            if alloc.job_id == world.job.id and value is not None:
                found[value if not named or value in named else "*"] += 1
        return found

    existing = values([alloc for alloc in world.stored if not alloc.is_terminal])
    proposed, cleared = values(world.placed), values(world.stopped)
    combined = {value: existing[value] + proposed[value] for value in [*existing, *proposed]}
    for value, count in cleared.items():
        if value in combined:
            credit = 1 if value in proposed and count > 1 else 0
            combined[value] = max(0, combined[value] - count + credit)
    return combined
