"""A dry run: what registering a job would do, decided by the real engine, with nothing written.

In: a reader, a canonical job. Out: the plan's annotations, what could not be placed and why, the
evaluations it would make, the difference to the stored job, and where each allocation would go.
"""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from cluster.jobspec.diff import annotate, diff_jobs
from cluster.jobspec.diff_structs import JobDiff
from cluster.jobspec.launch_times import next_local
from cluster.jobspec.validate import judge_job
from cluster.operations.admission import admit
from cluster.operations.job_rights import require_registration
from cluster.operations.scaling_policies import with_policy_ids
from cluster.operations.trial import TrialSnapshot, decided, registration_of
from scheduler.access.caller import Caller
from scheduler.engine.outcome import Outcome
from scheduler.ports import IDSource, StateReader
from scheduler.state.writes.jobs import has_same_spec, write_job
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan
from scheduler.structs.plan_annotations import PlanAnnotations


class PlannedPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Where one allocation would go, and how its node scored."""

    name: str
    task_group: str
    node_id: str
    node_name: str
    #: The scorers' numbers by name; empty when the engine kept none for this node.
    scores: dict[str, float]
    norm_score: float


class PlannedJob(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a dry run found out."""

    annotations: PlanAnnotations
    failed_task_groups: dict[str, AllocMetric]
    created_evaluations: tuple[Evaluation, ...]
    placements: tuple[PlannedPlacement, ...]
    stops: tuple[Allocation, ...]
    preempted: tuple[Allocation, ...]
    diff: JobDiff
    #: Of the stored job, 0 when it is new.
    job_modify_index: int
    warnings: tuple[str, ...]
    #: In the zone of a job that launches children by time; None for any other.
    next_launch: datetime | None
    #: Of the record the run looked at.
    index: int


def plan_job(reader: StateReader, job: Job, *, by: Caller, now: int, ids: IDSource) -> PlannedJob:
    """Run the job's scheduler as if it had been registered.

    Raises `OperationRefused` for a job that could not be registered; that it may take the place of
    the stored one is not asked (validation.md 1.6), `check_transition` does. A periodic or
    parameterized job places nothing itself: of it, this tells what a child would do that ran now.
    """
    require_registration(by, job, "plan-job")
    stored = reader.job(job.key)
    admitted = admit(reader, job, judge_job(job))
    candidate = with_policy_ids(admitted.job, stored, ids)
    dry_run = TrialSnapshot(reader, now)
    if stored is None or not has_same_spec(stored, candidate):
        candidate = write_job(dry_run, replace(candidate, submit_time=now))
    plan, outcome = _run(dry_run, candidate, now, ids)
    final = outcome.evaluation
    annotations = plan.annotations or PlanAnnotations()
    return PlannedJob(
        annotations=annotations,
        failed_task_groups=final.failed_task_groups if final is not None else {},
        created_evaluations=outcome.created,
        placements=_placements(plan),
        stops=tuple(alloc for allocs in plan.node_update.values() for alloc in allocs),
        preempted=tuple(alloc for allocs in plan.node_preemptions.values() for alloc in allocs),
        diff=annotate(diff_jobs(stored, candidate), annotations.desired_updates),
        job_modify_index=stored.job_modify_index if stored is not None else 0,
        warnings=(*admitted.warnings, *admitted.left_out),
        next_launch=next_local(candidate, now) if candidate.launches_by_time else None,
        index=reader.index,
    )


def _run(dry_run: TrialSnapshot, job: Job, now: int, ids: IDSource) -> tuple[Plan, Outcome]:
    evaluation = registration_of(job, ids.next_id(), now, annotated=True)
    dry_run.put_evaluation(evaluation)
    plans, outcome = decided(dry_run, evaluation, now=now, ids=ids)
    return (plans[0] if plans else Plan()), outcome


def _placements(plan: Plan) -> tuple[PlannedPlacement, ...]:
    placed = [
        _placement(alloc)
        for allocs in plan.node_allocation.values()
        for alloc in allocs
        if alloc.create_index == 0
    ]
    return tuple(sorted(placed, key=lambda each: (each.task_group, each.name)))


def _placement(alloc: Allocation) -> PlannedPlacement:
    scored = (each for each in alloc.metrics.score_meta_data if each.node_id == alloc.node_id)
    score = next(scored, None)
    return PlannedPlacement(
        name=alloc.name,
        task_group=alloc.task_group,
        node_id=alloc.node_id,
        node_name=alloc.node_name,
        scores=score.scores if score is not None else {},
        norm_score=score.norm_score if score is not None else 0.0,
    )
