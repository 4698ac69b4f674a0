"""Run the schedulers over a batch of deliveries, all of them side by side.

In: deliveries, snapshots, answers to plans. Out: plans to submit together, and requests that
finish each delivery. Where snapshots come from, and how a plan travels, is not known here.
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import msgspec

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.registry import Scheduler, new_scheduler
from scheduler.errors import SchedulerError
from scheduler.messages import Delivery, FinishRequest, PlanOutcome
from scheduler.ports import IDSource, PatternMatcher, Snapshot
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import StoredExplanation, pack
from scheduler.structs.plan import Plan

#: A snapshot at or after the index; raises StaleSnapshot when there is none in time.
SnapshotSupplier = Callable[[int], Snapshot]


class SchedulerFactory(Protocol):
    """What `new_scheduler` is; tests put their own in."""

    def __call__(  # noqa: D102 - the class says it
        self,
        job_type: str,
        snapshot: Snapshot,
        *,
        ids: IDSource,
        now: int,
        matcher: PatternMatcher,
        seed: int,
    ) -> Scheduler: ...


class WorkerTools(msgspec.Struct, frozen=True, kw_only=True):
    """What every run of a worker is given."""

    snapshot: SnapshotSupplier
    ids: IDSource
    matcher: PatternMatcher
    factory: SchedulerFactory = new_scheduler


class Turn(msgspec.Struct, frozen=True):
    """What a batch wants next: submit these plans, commit these finishes."""

    plans: tuple[Plan, ...] = ()
    finishes: tuple[FinishRequest, ...] = ()


class Batch:
    """A batch of deliveries on its way through the schedulers.

    Call `begin_all`, submit the plans of the turn, and call `answer` as outcomes arrive, until
    `is_done`. A run that breaks is nacked with its reason; the others go on.
    """

    def __init__(self, tools: WorkerTools, deliveries: Sequence[Delivery]) -> None:
        self._tools = tools
        self._deliveries = {delivery.evaluation.id: delivery for delivery in deliveries}
        self._runs: dict[str, Generator[Plan, PlanAnswer, Outcome]] = {}
        self._stamps: dict[str, Stamp] = {}
        #: Plans that are out, by id.
        self._out: dict[str, Plan] = {}

    @property
    def working_on(self) -> tuple[str, ...]:
        """The evaluations that were begun and have not finished: for the `alive` message."""
        return tuple(self._runs)

    @property
    def is_done(self) -> bool:
        """Nothing is left to do."""
        return not self._deliveries

    def drop(self, eval_id: str) -> None:
        """Stop a run whose delivery was lost; nothing more is said about it."""
        self._close(eval_id)

    def begin_all(self, *, now: int) -> Turn:
        """Run every delivery up to its first plan, most urgent first."""
        turns = [self.begin(eval_id, now=now) for eval_id in tuple(self._deliveries)]
        return Turn(
            plans=tuple(plan for turn in turns for plan in turn.plans),
            finishes=tuple(request for turn in turns for request in turn.finishes),
        )

    def begin(self, eval_id: str, *, now: int) -> Turn:
        """Run one delivery up to its first plan."""
        delivery = self._deliveries[eval_id]
        try:
            snapshot = self._tools.snapshot(delivery.wait_index)
            self._stamps[eval_id] = Stamp(snapshot.index, now)
            evaluation = delivery.evaluation
            scheduler = self._tools.factory(
                evaluation.type,
                snapshot,
                ids=self._tools.ids,
                now=now,
                matcher=self._tools.matcher,
                seed=seed_of(evaluation),
            )
            self._runs[eval_id] = scheduler.process(evaluation)
            return self._advance(eval_id, None)
        except Exception as error:
            return self._nack(eval_id, error)

    def answer(self, outcome: PlanOutcome, *, now: int) -> Turn:
        """Go on with the run whose plan was answered; an unknown plan is ignored."""
        plan = self._out.pop(outcome.plan_id, None)
        if plan is None or plan.eval_id not in self._deliveries:
            return Turn()
        eval_id, result = plan.eval_id, outcome.together_with(plan).result
        if result is None:
            return self._nack(eval_id, SchedulerError(outcome.error))
        try:
            refresh = result.refresh_index
            snapshot = self._tools.snapshot(refresh) if refresh else None
            return self._advance(eval_id, PlanAnswer(result=result, snapshot=snapshot))
        except Exception as error:
            return self._nack(eval_id, error)

    def give_up(self, eval_id: str, reason: str) -> Turn:
        """Nack a delivery that cannot go on, for a reason from outside."""
        return self._nack(eval_id, SchedulerError(reason))

    def _advance(self, eval_id: str, answer: PlanAnswer | None) -> Turn:
        run = self._runs[eval_id]
        try:
            plan = next(run) if answer is None else run.send(answer)
        except StopIteration as end:
            return Turn(finishes=(self._finish(eval_id, end.value),))
        delivery = self._deliveries[eval_id]
        plan = msgspec.structs.replace(
            plan,
            id=plan.id or self._tools.ids.next_id(),
            eval_id=eval_id,
            eval_token=delivery.token,
            snapshot_index=self._stamps[eval_id].start_index,
        )
        self._out[plan.id] = plan
        return Turn(plans=(plan,))

    def _finish(self, eval_id: str, outcome: Outcome) -> FinishRequest:
        delivery = self._deliveries[eval_id]
        stamp = self._stamps[eval_id]
        self._close(eval_id)
        return FinishRequest(
            eval_id=eval_id,
            token=delivery.token,
            update=outcome.evaluation and stamp.on_update(outcome.evaluation),
            created=tuple(stamp.on_creation(evaluation) for evaluation in outcome.created),
            reblocked=outcome.reblocked and stamp.on_update(outcome.reblocked),
            explanations=_packed(delivery.evaluation, outcome),
        )

    def _nack(self, eval_id: str, error: Exception) -> Turn:
        delivery = self._deliveries.get(eval_id)
        if delivery is None:
            return Turn()
        self._close(eval_id)
        reason = str(error) or type(error).__name__
        return Turn(
            finishes=(
                FinishRequest(eval_id=eval_id, token=delivery.token, ack=False, error=reason),
            )
        )

    def _close(self, eval_id: str) -> None:
        self._deliveries.pop(eval_id, None)
        self._stamps.pop(eval_id, None)
        run = self._runs.pop(eval_id, None)
        if run is not None:
            run.close()


class Stamp:
    """What a worker writes on the evaluations of a run (evaluations.md 7.5).

    The instant is that of the run's beginning, where the scheduler's clock stood still: so the
    record says what a capsule of the run must say.
    """

    def __init__(self, start_index: int, now: int) -> None:
        self.start_index = start_index
        self._now = now

    def on_update(self, evaluation: Evaluation) -> Evaluation:
        """The processed evaluation, with the snapshot its run began with."""
        return evaluation.changed(
            snapshot_index=self.start_index,
            modify_time=max(self._now, evaluation.create_time + 1),
        )

    def on_creation(self, evaluation: Evaluation) -> Evaluation:
        """A new evaluation."""
        return evaluation.changed(
            snapshot_index=self.start_index, create_time=self._now, modify_time=self._now
        )


def _packed(evaluation: Evaluation, outcome: Outcome) -> tuple[StoredExplanation, ...]:
    return tuple(
        StoredExplanation(
            eval_id=evaluation.id,
            task_group=name,
            namespace=evaluation.namespace,
            job_id=evaluation.job_id,
            packed=pack(explanation),
        )
        for name, explanation in outcome.explanations.items()
    )


def seed_of(evaluation: Evaluation) -> int:
    """The number that settles ties among equally good nodes: drawn from the evaluation's id."""
    return int.from_bytes(hashlib.blake2b(evaluation.id.encode(), digest_size=7).digest())
