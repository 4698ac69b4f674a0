"""Choose a node for one allocation of a task group: first who could ever, then who is best now.

In: an EvalContext, a job version, a task group, options. Out: a RankedNode with all it is given,
or None, and the metrics of the decision on the context. Proposes nothing itself: the caller adds
the placement, its stops and its evictions to the context.
"""

from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility.check import FeasibilityAsk
from scheduler.engine.feasibility.class_memo import ClassMemo, Seen, class_eligibility
from scheduler.engine.feasibility.readiness import candidate_rows, pool_rows
from scheduler.engine.feasibility.volumes import depends_on_alloc_name
from scheduler.engine.group_state import Chosen, GroupState, Setting
from scheduler.engine.standing import Standing, explanation
from scheduler.state.node_table import Bools, NodeTable
from scheduler.state.nouns import NODE_POOLS
from scheduler.structs.allocation import Allocation
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node
from scheduler.structs.resources import AllocatedResources
from scheduler.structs.task_group import TaskGroup


class SelectOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What distinguishes one select from another of the same group."""

    #: Nodes that score lower, because an earlier allocation failed there.
    penalty_node_ids: frozenset[str] = frozenset()
    #: Nodes tried first and on their own; the first that takes the group wins, however it scores.
    preferred_node_ids: tuple[str, ...] = ()
    #: Whether lower-priority allocations may be evicted.
    preempt: bool = False
    #: `job.group[index]`, for volumes per allocation.
    alloc_name: str = ""
    #: Look at this node alone, ready or not: an update in place, or a system job's node.
    only_node_id: str = ""


DEFAULT_OPTIONS = SelectOptions()


class RankedNode(NamedTuple):
    """A chosen node and what the allocation is given of it."""

    node: Node
    resources: AllocatedResources
    norm_score: float
    #: The score columns recorded for the node, by name.
    scores: dict[str, float]
    #: Allocations to evict for it, as stored.
    preempted: tuple[Allocation, ...]


class Candidates:
    """The nodes a job may be placed on before any check (placement.md 3).

    Names are made when they are asked for: of thousands of nodes most jobs want the count alone.
    """

    def __init__(self, table: NodeTable, job: Job) -> None:
        self._table = table
        self._pool = job.node_pool
        self.rows: Bools = candidate_rows(table, job)
        self.count = int(np.count_nonzero(self.rows))

    @cached_property
    def node_ids(self) -> tuple[str, ...]:
        """Their ids, in the order of rows."""
        return self._ids(self.rows)

    @cached_property
    def not_ready(self) -> frozenset[str]:
        """Ids of nodes of the job's pool that take no new allocations, in any datacenter."""
        table = self._table
        return frozenset(self._ids(pool_rows(table, self._pool) & table.present & ~table.ready))

    @cached_property
    def by_datacenter(self) -> dict[str, int]:
        """How many of them there are in each datacenter that has any."""
        datacenters = self._table.column("${node.datacenter}")
        codes = datacenters.codes[self.rows]
        counts = np.bincount(codes, minlength=len(datacenters.values)).tolist()
        named = zip(datacenters.values, counts, strict=True)
        return {name: count for name, count in named if count}

    def _ids(self, rows: Bools) -> tuple[str, ...]:
        return tuple(self._table.node_at(row).id for row in np.flatnonzero(rows).tolist())


class ClassReport(NamedTuple):
    """What a blocked evaluation is told of the checks (placement.md 5)."""

    has_escaped: bool
    #: Computed class to whether a node of it could take a group; empty when escaped, except with
    #: `even_if_escaped`.
    eligibility: dict[str, bool]
    #: Sorted, as `csi-volume:<namespace>:<id>`.
    missing_resources: tuple[str, ...]
    #: The quota that kept a group from being placed; "" when none did.
    quota_limit_reached: str


class ServiceStack:
    """The stack of service and batch jobs. One per attempt; it follows the context's changes."""

    def __init__(self, context: EvalContext) -> None:
        self._groups = _Groups(context, with_preferences=True)
        self._context = context
        self._used: list[GroupState] = []

    def set_job(self, job: Job) -> None:
        """Select for this job version from now on; earlier versions keep what was computed."""
        self._groups.set_job(job)

    @property
    def candidates(self) -> Candidates:
        """The nodes of the current job version's pool and datacenters that are ready."""
        return self._groups.candidates()

    def select(
        self, group: TaskGroup, options: SelectOptions = DEFAULT_OPTIONS
    ) -> RankedNode | None:
        """The best node for one allocation of the group, or None.

        `context.metrics` then tells of this select alone. With `preferred_node_ids` those are
        tried first, one by one, by the same checks.
        """
        state = self._groups.state(group, options.alloc_name)
        if state not in self._used:
            self._used.append(state)
        table = self._context.table
        penalty_rows = frozenset(map(table.row_of, options.penalty_node_ids)) - {-1}
        alone = (options.only_node_id,) if options.only_node_id else options.preferred_node_ids
        for row in map(table.row_of, alone):
            chosen = None
            if row >= 0:
                chosen = state.choose_on(row, penalty_rows, preempt=options.preempt)
            if chosen is not None or options.only_node_id:
                return self._groups.answer(state, chosen)
        return self._groups.answer(state, state.choose(penalty_rows, preempt=options.preempt))

    def explain(self, group_name: str) -> GroupExplanation:
        """What refuses one more of a group that was asked for, as the plan stands."""
        return explanation(self.standing(group_name))

    def standing(self, group_name: str) -> Standing:
        """What one more of a group that was asked for would find on each node."""
        return self._groups.newest[group_name].standing(only_empty=False)

    def class_report(self, *, even_if_escaped: bool = False) -> ClassReport:
        """What the selects of this attempt found out about classes of nodes.

        When a constraint escapes its class, eligibility is left out but for `even_if_escaped`.
        """
        seen = [Seen(state.verdict, state.looked_at) for state in self._used]
        report = _report(self._context, seen, even_if_escaped=even_if_escaped)
        over = [state.quota_limit_reached for state in self._used if state.quota_limit_reached]
        if not over:
            return report
        # What was found out about nodes must not keep from it that the quota has room again.
        return report._replace(has_escaped=False, eligibility={}, quota_limit_reached=over[0])


class SystemStack:
    """The stack of system and sysbatch jobs: asked about one node at a time.

    No distinct_hosts and no scores but fit and devices. Whether it may evict is fixed by the
    settings and the job's type. `options.only_node_id` must be set.
    """

    def __init__(self, context: EvalContext) -> None:
        self._groups = _Groups(context, with_preferences=False)
        self._context = context
        self._may_evict = False
        self._last: tuple[GroupState, int] | None = None

    def set_job(self, job: Job) -> None:
        """Select for this job version from now on."""
        self._groups.set_job(job)
        switches = self._context.settings.preemption_config
        self._may_evict = (
            switches.sys_batch_scheduler_enabled
            if job.type == JobType.SYSBATCH
            else switches.system_scheduler_enabled
        )

    @property
    def candidates(self) -> Candidates:
        """The nodes of the current job version's pool and datacenters that are ready."""
        return self._groups.candidates()

    def select(self, group: TaskGroup, options: SelectOptions) -> RankedNode | None:
        """That node with everything granted, or None; `context.metrics` tells why."""
        state = self._groups.state(group, options.alloc_name)
        row = self._context.table.row_of(options.only_node_id)
        if row < 0:
            return None
        self._last = (state, row)
        return self._groups.answer(
            state, state.choose_on(row, frozenset(), preempt=self._may_evict)
        )

    def explain(self, group_name: str) -> GroupExplanation:
        """As in ServiceStack, of the nodes that hold none of the group."""
        return explanation(self.standing(group_name))

    def ask(self, group: TaskGroup) -> Standing:
        """What one of the group would find on each node, though none was selected."""
        return self._groups.state(group, "").standing(only_empty=True)

    def standing(self, group_name: str) -> Standing:
        """As in ServiceStack, of the nodes that hold none of the group."""
        return self._groups.newest[group_name].standing(only_empty=True)

    def class_report(self, *, even_if_escaped: bool = False) -> ClassReport:
        """As in ServiceStack, of the last select alone."""
        seen, over = [], ""
        if self._last is not None:
            state, row = self._last
            over = state.quota_limit_reached
            alone = np.zeros(state.looked_at.size, dtype=np.bool_)
            alone[row] = True
            if not over:
                seen.append(Seen(state.verdict, alone))
        report = _report(self._context, seen, even_if_escaped=even_if_escaped)
        return report._replace(quota_limit_reached=over)


class _Groups:
    """What both stacks keep: candidates by pool and datacenters, and a state per group."""

    def __init__(self, context: EvalContext, *, with_preferences: bool) -> None:
        self._context = context
        self._with_preferences = with_preferences
        self._job: Job | None = None
        self._candidates: dict[tuple[str, tuple[str, ...]], Candidates] = {}
        self._states: dict[tuple[int, str, str], GroupState] = {}
        #: By name of the group, the state that answered last.
        self.newest: dict[str, GroupState] = {}
        # A system stack forgets with every select, so it has nothing to remember.
        self._memo = ClassMemo(context.table) if with_preferences else None

    def set_job(self, job: Job) -> None:
        self._job = job

    def candidates(self) -> Candidates:
        """The candidates of the current job version."""
        job = self._current_job()
        key = (job.node_pool, job.datacenters)
        if key not in self._candidates:
            self._candidates[key] = Candidates(self._context.table, job)
        return self._candidates[key]

    def state(self, group: TaskGroup, alloc_name: str) -> GroupState:
        """The state of a group of the current job version, made when it is first asked for."""
        job = self._current_job()
        name = alloc_name if depends_on_alloc_name(group) else ""
        key = (job.version, group.name, name)
        state = self._states.get(key)
        if state is None or state.job is not job:
            context = self._context
            ask = FeasibilityAsk(
                context.table, job, group, context.matcher, name, context.snapshot
            )
            state = self._states[key] = GroupState(
                self._context, ask, self._setting(job), self.candidates().rows, self._memo
            )
        return state

    def answer(self, state: GroupState, chosen: Chosen | None) -> RankedNode | None:
        """Leave the metrics of a choice on the context, and put the choice in words."""
        self._context.metrics = state.metrics
        self.newest[state.group_name] = state
        if chosen is None:
            return None
        return RankedNode(
            node=self._context.table.node_at(chosen.row),
            resources=chosen.resources,
            norm_score=chosen.scored.norm_score,
            scores=chosen.scored.scores,
            preempted=chosen.evicted,
        )

    def _setting(self, job: Job) -> Setting:
        """The cluster's settings, overridden by those of the job's pool."""
        settings = self._context.settings
        pool = self._context.snapshot.get(NODE_POOLS, job.node_pool)
        own = pool.scheduler_configuration if pool else None
        oversubscription = own.memory_oversubscription_enabled if own else None
        if oversubscription is None:
            oversubscription = settings.memory_oversubscription_enabled
        return Setting(
            algorithm=(own.scheduler_algorithm if own else "") or settings.scheduler_algorithm,
            oversubscription=oversubscription,
            with_preferences=self._with_preferences,
        )

    def _current_job(self) -> Job:
        assert self._job is not None, "set_job comes before everything else"
        return self._job


def _report(context: EvalContext, seen: list[Seen], *, even_if_escaped: bool) -> ClassReport:
    has_escaped = any(item.verdict.job_escapes or item.verdict.group_escapes for item in seen)
    tells = even_if_escaped or not has_escaped
    missing = {name for item in seen for name in item.verdict.missing_resources}
    return ClassReport(
        has_escaped=has_escaped,
        eligibility=class_eligibility(context.table, seen) if tells else {},
        missing_resources=tuple(sorted(missing)),
        quota_limit_reached="",
    )
