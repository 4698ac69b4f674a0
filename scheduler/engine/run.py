"""What one run of a scheduler keeps from attempt to attempt, and how it ends.

In: attempts and answers. Out: the evaluations to create and the final write of the processed one.
Every scheduler shares it; none of their rules is here.
"""

from copy import copy

from scheduler.engine.attempt import Attempt, Tools
from scheduler.engine.explain import Asked, Explainer, explained
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.stack import ClassReport
from scheduler.ports import Snapshot
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import (
    EvalStatus,
    EvalTrigger,
    Evaluation,
    blocked_evaluation,
    follow_up_evaluation,
    modified_at,
)
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.plan_annotations import PlanAnnotations


class Run:
    """One evaluation being processed."""

    def __init__(self, evaluation: Evaluation, tools: Tools, *, start_index: int) -> None:
        self.evaluation = evaluation
        #: Index of the snapshot the run began with, never a refreshed one.
        self.start_index = start_index
        #: The evaluation that waits for capacity, made by this run.
        self.blocked_eval = ""
        self.next_eval = ""
        #: Of the newest attempt.
        self.failed: dict[str, AllocMetric] = {}
        self.queued: dict[str, int] = {}
        self._tools = tools
        self._annotations: PlanAnnotations | None = None
        self._created: list[Evaluation] = []
        #: By group, the newest attempt that tried to place it.
        self._asked: dict[str, Asked] = {}

    @property
    def is_blocked(self) -> bool:
        """The evaluation is one that waited for capacity."""
        return self.evaluation.status is EvalStatus.BLOCKED

    def note(self, attempt: Attempt, stack: Explainer) -> None:
        """Keep what an attempt found out; it replaces what earlier ones did."""
        self.failed = attempt.failed
        self.queued = attempt.queued
        self._annotations = attempt.plan.annotations
        self._asked.update(dict.fromkeys(attempt.decisions, Asked(attempt, stack)))

    def create(self, evaluation: Evaluation) -> None:
        """Have an evaluation created."""
        self._created.append(evaluation.changed(snapshot_index=self.start_index))

    def block(
        self, classes: ClassReport, trigger: EvalTrigger, description: str, node_id: str = ""
    ) -> None:
        """Have an evaluation created that waits for capacity.

        The processed one links to it, except to one that waits for a single node: of those there
        may be several.
        """
        blocked = blocked_evaluation(
            self.evaluation,
            eval_id=self._tools.ids.next_id(),
            now=self._tools.now,
            classes=dict(classes.eligibility),
            has_escaped=classes.has_escaped,
            quota=classes.quota_limit_reached,
            failed_task_groups=dict(self.failed),
            missing=classes.missing_resources,
        )
        self.create(
            blocked.changed(triggered_by=trigger, status_description=description, node_id=node_id)
        )
        if not node_id:
            self.blocked_eval = blocked.id

    def roll_on(self, wait: int) -> None:
        """Have the next batch of a staggered rollout started after `wait` ns."""
        if self.next_eval:
            return
        following = follow_up_evaluation(
            self.evaluation,
            eval_id=self._tools.ids.next_id(),
            trigger=EvalTrigger.ROLLING_UPDATE,
            wait=wait,
            now=self._tools.now,
        )
        self.create(following)
        self.next_eval = following.id

    def made_progress(self, answer: PlanAnswer, *, is_new_deployment: bool = True) -> bool:
        """Whether an answer shows that another attempt is not in vain.

        Evictions alone do not, nor does a deployment that was written as it stood.
        """
        result = answer.result
        return bool(
            result.node_update
            or result.node_allocation
            or (result.deployment and is_new_deployment)
            or result.deployment_updates
        )

    def count_committed(self, plan: Plan, result: PlanResult) -> None:
        """Take the placements that were committed off what is still queued."""
        new = {
            alloc.id
            for allocs in plan.node_allocation.values()
            for alloc in allocs
            if not alloc.create_index
        }
        queued = dict(self.queued)
        for allocs in result.node_allocation.values():
            for alloc in allocs:
                if alloc.id in new and alloc.task_group in queued:
                    queued[alloc.task_group] -= 1
        self.queued = queued

    def finish(
        self, status: EvalStatus, description: str = "", *, deployment_id: str = ""
    ) -> Outcome:
        """The end of a run: the evaluation with its final status."""
        evaluation = self.evaluation.changed(
            status=status,
            status_description=description,
            deployment_id=deployment_id,
            failed_task_groups=self.failed,
            queued_allocations=self.queued,
            plan_annotations=self._annotations,
            snapshot_index=self.start_index,
            next_eval=self.next_eval or self.evaluation.next_eval,
            blocked_eval=self.blocked_eval or self.evaluation.blocked_eval,
        )
        return Outcome(
            evaluation=modified_at(evaluation, self._tools.now),
            created=tuple(self._created),
            explanations=self._explanations(),
        )

    def refused_trigger(self) -> Outcome:
        """The end of a run that this scheduler never begins."""
        trigger = self.evaluation.triggered_by
        return self.finish(
            EvalStatus.FAILED, f"scheduler cannot handle '{trigger}' evaluation reason"
        )

    def reblock(self, snapshot: Snapshot, classes: ClassReport) -> Outcome:
        """The end of a run that leaves a blocked evaluation waiting.

        It is written only when its queued counts differ from those of the job's summary.
        """
        waiting = modified_at(
            self.evaluation.changed(
                class_eligibility=dict(classes.eligibility),
                escaped_computed_class=classes.has_escaped,
                quota_limit_reached=classes.quota_limit_reached,
                missing_non_node_resources=classes.missing_resources,
                snapshot_index=self.start_index,
            ),
            self._tools.now,
        )
        return Outcome(
            evaluation=waiting if self._counts_moved(snapshot) else None,
            created=tuple(self._created),
            reblocked=waiting,
            explanations=self._explanations(),
        )

    def _explanations(self) -> dict[str, GroupExplanation]:
        return {name: explained(name, asked) for name, asked in self._asked.items()}

    def _counts_moved(self, snapshot: Snapshot) -> bool:
        summary = snapshot.get(JOB_SUMMARIES, self.evaluation.job_key)
        if summary is None:
            return False
        queued = self.evaluation.queued_allocations
        return any(
            group in queued and queued[group] != counts.queued
            for group, counts in summary.summary.items()
        )


def committed_whole(run: Run, plan: Plan) -> Run:
    """The run as it will stand once all of the plan is committed; the run itself goes on."""
    ahead = copy(run)
    ahead.count_committed(plan, PlanResult.whole(plan))
    return ahead
