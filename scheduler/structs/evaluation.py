"""An evaluation: the order to look at one job again and decide what must change.

The stored status has five values only. Scheduling, applying, delayed and deleted are steps of its
recorded life (`LifecycleStep`), never a status.
"""

from enum import StrEnum

import msgspec

from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.explanation import NearestNode
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.plan_annotations import PlanAnnotations
from scheduler.structs.wire import Duration, Instant, Nanoseconds, Wire, wire_names


class EvalStatus(StrEnum):
    """Where an evaluation stands in the record."""

    PENDING = "pending"
    BLOCKED = "blocked"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELED = "canceled"


class EvalTrigger(StrEnum):
    """What made an evaluation (evaluations.md 2)."""

    JOB_REGISTER = "job-register"
    JOB_DEREGISTER = "job-deregister"
    PERIODIC_JOB = "periodic-job"
    NODE_DRAIN = "node-drain"
    NODE_UPDATE = "node-update"
    ALLOC_STOP = "alloc-stop"
    SCHEDULED = "scheduled"
    ROLLING_UPDATE = "rolling-update"
    DEPLOYMENT_WATCHER = "deployment-watcher"
    FAILED_FOLLOW_UP = "failed-follow-up"
    MAX_PLAN_ATTEMPTS = "max-plan-attempts"
    ALLOC_FAILURE = "alloc-failure"
    QUEUED_ALLOCS = "queued-allocs"
    PREEMPTION = "preemption"
    JOB_SCALING = "job-scaling"
    MAX_DISCONNECT_TIMEOUT = "max-disconnect-timeout"
    RECONNECT = "reconnect"
    ALLOC_RESCHEDULE = "alloc-reschedule"


class CauseKind(StrEnum):
    """What kind of thing made an evaluation."""

    JOB = "job"
    NODE = "node"
    ALLOCATION = "allocation"
    DEPLOYMENT = "deployment"
    PLAN = "plan"
    EVALUATION = "evaluation"
    TIMER = "timer"
    OPERATOR = "operator"
    DRAIN = "drain"


class Cause(Wire, frozen=True):
    """What made an evaluation, kept beside the links so that no chain breaks."""

    kind: CauseKind
    id: str = ""
    #: The index of the write that made it, 0 for the evaluation's own.
    index: int = 0
    text: str = ""


class Evaluation(
    Wire, frozen=True, rename=wire_names(failed_task_groups="FailedTGAllocs", story_id="Story")
):
    """One run of a scheduler over one job. Fields as in evaluations.md 1.1."""

    id: str = ""
    namespace: str = DEFAULT_NAMESPACE
    priority: int = 50
    type: str = ""
    triggered_by: str = ""
    job_id: str = ""
    job_modify_index: int = 0
    node_id: str = ""
    node_modify_index: int = 0
    deployment_id: str = ""
    status: EvalStatus = EvalStatus.PENDING
    status_description: str = ""
    wait: Duration = 0
    wait_until: Instant = 0
    next_eval: str = ""
    previous_eval: str = ""
    blocked_eval: str = ""
    failed_task_groups: dict[str, AllocMetric] = {}
    plan_annotations: PlanAnnotations | None = None
    #: Computed class to verdict; empty when `escaped_computed_class`.
    class_eligibility: dict[str, bool] = {}
    quota_limit_reached: str = ""
    missing_non_node_resources: tuple[str, ...] = ()
    escaped_computed_class: bool = False
    annotate_plan: bool = False
    queued_allocations: dict[str, int] = {}
    snapshot_index: int = 0
    create_index: int = 0
    modify_index: int = 0
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0
    #: Ours: left out on the wire when absent.
    cause: Cause | None = None
    #: Ours too: whose plans its run counted as taken, though they were still being judged.
    counted_evals: tuple[str, ...] = ()
    #: And which story it is part of; a capsule's decision stays without it.
    story_id: str = ""
    #: By group that found no place, the node that the least would mend; a capsule's decision stays
    #: without it as well.
    nearest: dict[str, NearestNode] = {}

    @property
    def job_key(self) -> JobKey:
        """Namespace and id of its job."""
        return JobKey(self.namespace, self.job_id)

    @property
    def is_terminal(self) -> bool:
        """Nothing re-runs it."""
        return self.status in (EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED)

    @property
    def should_enqueue(self) -> bool:
        """It waits for a worker."""
        return self.status is EvalStatus.PENDING

    @property
    def should_block(self) -> bool:
        """It waits for capacity."""
        return self.status is EvalStatus.BLOCKED

    def changed(self, **fields: object) -> "Evaluation":
        """A copy with these fields replaced."""
        return msgspec.structs.replace(self, **fields)


def modified_at(evaluation: Evaluation, now: int) -> Evaluation:
    """A copy with ModifyTime `now`, kept strictly after its CreateTime (evaluations.md 1.2)."""
    return evaluation.changed(modify_time=max(now, evaluation.create_time + 1))


def blocked_evaluation(  # noqa: PLR0913 - every fact of the run that must be kept
    parent: Evaluation,
    *,
    eval_id: str,
    now: int,
    classes: dict[str, bool],
    has_escaped: bool,
    quota: str,
    failed_task_groups: dict[str, AllocMetric],
    missing: tuple[str, ...] = (),
) -> Evaluation:
    """The evaluation that waits for the capacity its parent did not find (evaluations.md 1.3)."""
    return _child(parent, eval_id, now).changed(
        triggered_by=EvalTrigger.QUEUED_ALLOCS,
        status=EvalStatus.BLOCKED,
        failed_task_groups=failed_task_groups,
        class_eligibility={} if has_escaped else classes,
        escaped_computed_class=has_escaped,
        quota_limit_reached=quota,
        missing_non_node_resources=missing,
        cause=Cause(
            kind=CauseKind.EVALUATION, id=parent.id, text="not everything could be placed"
        ),
    )


def follow_up_evaluation(
    parent: Evaluation, *, eval_id: str, trigger: EvalTrigger, wait: int, now: int
) -> Evaluation:
    """A pending evaluation of the same job that runs after `wait` ns."""
    return _child(parent, eval_id, now).changed(
        triggered_by=trigger,
        wait=wait,
        cause=Cause(kind=CauseKind.EVALUATION, id=parent.id, text=trigger.value),
    )


def _child(parent: Evaluation, eval_id: str, now: int) -> Evaluation:
    return Evaluation(
        id=eval_id,
        namespace=parent.namespace,
        priority=parent.priority,
        type=parent.type,
        job_id=parent.job_id,
        job_modify_index=parent.job_modify_index,
        previous_eval=parent.id,
        create_time=now,
        modify_time=now,
    )


class Step(StrEnum):
    """The recorded steps of an evaluation's life (design.md 9)."""

    CREATED = "created"
    ENQUEUED = "enqueued"
    DELAYED = "delayed"
    DEQUEUED = "dequeued"
    PLAN_SUBMITTED = "plan-submitted"
    PLAN_ANSWERED = "plan-answered"
    NACKED = "nacked"
    BLOCKED = "blocked"
    UNBLOCKED = "unblocked"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELED = "canceled"
    DELETED = "deleted"


class LifecycleStep(Wire, frozen=True):
    """One step: key is (`eval_id`, `number`), numbers count up from 1."""

    eval_id: str
    number: int
    step: Step
    at: Nanoseconds
    #: How long the step before this one lasted.
    duration_ns: Duration = 0
    #: Who did it: "broker", "worker host/pid", "applier", "leader", "state" ...
    actor: str = ""
    plan_id: str = ""
    #: Nodes that refused a plan.
    nodes: tuple[str, ...] = ()
    reason: str = ""
    #: The index whose commit carried the step; 0 while it is only a hint.
    index: int = 0
    #: Of `unblocked`: the node or allocation that made room, and the index at which it did.
    woken_by: Cause | None = None
    #: Of `plan-answered`: when the applier took the plan; 0: not known.
    taken_at: Nanoseconds = 0
