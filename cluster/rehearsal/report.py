"""What a rehearsal found, put together: who goes where, who waits and why, who falls below.

In: a rehearsal that has ended. Out: `Rehearsed`. Every number is of the branch or the ledger.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from cluster.rehearsal.beside import assumptions_of, nodes_of
from cluster.rehearsal.ledger import COUNTED, AllocMoments, GroupKey
from cluster.rehearsal.result import (
    RehearsalTotals,
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedOutcome,
    WaitReason,
)
from cluster.rehearsal.rolled_out import rollout_of
from cluster.rehearsal.run import Rehearsal
from cluster.rehearsal.slots import counts, keeps_slot, runs_itself
from cluster.rehearsal.waits import WaitReasons
from scheduler.state.nouns import ALLOCATIONS, DEPLOYMENTS, EVALUATIONS
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.node import Node
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.task_group import TaskGroup

MOST_ALLOCATIONS = 20_000
MOST_GROUPS = 5_000
MOST_EVALUATIONS = 5_000
MOST_NODES = 10_000
#: Nodes that something is to leave.
_LEFT = frozenset({"drained", "lost", "purged"})
_NEED = (RehearsedOutcome.PLACED, RehearsedOutcome.WAITS, RehearsedOutcome.HELD)
_ORDER = {
    RehearsedOutcome.WAITS: 0,
    RehearsedOutcome.HELD: 1,
    RehearsedOutcome.PLACED: 2,
    RehearsedOutcome.FINISHES: 3,
    RehearsedOutcome.STOPPED: 4,
    RehearsedOutcome.UPDATED: 5,
}


def report(rehearsal: Rehearsal) -> Rehearsed:
    """Put the result of an ended rehearsal together."""
    rehearsal.ledger.close()
    return _Report(rehearsal).made()


@dataclass
class _Tally:
    """What became of one group's allocations."""

    placed: int = 0
    waits: int = 0
    held: int = 0
    waiting: WaitReason | None = None


@dataclass
class _Report:
    rehearsal: Rehearsal
    _tallies: dict[GroupKey, _Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = self.rehearsal.store
        self.ledger = self.rehearsal.ledger
        self.reasons = WaitReasons(self.store)
        self.successors: dict[str, Allocation] = {}
        self.moved_again = 0
        for alloc in self.store.own.list_all(ALLOCATIONS):
            if alloc.previous_allocation and self.store.base.allocation(alloc.id) is None:
                self.successors[alloc.previous_allocation] = alloc

    def made(self) -> Rehearsed:
        allocations = sorted(self._allocations(), key=_place_of)
        for each in allocations:
            self._count(each)
        groups = sorted(self._groups(), key=_worst_first)
        nodes = list(nodes_of(self.rehearsal))
        evaluations = [
            row for row in self.store.own.list_all(EVALUATIONS) if row.id in self.ledger.eval_ids
        ]
        return Rehearsed(
            index=self.store.base.index,
            read_at=self.rehearsal.begin,
            lasts=self.rehearsal.lasts,
            took=self.rehearsal.took,
            ending=self.rehearsal.end,
            assumptions=tuple(assumptions_of(self.rehearsal, allocations)),
            totals=self._totals(allocations, groups, len(evaluations)),
            groups=tuple(groups[:MOST_GROUPS]),
            allocations=tuple(allocations[:MOST_ALLOCATIONS]),
            nodes=tuple(nodes[:MOST_NODES]),
            evaluations=tuple(evaluations[:MOST_EVALUATIONS]),
            rollout=rollout_of(self.rehearsal),
            groups_left_out=max(0, len(groups) - MOST_GROUPS),
            allocations_left_out=max(0, len(allocations) - MOST_ALLOCATIONS),
            nodes_left_out=max(0, len(nodes) - MOST_NODES),
            evaluations_left_out=max(0, len(evaluations) - MOST_EVALUATIONS),
        )

    def _count(self, each: RehearsedAllocation) -> None:
        tally = self._tallies.setdefault(_group_key(each), _Tally())
        tally.placed += each.outcome is RehearsedOutcome.PLACED
        tally.waits += each.outcome is RehearsedOutcome.WAITS
        tally.held += each.outcome is RehearsedOutcome.HELD
        tally.waiting = tally.waiting or each.waiting

    # Allocations.

    def _allocations(self) -> Iterator[RehearsedAllocation]:
        """Those of the record that something befell or that were to leave, then new ones."""
        before = {alloc.id: alloc for alloc in self._concerned()}
        missing = self._missing(before.values())
        for alloc in before.values():
            yield self._told(alloc, missing)
        for alloc in self.store.own.list_all(ALLOCATIONS):
            is_new = self.store.base.allocation(alloc.id) is None
            if is_new and not alloc.is_terminal and self._root(alloc) not in before:
                yield self._placed(None, alloc)
        for (key, group), names in missing.items():
            for name in names:
                job = self.store.job(key)
                assert job is not None, "only jobs that are there miss any"
                yield RehearsedAllocation(
                    name=name,
                    namespace=key.namespace,
                    job_id=key.job_id,
                    task_group=group,
                    job_type=job.type,
                    priority=job.priority,
                    outcome=RehearsedOutcome.WAITS,
                    waiting=self.reasons.of(key, group),
                )

    def _concerned(self) -> Iterator[Allocation]:
        seen: set[str] = set()
        for alloc_id in self.ledger.moments:
            alloc = self.store.base.allocation(alloc_id)
            if alloc is not None and not alloc.is_terminal:
                seen.add(alloc_id)
                yield alloc
        for node_id, fate in self.rehearsal.stage.fates.items():
            if fate in _LEFT:
                for alloc in self.store.base.allocations_by_node(node_id):
                    if not alloc.is_terminal and alloc.id not in seen:
                        yield alloc

    def _missing(self, before: Iterable[Allocation]) -> dict[GroupKey, list[str]]:
        """Names that are wanted of the groups concerned, and that nobody has in the end."""
        keys = dict.fromkeys([(alloc.job_key, alloc.task_group) for alloc in before])
        keys |= dict.fromkeys(self.ledger.lines)
        missing: dict[GroupKey, list[str]] = {}
        for key, group in keys:
            job = self.store.job(key)
            if job is None or job.type not in COUNTED or not runs_itself(job):
                continue
            live = [
                alloc
                for alloc in self.store.allocations_by_job(key)
                if alloc.task_group == group and (counts(alloc) or keeps_slot(alloc))
            ]
            lacks = self.ledger.wanted((key, group)) - len(live)
            if lacks > 0:
                taken = {alloc.name for alloc in live}
                names = (f"{key.job_id}.{group}[{number}]" for number in range(len(live) + lacks))
                free = [name for name in names if name not in taken]
                missing[key, group] = free[:lacks]
        return missing

    def _told(self, alloc: Allocation, missing: dict[GroupKey, list[str]]) -> RehearsedAllocation:
        last = self._last_of(alloc)
        self.moved_again += self._went_again(alloc)
        if last is not alloc and not last.is_terminal:
            return self._placed(alloc, last)
        now = self.store.allocation(alloc.id)
        if now is None:
            # Its job was purged with all it had.
            return self._row(alloc, RehearsedOutcome.STOPPED, None)
        names = missing.get((alloc.job_key, alloc.task_group), [])
        if not now.is_terminal and now.client_status is not ClientStatus.UNKNOWN:
            outcome = self._of_staying(now)
        elif alloc.name in names:
            names.remove(alloc.name)
            outcome = RehearsedOutcome.WAITS
        elif names and alloc.job_type in COUNTED:
            # Whatever takes its place may have another name.
            names.pop()
            outcome = RehearsedOutcome.WAITS
        else:
            outcome = RehearsedOutcome.STOPPED
        waits = outcome is RehearsedOutcome.WAITS
        return self._row(
            alloc, outcome, self.reasons.of(alloc.job_key, alloc.task_group) if waits else None
        )

    def _of_staying(self, alloc: Allocation) -> RehearsedOutcome:
        node = self.store.node(alloc.node_id)
        if node is not None and node.drain_strategy is None and not self._is_to_drain(node):
            return RehearsedOutcome.UPDATED
        if alloc.job_type not in COUNTED:
            # System work leaves last; it needs no other place.
            return RehearsedOutcome.STOPPED
        if alloc.job_type == JobType.BATCH:
            return RehearsedOutcome.FINISHES
        if self.reasons.of(alloc.job_key, alloc.task_group) is not None:
            return RehearsedOutcome.WAITS
        return RehearsedOutcome.HELD

    def _is_to_drain(self, node: Node) -> bool:
        return node.id in self.rehearsal.stage.waiting_nodes

    def _placed(self, before: Allocation | None, last: Allocation) -> RehearsedAllocation:
        scores = last.metrics.score_meta_data
        own = next((each for each in scores if each.node_id == last.node_id), None)
        other = next((each for each in scores if each.node_id != last.node_id), None)
        row = self._row(before or last, RehearsedOutcome.PLACED, None)
        moments = self.ledger.moments.get(last.id, AllocMoments())
        return replace(
            row,
            id=before.id if before is not None else "",
            from_node_id=before.node_id if before is not None else "",
            from_node_name=self._name_of(before.node_id) if before is not None else "",
            asked_at=row.asked_at if before is not None else -1,
            stopped_at=row.stopped_at if before is not None else -1,
            to_node_id=last.node_id,
            to_node_name=self._name_of(last.node_id),
            score=own.norm_score if own is not None else None,
            next_node_id=other.node_id if other is not None else "",
            next_node_name=self._name_of(other.node_id) if other is not None else "",
            next_score=other.norm_score if other is not None else None,
            started_at=self._since(moments.started),
            healthy_at=self._since(moments.healthy),
        )

    def _row(
        self, alloc: Allocation, outcome: RehearsedOutcome, waiting: WaitReason | None
    ) -> RehearsedAllocation:
        moments = self.ledger.moments.get(alloc.id, AllocMoments())
        now = self.store.allocation(alloc.id) or alloc
        return RehearsedAllocation(
            id=alloc.id,
            name=alloc.name,
            namespace=alloc.namespace,
            job_id=alloc.job_id,
            task_group=alloc.task_group,
            job_type=alloc.job_type,
            priority=alloc.job_priority,
            outcome=outcome,
            from_node_id=alloc.node_id,
            from_node_name=self._name_of(alloc.node_id),
            waiting=waiting,
            asked_at=self._since(moments.asked),
            stopped_at=self._since(moments.stopped),
            preempted_by=now.preempted_by_allocation,
        )

    def _last_of(self, alloc: Allocation) -> Allocation:
        while (successor := self.successors.get(alloc.id)) is not None:
            alloc = successor
        return alloc

    def _went_again(self, alloc: Allocation) -> bool:
        """Whether one that took its place was to go as well."""
        while (successor := self.successors.get(alloc.id)) is not None:
            alloc = successor
            if self.ledger.moments.get(alloc.id, AllocMoments()).asked:
                return True
        return False

    def _root(self, alloc: Allocation) -> str:
        while alloc.previous_allocation:
            previous = self.store.allocation(alloc.previous_allocation)
            if previous is None or self.successors.get(previous.id) is not alloc:
                return alloc.id
            alloc = previous
        return alloc.id

    def _name_of(self, node_id: str) -> str:
        node = self.store.node(node_id) or self.store.base.node(node_id)
        return node.name if node is not None else ""

    def _since(self, at: int) -> int:
        return at - self.rehearsal.begin if at else -1

    # Groups.

    def _groups(self) -> Iterator[RehearsedGroup]:
        for key, line in self.ledger.lines.items():
            job = self.store.job(key[0])
            tally = self._tallies.get(key, _Tally())
            group = job.task_group(key[1]) if job is not None else None
            rollout = self._rollout_of(key)
            yield RehearsedGroup(
                namespace=key[0].namespace,
                job_id=key[0].job_id,
                task_group=key[1],
                job_type=job.type if job is not None else "",
                priority=job.priority if job is not None else 0,
                count=self.ledger.wanted(key),
                before=line.before,
                lowest=line.lowest,
                lowest_at=self._since(line.lowest_at),
                after=len(line.up),
                below_for=line.below_for,
                max_parallel=_max_parallel(group),
                placed=tally.placed,
                waits=tally.waits,
                held=tally.held,
                waiting=tally.waiting,
                rollout=rollout.status.value if rollout is not None else "",
                rollout_description=rollout.status_description if rollout is not None else "",
                done_at=max(0, self._since(line.moved_at)),
            )

    def _rollout_of(self, key: GroupKey) -> Deployment | None:
        rows = self.store.own.list_by(DEPLOYMENTS, "job", key[0])
        ours = [row for row in rows if key[1] in row.task_groups]
        return max(ours, key=lambda row: row.create_index, default=None)

    # The whole.

    def _totals(
        self,
        allocations: list[RehearsedAllocation],
        groups: list[RehearsedGroup],
        evaluations: int,
    ) -> RehearsalTotals:
        counts = dict.fromkeys(RehearsedOutcome, 0)
        for each in allocations:
            counts[each.outcome] += 1
        return RehearsalTotals(
            need_place=sum(counts[outcome] for outcome in _NEED),
            placed=counts[RehearsedOutcome.PLACED],
            waits=counts[RehearsedOutcome.WAITS],
            held=counts[RehearsedOutcome.HELD],
            finishes=counts[RehearsedOutcome.FINISHES],
            stopped=counts[RehearsedOutcome.STOPPED],
            updated=counts[RehearsedOutcome.UPDATED],
            destinations=len({each.to_node_id for each in allocations if each.to_node_id}),
            evaluations=evaluations,
            jobs=len({(group.namespace, group.job_id) for group in groups}),
            end_below=sum(group.after < group.count for group in groups),
            fall_below=sum(group.lowest < min(group.before, group.count) for group in groups),
            moved_again=self.moved_again,
        )


def _max_parallel(group: TaskGroup | None) -> int:
    if group is None:
        return 0
    return (group.migrate or MigrateStrategy()).max_parallel


def _group_key(each: RehearsedAllocation) -> GroupKey:
    return JobKey(each.namespace, each.job_id), each.task_group


def _place_of(each: RehearsedAllocation) -> tuple[object, ...]:
    return (
        _ORDER[each.outcome],
        -each.priority,
        each.namespace,
        each.job_id,
        natural_order(each.name),
    )


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """`web[5]` before `web[10]`."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts)


def _worst_first(group: RehearsedGroup) -> tuple[object, ...]:
    lacks = max(0, group.count - group.after)
    fell = max(0, min(group.before, group.count) - group.lowest)
    return (-(group.waits + lacks), -group.held, -fell, -group.priority, group.job_id)
