"""What a run of a scheduler leaves to be written, as a worker hands it in.

In: a delivery, the outcome of its run, when and on what the run began. Out: a finish request.
"""

from collections.abc import Mapping, Sequence

from scheduler.engine.outcome import Outcome
from scheduler.messages import Delivery, FinishRequest
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.explanation import NearestNode, RunEnd, StoredExplanation, pack


class Stamp:
    """What a worker writes on the evaluations of a run (evaluations.md 7.5).

    The instant is that of the run's beginning, where the scheduler's clock stood still: so the
    record says what a capsule of the run must say.
    """

    def __init__(self, start_index: int, now: int, counted_evals: tuple[str, ...] = ()) -> None:
        self.start_index = start_index
        self._now = now
        self._counted_evals = counted_evals

    def on_update(self, evaluation: Evaluation) -> Evaluation:
        """The processed evaluation, with the snapshot its run began with."""
        return evaluation.changed(
            snapshot_index=self.start_index,
            modify_time=max(self._now, evaluation.create_time + 1),
            counted_evals=self._counted_evals,
        )

    def on_creation(self, evaluation: Evaluation) -> Evaluation:
        """A new evaluation."""
        return evaluation.changed(
            snapshot_index=self.start_index, create_time=self._now, modify_time=self._now
        )


def finish_request(
    delivery: Delivery, stamp: Stamp, outcome: Outcome, promised: Sequence[Evaluation]
) -> FinishRequest:
    """How a run with this outcome ends; `promised` are delayed evaluations of runs before it."""
    near = {
        name: explanation.nearest
        for name, explanation in outcome.explanations.items()
        if explanation.failed and explanation.nearest is not None
    }
    update = outcome.evaluation and stamp.on_update(outcome.evaluation).changed(nearest=near)
    if update is not None and promised and not update.next_eval:
        update = update.changed(next_eval=promised[-1].id)
    return FinishRequest(
        eval_id=delivery.evaluation.id,
        token=delivery.token,
        update=update,
        created=(*promised, *(_created(each, stamp, near) for each in outcome.created)),
        reblocked=outcome.reblocked and stamp.on_update(outcome.reblocked),
        explanations=_packed(delivery.evaluation, outcome),
    )


def _created(evaluation: Evaluation, stamp: Stamp, near: Mapping[str, NearestNode]) -> Evaluation:
    made = stamp.on_creation(evaluation)
    # One that waits for a single node knows what it lacks: another may be nearer.
    if made.should_block and not made.node_id:
        return made.changed(nearest=dict(near))
    return made


def _packed(evaluation: Evaluation, outcome: Outcome) -> tuple[StoredExplanation, ...]:
    written = outcome.evaluation
    if written is not None and written.status is EvalStatus.FAILED:
        ended = RunEnd.FAILED
    else:
        is_short = any(explanation.failed for explanation in outcome.explanations.values())
        ended = RunEnd.WAITS if is_short else RunEnd.PLACED
    return tuple(
        StoredExplanation(
            eval_id=evaluation.id,
            task_group=name,
            namespace=evaluation.namespace,
            job_id=evaluation.job_id,
            job_version=explanation.job_version,
            ended=ended,
            packed=pack(explanation),
        )
        for name, explanation in outcome.explanations.items()
    )
