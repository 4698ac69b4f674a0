"""Room on a node that is full: what it lacks, who holds as much, the node with so much more."""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.structs.allocation import Allocation
from scheduler.structs.explanation import AskedAmounts, NodeVerdict
from scheduler.structs.node import Node, NodeResources


def lacking(verdict: NodeVerdict, asks: AskedAmounts) -> AskedAmounts:
    """What the node lacks of what is asked for."""
    free = verdict.free
    return AskedAmounts(
        cpu=max(asks.cpu - free.cpu, 0),
        memory_mb=max(asks.memory_mb - free.memory_mb, 0),
        disk_mb=max(asks.disk_mb - free.disk_mb, 0),
    )


def share(amounts: AskedAmounts, asks: AskedAmounts) -> float:
    """How much of what is asked for these are, all dimensions together."""
    return (
        amounts.cpu / max(asks.cpu, 1)
        + amounts.memory_mb / max(asks.memory_mb, 1)
        + amounts.disk_mb / max(asks.disk_mb, 1)
    )


def enlarged(node: Node, more: AskedAmounts) -> Node:
    """What a node would be if as much of it were free in addition."""
    has: NodeResources = node.node_resources
    resources = replace(
        has,
        cpu=replace(has.cpu, cpu_shares=has.cpu.cpu_shares + more.cpu),
        memory=replace(has.memory, memory_mb=has.memory.memory_mb + more.memory_mb),
        disk=replace(has.disk, disk_mb=has.disk.disk_mb + more.disk_mb),
    )
    return replace(node, node_resources=resources)


def held_by(alloc: Allocation) -> AskedAmounts:
    """What an allocation was given."""
    has = alloc.allocated_resources
    return AskedAmounts(
        cpu=sum(task.cpu.cpu_shares for task in has.tasks.values()),
        memory_mb=sum(task.memory.memory_mb for task in has.tasks.values()),
        disk_mb=has.shared.disk_mb,
    )


def cover(held: Iterable[AskedAmounts], lacks: AskedAmounts) -> bool:
    """Whether these together are as much as is lacking, in each dimension."""
    amounts = [*held]
    return (
        sum(each.cpu for each in amounts) >= lacks.cpu
        and sum(each.memory_mb for each in amounts) >= lacks.memory_mb
        and sum(each.disk_mb for each in amounts) >= lacks.disk_mb
    )


def victim_of(allocs: Iterable[Allocation], lacks: AskedAmounts) -> Allocation | None:
    """Of those whose end frees as much: of the least priority, then the smallest."""
    enough = []
    for alloc in allocs:
        held = held_by(alloc)
        if cover((held,), lacks):
            enough.append((alloc.job_priority, held.memory_mb, held.cpu, alloc.id, alloc))
    return min(enough)[-1] if enough else None
