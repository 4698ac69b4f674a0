"""The life of one evaluation, as its page and its live frames draw it."""

from django.utils.translation import gettext

from dashboard.graphs.lifecycle import EvaluationLife, MadeEvaluation
from dashboard.outcomes import told_of
from dashboard.wording import short_id
from scheduler.structs.evaluation import CauseKind, Evaluation, LifecycleStep


def life_of(
    evaluation: Evaluation, steps: tuple[LifecycleStep, ...], made: tuple[MadeEvaluation, ...]
) -> EvaluationLife:
    """The life of an evaluation as page and live frame draw it."""
    cause = evaluation.cause
    event = ((cause.kind.value if cause else "cluster").capitalize(), evaluation.job_id or "event")
    if cause is not None and cause.kind is CauseKind.EVALUATION:
        event = (gettext("Made by"), short_id(cause.id))
    return EvaluationLife(
        eval_id=evaluation.id,
        trigger=evaluation.triggered_by,
        steps=steps,
        made=made,
        event=event,
        status=evaluation.status.value,
        told=told_of(evaluation),
    )


def made_by(value: object, eval_id: str) -> bool:
    """Whether a value is an evaluation that this one made, by link or cause."""
    if not isinstance(value, Evaluation):
        return False
    cause_id = value.cause.id if value.cause else ""
    return eval_id in (value.previous_eval, cause_id) and value.id != eval_id
