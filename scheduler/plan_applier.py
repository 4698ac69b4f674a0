"""The one judge of plans: every plan is checked against a state with all earlier ones in it.

In: plans in order of urgency, a store. Out: one outcome per plan; the accepted parts are
committed, a whole group in one write. Queueing, answering and the lease are not known here.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from scheduler.engine.plan.evaluate import evaluate_plan
from scheduler.errors import PlanRefused
from scheduler.messages import PlanOutcome, QueuedPlan
from scheduler.ports import Change, Clock, Fence, IDSource
from scheduler.rejected_nodes import RejectedNodes
from scheduler.state.events import WriteKind
from scheduler.state.foresight import Foresight, JobAct
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.evaluations import write_outcomes
from scheduler.state.writes.explanations import write_explanations
from scheduler.state.writes.plans import commit_plan
from scheduler.state.writes.story_roots import preemption_story
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import (
    Cause,
    CauseKind,
    EvalTrigger,
    Evaluation,
    LifecycleStep,
    Step,
)
from scheduler.structs.explanation import ExplainedBounds
from scheduler.structs.moment import Moment
from scheduler.structs.node import NodeEligibility
from scheduler.structs.plan import Plan, PlanResult

GROUP_LIMIT = 64

Result = TypeVar("Result")


class PlanStore(Protocol):
    """What an applier needs of a store."""

    def write(
        self,
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """As `StateStore.write`, fence included."""


class BrokenPlan(PlanRefused):
    """A plan broke after it had begun to write: the group must be committed without it."""

    def __init__(self, plan_id: str, reason: str) -> None:
        super().__init__(reason)
        self.plan_id = plan_id
        self.reason = reason


class PlanApplier:
    """Checks and commits plans, one group after another (evaluations.md 9)."""

    def __init__(
        self,
        ids: IDSource,
        rejected_nodes: RejectedNodes | None = None,
        explained: ExplainedBounds | None = None,
        clock: Clock | None = None,
    ) -> None:
        """With a `clock` an answer's step says when it was found; else when its write began."""
        self._ids = ids
        self._clock = clock
        #: How much of each job stays explained.
        self._explained = explained
        self._rejected_nodes = rejected_nodes or RejectedNodes()

    def apply(
        self,
        store: PlanStore,
        queued: Sequence[QueuedPlan],
        moment: Moment,
        *,
        fence: Fence | None = None,
    ) -> list[PlanOutcome]:
        """Commit a group in one write; outcomes in the order of the plans.

        A plan that breaks while it is written is taken out and the others are judged anew. Raises
        Fenced when the lease has moved on.
        """
        broken: dict[str, PlanOutcome] = {}
        while True:
            group = [entry for entry in queued if entry.plan.id not in broken]
            try:
                _, outcomes = store.write(
                    WriteKind.PLAN_RESULT,
                    partial(self.apply_group, queued=group, monotonic=moment.monotonic),
                    now=moment.now,
                    fence=fence,
                )
            except BrokenPlan as error:
                broken[error.plan_id] = PlanOutcome(plan_id=error.plan_id, error=error.reason)
                continue
            by_id = broken | {outcome.plan_id: outcome for outcome in _refreshed(outcomes)}
            return [by_id[entry.plan.id] for entry in queued]

    def apply_group(
        self, change: Change, queued: Sequence[QueuedPlan], *, monotonic: float
    ) -> list[PlanOutcome]:
        """Judge plans in order inside one open transaction, each with the earlier ones in it.

        A plan refused before anything of it is written gets an error as its outcome; one that
        breaks later raises BrokenPlan, and the transaction must be rolled back.
        """
        change.foresee(*(_foresight(entry.plan) for entry in queued))
        change.preload(
            allocs=[alloc.id for entry in queued for alloc in _allocations(entry.plan)],
            nodes=list(dict.fromkeys(node for entry in queued for node in _nodes(entry.plan))),
        )
        outcomes = []
        for entry in queued:
            outcome = self._apply_one(change, entry.plan, monotonic)
            if outcome.result is not None and outcome.result.alloc_index:
                _write_steps(change, entry.steps)
                outcome = self._end(change, entry, outcome)
            outcomes.append(outcome)
        return outcomes

    def _apply_one(self, change: Change, plan: Plan, monotonic: float) -> PlanOutcome:
        try:
            result = self._judge(change, plan, monotonic)
        except PlanRefused as error:
            return PlanOutcome(plan_id=plan.id, error=str(error))
        if result.is_no_op:
            return PlanOutcome(plan_id=plan.id, result=result)
        evaluations = preemption_evaluations(change, plan, result, self._ids)
        try:
            committed = commit_plan(change, plan, result, evaluations)
        except Exception as error:
            raise BrokenPlan(plan.id, str(error) or type(error).__name__) from error
        return PlanOutcome(plan_id=plan.id, result=committed)

    def _end(self, change: Change, entry: QueuedPlan, outcome: PlanOutcome) -> PlanOutcome:
        """Commit what the run leaves as well, if all of its plan was: then it is over."""
        plan, result = entry.plan, outcome.result
        assert result is not None, "only what was committed may end"
        if plan.ending is None or result.refresh_index or not result.is_full_commit_of(plan):
            return outcome
        before = change.evaluation(plan.eval_id)
        if before is None or before.is_terminal:
            # It was ended by somebody else meanwhile: the run will hear of it when it finishes.
            return outcome
        try:
            write_outcomes(change, plan.ending.evaluations)
            write_explanations(change, plan.ending.explanations, self._explained)
            found_at = max(change.now, self._clock.now()) if self._clock else change.now
            _write_steps(change, _last_steps(entry, found_at))
        except Exception as error:
            raise BrokenPlan(plan.id, str(error) or type(error).__name__) from error
        return msgspec.structs.replace(outcome, has_ended=True)

    def _judge(self, change: Change, plan: Plan, monotonic: float) -> PlanResult:
        if change.evaluation(plan.eval_id) is None:
            raise PlanRefused(f'unable to find eval id "{plan.eval_id}"')
        if plan.node_allocation and plan.job_version is None:
            raise PlanRefused("plan missing embedded job")
        if plan.node_allocation and change.job(plan.job_key) is None:
            raise PlanRefused(f'job "{plan.job_id}" in namespace "{plan.namespace}" not found')
        result = evaluate_plan(change, plan)
        tracker = self._rejected_nodes
        if result.rejected_nodes:
            tracker.follow(change.scheduler_settings().node_rejection)
        suspects = [
            node_id
            for node_id in result.rejected_nodes
            if tracker.add(node_id, monotonic) and change.node(node_id) is not None
        ]
        ineligible: list[str] = []
        if suspects:
            # Seldom: the tracker lets few nodes through.
            nodes = change.nodes()
            closed = sum(
                node.scheduling_eligibility is NodeEligibility.INELIGIBLE for node in nodes
            )
            for node_id in suspects:
                if tracker.may_close(closed + len(ineligible), len(nodes)):
                    ineligible.append(node_id)
        return msgspec.structs.replace(result, ineligible_nodes=tuple(ineligible))


def _foresight(plan: Plan) -> Foresight:
    placed = next((alloc for some in plan.node_allocation.values() for alloc in some), None)
    version = (placed.job_create_index, placed.job_version) if placed is not None else None
    return Foresight(JobAct.PLAN, plan.job_key, plan.eval_id, version)


def _last_steps(entry: QueuedPlan, now: int) -> Iterable[LifecycleStep]:
    """The plan's answer and the end of its evaluation, numbered on from the leader's steps."""
    plan, newest = entry.plan, entry.newest_step
    assert plan.ending is not None, "only what ends has last steps"
    ended = plan.ending.evaluations[-1]
    number = newest.number if newest else 0
    yield LifecycleStep(
        eval_id=plan.eval_id,
        number=number + 1,
        step=Step.PLAN_ANSWERED,
        at=now,
        duration_ns=max(0, now - newest.at) if newest else 0,
        actor="applier",
        plan_id=plan.id,
        taken_at=entry.taken_at,
    )
    yield LifecycleStep(
        eval_id=plan.eval_id,
        number=number + 2,
        step=Step(ended.status.value),
        at=now,
        # The worker decided it when it submitted the plan.
        actor=newest.actor if newest else "applier",
        reason=ended.status_description,
    )


def _write_steps(change: Change, steps: Iterable[LifecycleStep]) -> None:
    for step in steps:
        change.put(LIFECYCLE_STEPS, msgspec.structs.replace(step, index=change.index))


def _refreshed(outcomes: list[PlanOutcome]) -> list[PlanOutcome]:
    """Have refusals ask for a state with the whole group in it: that is what they were judged on.

    A plan refused whole commits nothing, so its own index is that of the state before the group.
    """
    index = max((item.result.alloc_index for item in outcomes if item.result), default=0)
    return [
        msgspec.structs.replace(
            item, result=msgspec.structs.replace(item.result, refresh_index=index)
        )
        if item.result and 0 < item.result.refresh_index < index
        else item
        for item in outcomes
    ]


def preemption_evaluations(
    change: Change, plan: Plan, result: PlanResult, ids: IDSource
) -> tuple[Evaluation, ...]:
    """One evaluation per job that loses allocations to this plan and still exists."""
    victims = dict.fromkeys(
        alloc.job_key for allocs in result.node_preemptions.values() for alloc in allocs
    )
    evaluations = []
    story = preemption_story(change, plan.eval_id) if victims else ""
    for key in victims:
        job = change.job(key)
        if job is None:
            continue
        evaluations.append(
            Evaluation(
                id=ids.next_id(),
                namespace=key.namespace,
                priority=job.priority,
                type=job.type,
                triggered_by=EvalTrigger.PREEMPTION,
                job_id=key.job_id,
                create_time=change.now,
                modify_time=change.now,
                cause=Cause(
                    kind=CauseKind.PLAN,
                    id=plan.id,
                    text=f"preempted by evaluation {plan.eval_id} of job {plan.job_id}",
                ),
                story_id=story,
            )
        )
    return tuple(evaluations)


def _allocations(plan: Plan) -> Iterable[Allocation]:
    for part in (plan.node_update, plan.node_allocation, plan.node_preemptions):
        for allocs in part.values():
            yield from allocs


def _nodes(plan: Plan) -> Iterable[str]:
    yield from plan.node_update
    yield from plan.node_allocation
