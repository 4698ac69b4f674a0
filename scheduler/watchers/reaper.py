"""Write off evaluations that cannot end by themselves: failed too often, or superseded.

In: commands of the leader, an open transaction. Out: changed evaluations. When to do it is decided
by the leader; collecting old rows is `garbage.py`'s work.
"""

from scheduler.commands import CancelEvaluations, FailEvaluation
from scheduler.ports import Change
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import (
    EvalStatus,
    EvalTrigger,
    Evaluation,
    follow_up_evaluation,
    modified_at,
)

SUPERSEDED = "canceled after more recent eval was processed"


def duplicate_text(job_id: str) -> str:
    """Why a second blocked evaluation of a job is canceled."""
    return f'existing blocked evaluation exists for job "{job_id}"'


def write_off(
    evaluation: Evaluation, token: str, *, limit: int, wait: int, eval_id: str, now: int
) -> FailEvaluation:
    """The command that fails an evaluation delivered `limit` times in vain.

    `eval_id` names the follow-up that tries again after `wait` ns.
    """
    failed = modified_at(
        evaluation.changed(
            status=EvalStatus.FAILED,
            status_description=f"evaluation reached delivery limit ({limit})",
        ),
        now,
    )
    follow_up = follow_up_evaluation(
        evaluation, eval_id=eval_id, trigger=EvalTrigger.FAILED_FOLLOW_UP, wait=wait, now=now
    )
    return FailEvaluation(evaluation=failed, follow_up=follow_up, token=token)


def write_failed(change: Change, command: FailEvaluation) -> None:
    """Store the failed evaluation, and its follow-up when the job still exists."""
    failed = command.evaluation
    if change.job(failed.job_key) is None:
        write_evaluations(change, (failed,))
        return
    linked = failed.changed(next_eval=command.follow_up.id)
    write_evaluations(change, (linked, command.follow_up))


def write_canceled(change: Change, command: CancelEvaluations) -> None:
    """Cancel those of the evaluations that are still open."""
    stored = ((change.evaluation(eval_id), text) for eval_id, text in command.texts.items())
    write_evaluations(
        change,
        [
            modified_at(
                evaluation.changed(status=EvalStatus.CANCELED, status_description=text),
                change.now,
            )
            for evaluation, text in stored
            if evaluation is not None and not evaluation.is_terminal
        ],
    )
