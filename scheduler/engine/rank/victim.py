"""An allocation that might have to go, and what its going costs (placement.md 10.1, 10.2).

In: plain values. Out: order among victims. Knows neither snapshot nor plan.
"""

import math
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from scheduler.state.node_use import UseSum
from scheduler.structs.allocation import Allocation

#: Who is to be evicted must have at least this much less priority.
PRIORITY_GAP = 10
_PENALTY = 50.0
#: The logistic curve of the preemption score.
_RATE, _ORIGIN = 0.0048, 2048.0


class Candidate(NamedTuple):
    """An allocation on the node that belongs to another job."""

    alloc: Allocation
    use: UseSum
    is_evictable: bool
    #: How many of its group may leave at a time; 0 for no limit.
    max_parallel: int = 0
    #: How many of its group the plan evicts already.
    evicted_before: int = 0

    @property
    def penalty(self) -> float:
        """What it costs to evict more of a group than may leave at a time."""
        if self.max_parallel > 0 and self.evicted_before >= self.max_parallel:
            return _PENALTY * (self.evicted_before + 1 - self.max_parallel)
        return 0.0


class Amount(NamedTuple):
    """CPU, memory and disk; a need that was covered goes below 0."""

    cpu: float
    memory_mb: float
    disk_mb: float

    @classmethod
    def of(cls, use: UseSum) -> "Amount":
        """The part of a sum that distances are measured in."""
        return cls(use.cpu, use.memory_mb, use.disk_mb)

    def plus(self, other: "Amount") -> "Amount":
        return Amount(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "Amount") -> "Amount":
        return Amount(*(a - b for a, b in zip(self, other, strict=True)))

    def covers(self, other: "Amount") -> bool:
        """Whether it is at least the other in every dimension."""
        return all(a >= b for a, b in zip(self, other, strict=True))


def distance(need: Amount, used: Amount) -> float:
    """How far what an allocation uses is from what is needed; nothing needed is no distance."""
    # The order of the sum is the reference's: memory, CPU, disk.
    parts = (
        (need.memory_mb, used.memory_mb),
        (need.cpu, used.cpu),
        (need.disk_mb, used.disk_mb),
    )
    return math.sqrt(sum(((a - b) / a) ** 2 if a > 0 else 0.0 for a, b in parts))


def by_priority(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    """The evictable ones in groups of equal priority, lowest first; their order is kept."""
    evictable = [candidate for candidate in candidates if candidate.is_evictable]
    evictable.sort(key=_priority)
    return [list(group) for _, group in groupby(evictable, key=_priority)]


def preemption_score(victims: Iterable[Allocation]) -> float:
    """Close to 1, less for higher and for more priorities that are evicted (placement.md 10.6)."""
    priorities = [float(victim.job_priority) for victim in victims]
    highest = max(priorities)
    net = highest + sum(priorities) / highest
    return 1.0 / (1.0 + math.exp(_RATE * (net - _ORIGIN)))


def _priority(candidate: Candidate) -> int:
    return candidate.alloc.job_priority
