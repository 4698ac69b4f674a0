"""What storing and collecting evaluations does to other rows (evaluations.md 4.1, 3.4)."""

from collections.abc import Iterable

from scheduler.ports import Change
from scheduler.state.writes.job_status import refresh_job_status, refresh_job_statuses
from scheduler.state.writes.story_roots import story_of
from scheduler.state.writes.summaries import count_queued, uncount_allocation
from scheduler.structs.evaluation import Cause, EvalStatus, Evaluation
from scheduler.structs.identity import JobKey


def write_evaluations(
    change: Change, evaluations: Iterable[Evaluation], *, recompute_jobs: bool = True
) -> tuple[Evaluation, ...]:
    """Store evaluations in the given order; returns them as stored.

    `recompute_jobs` is off where they ride with desired transitions, deployment writes or a plan:
    those leave the status of the jobs alone.
    """
    stored = tuple(_write_evaluation(change, evaluation) for evaluation in evaluations)
    if recompute_jobs:
        refresh_job_statuses(change, (evaluation.job_key for evaluation in stored))
    return stored


def write_outcomes(change: Change, evaluations: Iterable[Evaluation]) -> None:
    """Store what runs made of evaluations, and what they created.

    An evaluation that was collected while it ran does not come back by its outcome.
    """
    write_evaluations(
        change,
        (
            evaluation
            for evaluation in evaluations
            if not evaluation.is_terminal or change.evaluation(evaluation.id) is not None
        ),
    )


def touch_evaluation(change: Change, evaluation: Evaluation) -> None:
    """Move its ModifyIndex alone: what reads it next must see this write."""
    change.put_evaluation(evaluation.changed(modify_index=change.index))


def collect(change: Change, eval_ids: Iterable[str], alloc_ids: Iterable[str]) -> None:
    """Delete allocations, then evaluations; the jobs of the evaluations get their status anew."""
    for alloc_id in alloc_ids:
        alloc = change.allocation(alloc_id)
        if alloc is not None:
            uncount_allocation(change, alloc)
            change.delete_allocation(alloc_id)
    jobs: dict[JobKey, None] = {}
    for eval_id in eval_ids:
        evaluation = change.evaluation(eval_id)
        if evaluation is not None:
            jobs[evaluation.job_key] = None
            change.delete_evaluation(eval_id)
    for key in jobs:
        refresh_job_status(change, key, lost_an_evaluation=True)


def _write_evaluation(change: Change, evaluation: Evaluation) -> Evaluation:
    index = change.index
    before = change.evaluation(evaluation.id)
    stored = evaluation.changed(
        create_index=before.create_index if before else index,
        modify_index=index,
        cause=_cause(evaluation, before),
        story_id=before.story_id if before else story_of(change, evaluation),
    )
    count_queued(change, stored)
    if stored.status is EvalStatus.COMPLETE and not stored.failed_task_groups:
        _cancel_blocked(change, stored)
    change.put_evaluation(stored)
    return stored


def _cause(evaluation: Evaluation, before: Evaluation | None) -> Cause | None:
    return evaluation.cause or (before.cause if before else None)


def _cancel_blocked(change: Change, done: Evaluation) -> None:
    for other in change.blocked_evaluations(done.job_key):
        change.put_evaluation(
            other.changed(
                status=EvalStatus.CANCELED,
                status_description=f'evaluation "{done.id}" successful',
                modify_index=change.index,
                modify_time=done.modify_time,
            )
        )
