"""The scheduler of service and batch jobs: one evaluation in, plans out, an outcome at the end.

In: a snapshot and an evaluation; after each plan, the applier's answer. Out: see `outcome`. The
steps of one attempt stand in `_attempt`, numbered as in control-plane.md 1.3.
"""

from collections.abc import Generator

from scheduler.engine.attempt import Attempt, Tools, stopped_on_lost_nodes, tainted_nodes
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.placing import Placer, items_of
from scheduler.engine.plan.annotate import annotate
from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.cluster import reconcile_cluster
from scheduler.engine.reconcile.results import ReconcileResults
from scheduler.engine.reconcile.situation import Situation, UpdateKind
from scheduler.engine.run import Run, committed_whole
from scheduler.engine.stack import ClassReport, ServiceStack
from scheduler.engine.update_check import in_deployment, judge_update
from scheduler.errors import MissingRefresh
from scheduler.ports import Snapshot
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan
from scheduler.structs.task_group import TaskGroup

_TRIGGERS = frozenset(EvalTrigger) - {EvalTrigger.SCHEDULED}
_SERVICE_ATTEMPTS = 5
_BATCH_ATTEMPTS = 2
_PLACEMENT_BLOCKED = "created to place remaining allocations"
_CONFLICT_BLOCKED = "created due to placement conflicts"


class GenericScheduler:
    """Service and batch jobs. One instance per evaluation."""

    def __init__(self, snapshot: Snapshot, tools: Tools, *, is_batch: bool) -> None:
        self._snapshot = snapshot
        self._tools = tools
        self._is_batch = is_batch
        self._deployment: Deployment | None = None
        self._followups: tuple[Evaluation, ...] = ()
        #: The run, and the plan of it that waits for an answer.
        self._asked: tuple[Run, Plan] | None = None
        self._classes = ClassReport(
            has_escaped=False, eligibility={}, missing_resources=(), quota_limit_reached=""
        )

    def process(self, evaluation: Evaluation) -> Generator[Plan, PlanAnswer, Outcome]:
        """Work the evaluation off; see `outcome` for the protocol.

        Raises MissingRefresh when placements were refused and no newer state was offered.
        """
        run = Run(evaluation, self._tools, start_index=self._snapshot.index)
        if evaluation.triggered_by not in _TRIGGERS:
            return run.refused_trigger()
        limit = _BATCH_ATTEMPTS if self._is_batch else _SERVICE_ATTEMPTS
        fruitless = 0
        while fruitless < limit:
            plan = self._attempt(run)
            if plan is None:
                break
            self._asked = run, plan
            answer = yield plan
            if self._is_done(run, plan, answer):
                break
            fruitless = 0 if run.made_progress(answer) else fruitless + 1
        else:
            run.block(self._classes, EvalTrigger.MAX_PLAN_ATTEMPTS, _CONFLICT_BLOCKED)
            return run.finish(
                EvalStatus.FAILED,
                f"maximum attempts reached ({limit})",
                deployment_id=self._deployment_id,
            )
        return self._end(run)

    def outcome_if_whole(self) -> Outcome:
        """What `process` returns if the plan it has yielded last is committed whole."""
        assert self._asked is not None, "a plan was yielded"
        return self._end(committed_whole(*self._asked))

    def _end(self, run: Run) -> Outcome:
        if run.is_blocked and run.failed:
            return run.reblock(self._snapshot, self._classes)
        return run.finish(EvalStatus.COMPLETE, deployment_id=self._deployment_id)

    @property
    def _deployment_id(self) -> str:
        return self._deployment.id if self._deployment else ""

    def _attempt(self, run: Run) -> Plan | None:
        """Compute one plan; None when there is nothing to submit."""
        # 1-3. A fresh plan over the job as this snapshot has it.
        attempt = Attempt(
            self._snapshot, run.evaluation, self._tools, snapshot_index=run.start_index
        )
        # 4. The newest deployment of any incarnation; batch jobs have none.
        self._deployment = None if self._is_batch else attempt.newest_deployment()
        # 5. The stack that chooses nodes.
        stack = ServiceStack(attempt.context)
        if attempt.job is not None and not attempt.is_stopped:
            stack.set_job(attempt.job)
        # 6. What must change, and where.
        self._compute(attempt, stack)
        run.note(attempt, stack)
        self._classes = stack.class_report(even_if_escaped=run.is_blocked)
        # 7. Wait for capacity, unless a delayed evaluation will look again anyway.
        looks_again = bool(self._followups) and self._tools.now <= run.evaluation.wait_until
        if run.failed and not run.is_blocked and not run.blocked_eval and not looks_again:
            run.block(self._classes, EvalTrigger.QUEUED_ALLOCS, _PLACEMENT_BLOCKED)
        # 8. Nothing to do.
        plan = attempt.plan.build()
        if plan.is_no_op and not run.evaluation.annotate_plan:
            return None
        # 9. An evaluation that was delayed itself makes no more delayed ones.
        if not run.evaluation.wait_until:
            for followup in self._followups:
                run.create(followup.changed(previous_eval=run.evaluation.id))
                run.next_eval = followup.id
        return plan

    def _is_done(self, run: Run, plan: Plan, answer: PlanAnswer) -> bool:
        run.count_committed(plan, answer.result)
        if answer.snapshot is not None:
            self._snapshot = answer.snapshot
            # It may never have been stored, so the evaluation must not name it.
            self._deployment = None
            return False
        if not answer.result.is_full_commit_of(plan):
            raise MissingRefresh("placements were refused without a newer state")
        return True

    def _compute(self, attempt: Attempt, stack: ServiceStack) -> None:
        allocs = attempt.context.job_allocs()
        tainted = tainted_nodes(attempt.snapshot, allocs)
        lost = stopped_on_lost_nodes(allocs, tainted)
        for alloc in lost:
            attempt.stop(alloc, reasons.LOST, client_status=ClientStatus.LOST)
        job = attempt.job

        def judge(alloc: Allocation, job: Job, group: TaskGroup) -> Allocation | UpdateKind:
            return judge_update(attempt, stack, alloc, job, group)

        results = reconcile_cluster(
            Situation(
                job=job,
                job_id=attempt.evaluation.job_id,
                is_batch=self._is_batch,
                deployment=self._deployment,
                allocations=allocs,
                eval_id=attempt.evaluation.id,
                eval_priority=attempt.evaluation.priority,
                tainted=tainted,
                now=self._tools.now,
                judge_update=judge,
                job_of=attempt.snapshot.job_of,
                ids=self._tools.ids,
            )
        )
        self._followups = tuple(
            followup for evals in results.followup_evals.values() for followup in evals
        )
        self._copy_into_plan(attempt, results)
        preemptions = self._place(attempt, stack, results)
        is_dry_run = attempt.evaluation.annotate_plan
        attempt.plan.annotations = annotate(
            results.desired_updates,
            preemptions=preemptions,
            preempted=attempt.plan.preempted() if is_dry_run else (),
        )

    def _copy_into_plan(self, attempt: Attempt, results: ReconcileResults) -> None:
        attempt.plan.deployment = results.deployment
        attempt.plan.deployment_updates = results.deployment_updates
        if results.deployment is not None:
            self._deployment = results.deployment
        for stop in results.stop:
            attempt.stop(
                stop.alloc,
                stop.reason,
                client_status=stop.client_status,
                followup_eval_id=stop.followup_eval_id,
            )
        for update in results.disconnect_updates:
            attempt.update(update, keeps_version=True)
        for update in results.reconnect_updates:
            attempt.update(update)
        followups = {update.id: update.followup_eval_id for update in results.attribute_updates}
        for changed in results.inplace:
            followup = followups.pop(changed.id, changed.followup_eval_id)
            attempt.update(
                in_deployment(changed, self._deployment_id).changed(followup_eval_id=followup)
            )
        for update in results.attribute_updates:
            if update.id in followups:
                attempt.update(update)

    def _place(
        self, attempt: Attempt, stack: ServiceStack, results: ReconcileResults
    ) -> dict[str, int]:
        items = items_of(results)
        job = attempt.job
        if not items:
            if job is not None:
                attempt.queued = {group.name: 0 for group in job.task_groups}
            return {}
        assert job is not None, "nothing is placed for a purged job"
        for item in items:
            name = item.placement.task_group.name
            attempt.queued[name] = attempt.queued.get(name, 0) + 1
        placer = Placer(attempt, stack, job, self._deployment, results.name_indexes)
        for item in items:
            placer.place(item)
        return placer.preemptions
