"""Which lower-priority allocations to evict from one node, at least cost (placement.md 10).

In: a row on which a group does not fit. Out: an Eviction: who goes, what is granted then; or the
Shortage that is left when all who can go have gone. Nothing is looked at but that node; whether an
eviction is worth it is the ranking's to say.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from scheduler.engine.context import ChangeKind, EvalContext, ProposedChange
from scheduler.engine.measure.ask import GroupAsk
from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.engine.measure.fit import capacity_cores, exceeds_max_allocs, first_misfit
from scheduler.engine.rank.evict_devices import evict_for_device
from scheduler.engine.rank.evict_networks import Bandwidth, evict_for_network, networks_of
from scheduler.engine.rank.evict_resources import evict_for_resources
from scheduler.engine.rank.grant import Grant, Shortage
from scheduler.engine.rank.room import MAX_ALLOCS, Room
from scheduler.engine.rank.victim import PRIORITY_GAP, Amount, Candidate, preemption_score
from scheduler.state.node_table import capacity_of
from scheduler.state.node_use import UseSum, add_use, subtract_use, sum_uses, use_of
from scheduler.structs.allocation import Allocation
from scheduler.structs.device import RequestedDevice
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource
from scheduler.structs.node import Node

#: Only what is cleared before CPU, memory and disk are looked at can give way to another shortage.
_CLEARED_FIRST = ("network: ", "devices: ")


class Eviction(NamedTuple):
    """Who has to go from a node, and what the placement is then given."""

    victims: tuple[Allocation, ...]
    grant: Grant
    #: What the fit is scored on: without those evicted for ports and devices, but with those
    #: evicted for CPU, memory and disk (placement.md 10.5).
    after: UseSum
    score: float


class Preemptor:
    """Finds evictions for one group of a job."""

    def __init__(self, context: EvalContext, job: Job, ask: GroupAsk, room: Room) -> None:
        self._context = context
        self._job = job
        self._ask = ask
        self._room = room
        self._found: dict[int, Eviction | Shortage] = {}
        #: Rows on which a group with a limit on how many may leave was looked at.
        self._rows_of: dict[tuple[JobKey, str], set[int]] = {}

    def evict_for(self, row: int) -> Eviction | Shortage:
        """The cheapest eviction that makes room on a row; else what is still lacking."""
        if row not in self._found:
            self._found[row] = self._find(row)
        return self._found[row]

    def forget(self, change: ProposedChange) -> None:
        """Look again at what a change of the plan touches."""
        self._found.pop(change.row, None)
        if change.kind is ChangeKind.PREEMPTION:
            for row in self._rows_of.pop((change.alloc.job_key, change.alloc.task_group), ()):
                self._found.pop(row, None)

    def _find(self, row: int) -> Eviction | Shortage:
        node = self._context.table.node_at(row)
        lacking = Shortage(self._room.reason(row))
        if not lacking.reason.startswith(_CLEARED_FIRST) and not self._could_ever_fit(node):
            return lacking
        others = self._candidates(row, node.id)
        if not any(candidate.is_evictable for candidate in others):
            return lacking
        clearing = _Clearing(self._context, node, others, self._context.use_at(row))
        granted = self._room.grant(row, clearing.use, clearing)
        if isinstance(granted, Shortage):
            return granted
        after = add_use(clearing.use, granted.use)
        is_too_many = exceeds_max_allocs(node, after.alloc_count)
        misfit = MAX_ALLOCS if is_too_many else first_misfit(node, after)
        if misfit is not None and not clearing.clear_resources(granted.use):
            return Shortage(misfit)
        victims = tuple(candidate.alloc for candidate in clearing.victims)
        return Eviction(victims, granted, after, preemption_score(victims)) if victims else lacking

    def _could_ever_fit(self, node: Node) -> bool:
        cpu, memory_mb, disk_mb = capacity_of(node)
        use = self._ask.use
        return use.cpu <= cpu and use.memory_mb <= memory_mb and use.disk_mb <= disk_mb

    def _candidates(self, row: int, node_id: str) -> list[Candidate]:
        evicted = self._context.evicted_counts
        candidates = []
        for alloc in self._context.proposed_allocs(node_id):
            if alloc.job_key != self._job.key:
                group = (alloc.job_key, alloc.task_group)
                candidates.append(self._candidate(alloc, evicted[group]))
                if candidates[-1].max_parallel:
                    self._rows_of.setdefault(group, set()).add(row)
        return candidates

    def _candidate(self, alloc: Allocation, evicted_before: int) -> Candidate:
        use = use_of(alloc)
        if self._job.priority - alloc.job_priority < PRIORITY_GAP:
            return Candidate(alloc, use, is_evictable=False)
        job = self._context.snapshot.job_of(alloc)
        group = job.task_group(alloc.task_group) if job else None
        migrate = group.migrate if group else None
        return Candidate(
            alloc,
            use,
            is_evictable=job is not None,
            max_parallel=migrate.max_parallel if migrate else 0,
            evicted_before=evicted_before,
        )


class _Clearing:
    """One node while room is made on it."""

    def __init__(
        self, context: EvalContext, node: Node, candidates: list[Candidate], use: UseSum
    ) -> None:
        self._context = context
        self._node = node
        self._candidates = candidates
        #: What is taken once the victims are gone.
        self.use = use
        self.victims: list[Candidate] = []

    def clear_network(self, ask: NetworkResource) -> UseSum | None:
        """Evict for a network ask that could not be granted; the use that is left, or None."""
        found = evict_for_network(ask, self._bandwidths(), self._candidates)
        return self._evict(found) if found else None

    def clear_device(self, request: RequestedDevice, in_use: DevicesInUse) -> UseSum | None:
        """Evict for a device request that could not be granted; the use that is left, or None."""
        groups = self._node.node_resources.devices
        found = evict_for_device(request, groups, in_use, self._candidates, self._context.matcher)
        return self._evict(found) if found else None

    def clear_resources(self, ask: UseSum) -> bool:
        """Evict for CPU, memory and disk; `use` still counts those victims afterwards."""
        cores = {core for use in ask.cores for core in use.cores}
        if cores and not cores <= capacity_cores(self._node):
            return False
        remaining = Amount(*capacity_of(self._node)).minus(Amount.of(self.use))
        found = evict_for_resources(Amount.of(ask), remaining, self._candidates)
        self.victims += found or []
        return found is not None

    def _evict(self, victims: Iterable[Candidate]) -> UseSum:
        gone = list(victims)
        self.victims += gone
        ids = {candidate.alloc.id for candidate in gone}
        self._candidates = [item for item in self._candidates if item.alloc.id not in ids]
        self.use = subtract_use(self.use, sum_uses(candidate.use for candidate in gone))
        return self.use

    def _bandwidths(self) -> dict[str, Bandwidth]:
        """Device to its bandwidth. What the placing job's own allocations take is not freed."""
        used: Counter[str] = Counter()
        for candidate in self._candidates:
            for network in networks_of(candidate):
                used[network.device] += network.mbits
        return {
            network.device: Bandwidth(network.mbits, network.mbits - used[network.device])
            for network in self._node.node_resources.networks
            if network.device
        }
