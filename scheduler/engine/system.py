"""The scheduler of system and sysbatch jobs: each group once on every node that takes it.

In: a snapshot and an evaluation; after each plan, the applier's answer. Out: see `outcome`. What
runs on one node never depends on another node's room (control-plane.md 2 and 3).
"""

from collections.abc import Generator

from scheduler.engine.attempt import Attempt, Tools, stopped_on_lost_nodes, tainted_nodes
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.plan.annotate import annotate
from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.node import reconcile_node
from scheduler.engine.reconcile.node_results import NodeResults, NodeSituation
from scheduler.engine.reconcile.update_kind import must_be_replaced
from scheduler.engine.run import Run, committed_whole
from scheduler.engine.stack import SystemStack
from scheduler.engine.system_placing import SystemPlacer
from scheduler.engine.system_rollout import settle_deployment
from scheduler.engine.system_work import SystemWork
from scheduler.engine.update_check import changed_in_place, may_stay
from scheduler.ports import Snapshot
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.node import Node
from scheduler.structs.plan import Plan

_SYSTEM_TRIGGERS = frozenset(
    {
        EvalTrigger.JOB_REGISTER,
        EvalTrigger.NODE_UPDATE,
        EvalTrigger.FAILED_FOLLOW_UP,
        EvalTrigger.JOB_DEREGISTER,
        EvalTrigger.ROLLING_UPDATE,
        EvalTrigger.PREEMPTION,
        EvalTrigger.DEPLOYMENT_WATCHER,
        EvalTrigger.NODE_DRAIN,
        EvalTrigger.ALLOC_STOP,
        EvalTrigger.QUEUED_ALLOCS,
        EvalTrigger.JOB_SCALING,
        EvalTrigger.RECONNECT,
    }
)
_SYSBATCH_TRIGGERS = _SYSTEM_TRIGGERS | {EvalTrigger.PERIODIC_JOB}
_SYSTEM_ATTEMPTS = 5
_SYSBATCH_ATTEMPTS = 2


class SystemScheduler:
    """System and sysbatch jobs. One instance per evaluation."""

    def __init__(self, snapshot: Snapshot, tools: Tools, *, is_sysbatch: bool) -> None:
        self._snapshot = snapshot
        self._tools = tools
        self._is_sysbatch = is_sysbatch
        self._deployment: Deployment | None = None
        #: The run, and the plan of it that waits for an answer.
        self._asked: tuple[Run, Plan] | None = None

    def process(self, evaluation: Evaluation) -> Generator[Plan, PlanAnswer, Outcome]:
        """Work the evaluation off; see `outcome` for the protocol."""
        run = Run(evaluation, self._tools, start_index=self._snapshot.index)
        triggers = _SYSBATCH_TRIGGERS if self._is_sysbatch else _SYSTEM_TRIGGERS
        if evaluation.triggered_by not in triggers:
            return run.refused_trigger()
        limit = _SYSBATCH_ATTEMPTS if self._is_sysbatch else _SYSTEM_ATTEMPTS
        fruitless = 0
        while fruitless < limit:
            plan = self._attempt(run)
            if plan is None:
                break
            self._asked = run, plan
            answer = yield plan
            run.count_committed(plan, answer.result)
            if answer.snapshot is None and answer.result.is_full_commit_of(plan):
                break
            has_moved = run.made_progress(answer, is_new_deployment=self._is_news(plan))
            fruitless = 0 if has_moved else fruitless + 1
            self._snapshot = answer.snapshot or self._snapshot
        else:
            return self._finish(run, EvalStatus.FAILED, f"maximum attempts reached ({limit})")
        return self._finish(run, EvalStatus.COMPLETE)

    def outcome_if_whole(self) -> Outcome:
        """What `process` returns if the plan it has yielded last is committed whole."""
        assert self._asked is not None, "a plan was yielded"
        return self._finish(committed_whole(*self._asked), EvalStatus.COMPLETE)

    def _is_news(self, plan: Plan) -> bool:
        """Whether the plan's deployment says more than the one stored before."""
        if plan.deployment is None:
            return False
        stored = self._snapshot.deployment(plan.deployment.id)
        return stored is None or _wishes(stored) != _wishes(plan.deployment)

    def _finish(self, run: Run, status: EvalStatus, description: str = "") -> Outcome:
        deployment_id = self._deployment.id if self._deployment else ""
        return run.finish(status, description, deployment_id=deployment_id)

    def _attempt(self, run: Run) -> Plan | None:
        """Compute one plan; None when there is nothing to submit."""
        attempt = Attempt(
            self._snapshot, run.evaluation, self._tools, snapshot_index=run.start_index
        )
        self._deployment = None if self._is_sysbatch else attempt.newest_deployment()
        stack = SystemStack(attempt.context)
        if attempt.job is not None and not attempt.is_stopped:
            stack.set_job(attempt.job)
        work = SystemWork(
            attempt=attempt,
            run=run,
            stack=stack,
            is_sysbatch=self._is_sysbatch,
            deployment=self._deployment,
        )
        self._compute(work)
        self._deployment = work.deployment
        run.note(attempt, stack)
        plan = attempt.plan.build()
        if plan.is_no_op and not run.evaluation.annotate_plan:
            return None
        return plan

    def _compute(self, work: SystemWork) -> None:
        # 1. What was told to stop on nodes that are gone.
        attempt = work.attempt
        allocs = attempt.context.job_allocs()
        tainted = tainted_nodes(attempt.snapshot, allocs)
        for alloc in stopped_on_lost_nodes(allocs, tainted):
            attempt.stop(alloc, reasons.LOST, client_status=ClientStatus.LOST)
        results = reconcile_node(self._situation(work, allocs))
        if results.deployment is not None:
            work.deployment = results.deployment
        attempt.plan.deployment_updates = tuple(results.deployment_updates)
        # 2. Stops of every kind.
        _stop(attempt, results)
        # 3. Changes in place; the others become destructive.
        _update_in_place(work, results)
        # 4-6. Counters, and as many destructive updates as the limits allow.
        placer = SystemPlacer(work, results)
        placer.annotate()
        placer.evict()
        # 7-9. A node for each entry: its own.
        placer.place()
        # 10-13. What the deployment makes of it.
        if work.deployment is not None and not self._is_sysbatch:
            settle_deployment(work, results)
        is_dry_run = attempt.evaluation.annotate_plan
        attempt.plan.annotations = annotate(
            work.desired, preempted=attempt.plan.preempted() if is_dry_run else ()
        )

    def _situation(self, work: SystemWork, allocs: tuple[Allocation, ...]) -> NodeSituation:
        attempt = work.attempt
        ready: dict[str, Node] = {}
        not_ready: frozenset[str] = frozenset()
        if not attempt.is_stopped:
            candidates = work.stack.candidates
            nodes = (attempt.snapshot.node(node_id) for node_id in candidates.node_ids)
            ready = {node.id: node for node in nodes if node is not None}
            not_ready = candidates.not_ready
        work.ready = ready
        return NodeSituation(
            job=attempt.job,
            ready=ready,
            not_ready=not_ready,
            tainted=tainted_nodes(attempt.snapshot, allocs),
            allocations=allocs,
            deployment=work.deployment,
            now=self._tools.now,
            job_of=attempt.snapshot.job_of,
            ids=self._tools.ids,
        )


def _wishes(deployment: Deployment) -> tuple[object, ...]:
    """What a scheduler writes into a deployment; the rest counts what nodes report."""
    return (
        deployment.status_description,
        {
            name: (state.desired_total, state.desired_canaries, state.placed_canaries)
            for name, state in deployment.task_groups.items()
        },
    )


def _stop(attempt: Attempt, results: NodeResults) -> None:
    for entry in results.stop:
        attempt.stop(entry.held, reasons.NOT_NEEDED)
    for entry in results.migrate:
        attempt.stop(entry.held, reasons.NODE_TAINTED)
    for entry in results.lost:
        attempt.stop(entry.held, reasons.LOST, client_status=ClientStatus.LOST)
    for entry in results.disconnecting:
        attempt.update(entry.held, keeps_version=True)


def _update_in_place(work: SystemWork, results: NodeResults) -> None:
    attempt, job = work.attempt, work.attempt.job
    for entry in (*results.update, *results.reconnecting):
        assert job is not None, "a stopped job updates nothing"
        assert entry.task_group is not None, "an update belongs to a group of the job"
        alloc = entry.held
        origin = attempt.snapshot.job_of(alloc)
        if origin is None or must_be_replaced(origin, job, entry.task_group.name):
            work.destructive.append(entry)
            continue
        if alloc.is_terminal:
            work.inplace.append(entry)
            continue
        changed = None
        if may_stay(attempt.snapshot.node(alloc.node_id), job):
            changed = changed_in_place(attempt, work.stack, alloc, job, entry.task_group)
        if changed is None:
            work.destructive.append(entry)
            continue
        work.inplace.append(entry)
        deployment_id = work.deployment.id if work.deployment else ""
        attempt.update(changed.changed(deployment_id=deployment_id, deployment_status=None))
