"""Write off evaluations that cannot end by themselves: failed too often, or superseded.

In: broker and tracker, which know them. Out: commands, and what each of them writes in an open
transaction. Collecting old rows is the core scheduler's work.
"""

from collections.abc import Callable

from scheduler.broker.blocked_evals import BlockedEvals
from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.leader_settings import SECOND, LeaderSettings
from scheduler.broker.places import FAILED_QUEUE, Outstanding
from scheduler.commands import CancelEvaluations, Command, FailEvaluation
from scheduler.ports import Change, IDSource
from scheduler.state.writes.evaluations import write_evaluations, write_outcomes
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.evaluation import (
    EvalStatus,
    EvalTrigger,
    Evaluation,
    follow_up_evaluation,
    modified_at,
)
from scheduler.structs.moment import Moment

SUPERSEDED = "canceled after more recent eval was processed"
#: Superseded and duplicate evaluations canceled in one write.
CANCEL_BATCH = 728
FAIL_BATCH = 64


class Reaper:
    """What is to be written off now; what could not be written is said again."""

    def __init__(
        self,
        broker: EvalBroker,
        blocked: BlockedEvals,
        settings: LeaderSettings,
        ids: IDSource,
        chance: Callable[[], float],
    ) -> None:
        self._broker = broker
        self._blocked = blocked
        self._settings = settings
        self._ids = ids
        self._chance = chance
        self._uncanceled: list[CancelEvaluations] = []

    def reap(self, moment: Moment) -> list[Command]:
        """Fail what was delivered too often; cancel superseded ones and duplicates."""
        commands: list[Command] = list(self._uncanceled)
        self._uncanceled = []
        failed = self._broker.dequeue((FAILED_QUEUE,), FAIL_BATCH, monotonic=moment.monotonic)
        for delivery in failed:
            if delivery.evaluation.type == CORE_TYPE:
                # It is no row, and the next time brings a fresh one.
                self._broker.ack(
                    delivery.evaluation.id, delivery.token, monotonic=moment.monotonic
                )
            else:
                commands.append(self._fail(delivery, moment.now))
        superseded = self._broker.take_cancelable(CANCEL_BATCH)
        texts = {evaluation.id: SUPERSEDED for evaluation in superseded}
        for duplicate in self._blocked.take_duplicates(CANCEL_BATCH - len(texts)):
            texts[duplicate.id] = duplicate_text(duplicate.job_id)
        if texts:
            commands.append(CancelEvaluations(texts=texts))
        return commands

    def not_performed(self, command: CancelEvaluations) -> None:
        """It failed, and comes again; a failed write-off is brought back by its nack timer."""
        self._uncanceled.append(command)

    def _fail(self, failed: Outstanding, now: int) -> FailEvaluation:
        settings = self._settings
        wait_s = settings.follow_up_baseline + self._chance() * settings.follow_up_range
        return write_off(
            failed.evaluation,
            failed.token,
            limit=settings.delivery_limit,
            wait=round(SECOND * wait_s),
            eval_id=self._ids.next_id(),
            now=now,
        )


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
        write_outcomes(change, (failed,))
        return
    linked = failed.changed(next_eval=command.follow_up.id)
    write_outcomes(change, (linked, command.follow_up))


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
