"""Run the schedulers over a batch of deliveries, all of them side by side.

In: deliveries, snapshots, answers to plans. Out: plans to submit together, and requests that
finish each delivery. Where snapshots come from, and how a plan travels, is not known here.
"""

import hashlib
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from typing import Protocol

import msgspec

from scheduler.collection.core_scheduler import CoreRun, CoreScheduler
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.registry import Scheduler, new_scheduler
from scheduler.errors import SchedulerError
from scheduler.finishing import Stamp, finish_request
from scheduler.messages import Delivery, FinishRequest, PlanOutcome, Reaped, ReapRequest
from scheduler.ports import IDSource, MirroredSnapshot, PatternMatcher, Snapshot
from scheduler.state.claims import Claim
from scheduler.state.foresight import Foresight, JobAct
from scheduler.state.pending_use import PendingUse, View
from scheduler.structs.collection import CORE_TYPE, CollectionSettings
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.plan import Plan, PlanResult, RunEnding

#: A snapshot at or after the index; raises StaleSnapshot when there is none in time.
SnapshotSupplier = Callable[[int], MirroredSnapshot]

#: What a worker's runs count as old where nothing else is set.
_DEFAULTS = CollectionSettings()
#: A run held so often looks at the record alone from then on: two runs whose plans are refused
#: again and again must not keep each other from ending.
HOLDS_AT_MOST = 2
#: Plans for more nodes than this are not told to others: theirs are mostly of system jobs, which
#: look at no other node, and telling them would take longer than a collision.
TOLD_AT_MOST = 1_000


class SchedulerFactory(Protocol):
    """What `new_scheduler` is; tests put their own in."""

    def __call__(
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
    collection: CollectionSettings = _DEFAULTS


class Turn(msgspec.Struct, frozen=True):
    """What a batch wants next: submit these plans, commit these finishes, delete these rows."""

    plans: tuple[Plan, ...] = ()
    finishes: tuple[FinishRequest, ...] = ()
    reaps: tuple[ReapRequest, ...] = ()


class Batch:
    """A batch of deliveries on its way through the schedulers.

    Call `begin_all`, or `begin` for one after another, submit the plans of the turn, and call
    `answer` as outcomes arrive, or `reaped` as rows were deleted, until `is_done`. A run that
    breaks is nacked with its reason; the others go on.

    Each run counts what plans of the batch that are out would take, and those of other workers
    that came with the deliveries or with a refusal. One that finds too little room beside those of
    the batch is held until they are answered. When they were committed whole it was right; else,
    and when it counted others', of which it hears no answer, it is run again on the record alone:
    nobody must wait for room a refused plan never took.
    """

    def __init__(self, tools: WorkerTools, deliveries: Sequence[Delivery]) -> None:
        self._tools = tools
        self._works = {delivery.evaluation.id: _Work(delivery) for delivery in deliveries}
        #: Plans that are out, by id.
        self._out: dict[str, Plan] = {}
        self._pending = PendingUse()
        self._pending.hear([claim for delivery in deliveries for claim in delivery.claims])
        #: The newest index an answer told of. What is looked at later is at least as new, so that
        #: an answered plan is seen exactly once: in the record.
        self._reached = 0

    def claim(self, plan_id: str) -> Claim | None:
        """What a plan that is out claims, for other workers to hear of; None: there is no need."""
        claim = self._pending.claim(plan_id)
        return claim if claim is not None and len(claim.uses) <= TOLD_AT_MOST else None

    @property
    def working_on(self) -> tuple[str, ...]:
        """The evaluations that were begun and have not finished: for the `alive` message."""
        # Asked from another thread: what is copied at once does not change underneath.
        works = tuple(self._works.values())
        return tuple(work.eval_id for work in works if work.has_begun)

    @property
    def is_done(self) -> bool:
        """Nothing is left to do."""
        return not self._works

    def begin_all(self, *, now: int) -> Turn:
        """Run every delivery up to its first plan, most urgent first."""
        return _joined([self.begin(eval_id, now=now) for eval_id in tuple(self._works)])

    def begin(self, eval_id: str, *, now: int) -> Turn:
        """Run one delivery up to its first plan."""
        work = self._works[eval_id]
        try:
            if work.delivery.evaluation.type == CORE_TYPE:
                return self._collect(work, now)
            turn = self._start(work, self._pending.over(self._newest(work)), now)
        except Exception as error:
            turn = self._nack(eval_id, error)
        return _joined([turn, *self._start_over(now)])

    def answer(self, outcome: PlanOutcome, *, now: int) -> Turn:
        """Go on with the run whose plan was answered; an unknown plan is ignored."""
        plan = self._out.get(outcome.plan_id)
        if plan is None:
            return Turn()
        result = outcome.together_with(plan).result
        self._settle(plan, result)
        if outcome.is_refused:
            self._pending.hear(outcome.claims)
        if outcome.has_ended:
            self._close(plan.eval_id)
            turn = Turn()
        elif result is None:
            turn = self._nack(plan.eval_id, SchedulerError(outcome.error))
        else:
            turn = self._go_on(plan.eval_id, result)
        return _joined([turn, *self._start_over(now)])

    def give_up(self, eval_id: str, reason: str, *, now: int) -> Turn:
        """Nack a delivery that cannot go on, for a reason from outside."""
        for plan in [plan for plan in self._out.values() if plan.eval_id == eval_id]:
            self._settle(plan, None)
        turn = self._nack(eval_id, SchedulerError(reason))
        return _joined([turn, *self._start_over(now)])

    def reaped(self, eval_id: str, reaped: Reaped) -> Turn:
        """Go on with the core run whose rows are gone; one that was given up is ignored."""
        work = self._works.get(eval_id)
        if work is None or work.core is None:
            return Turn()
        try:
            return self._look_on(work, work.core, reaped)
        except Exception as error:
            return self._nack(eval_id, error)

    def _collect(self, work: "_Work", now: int) -> Turn:
        evaluation = work.delivery.evaluation
        newest = self._newest(work)
        settings = newest.collection_overrides().over(self._tools.collection)
        scheduler = CoreScheduler(newest, settings, now)
        work.core = scheduler.process(evaluation)
        return self._look_on(work, work.core, None)

    def _look_on(self, work: "_Work", core: CoreRun, reaped: Reaped | None) -> Turn:
        eval_id, token = work.eval_id, work.delivery.token
        try:
            reap = next(core) if reaped is None else core.send(reaped)
        except StopIteration as end:
            self._close(eval_id)
            finish = FinishRequest(eval_id=eval_id, token=token, goes_on=end.value)
            return Turn(finishes=(finish,))
        return Turn(reaps=(ReapRequest(eval_id=eval_id, token=token, reap=reap),))

    def _start(self, work: "_Work", view: View, now: int) -> Turn:
        evaluation = work.delivery.evaluation
        work.stamp = Stamp(view.snapshot.index, now, view.eval_ids)
        work.look_at(view, self._out)
        view.snapshot.foresee(Foresight(JobAct.RUN, evaluation.job_key))
        scheduler = self._tools.factory(
            evaluation.type,
            view.snapshot,
            ids=self._tools.ids,
            now=now,
            matcher=self._tools.matcher,
            seed=seed_of(evaluation.job_key),
        )
        work.scheduler = scheduler
        work.run = scheduler.process(evaluation)
        return self._advance(work, None)

    def _newest(self, work: "_Work") -> MirroredSnapshot:
        return self._tools.snapshot(max(work.delivery.wait_index, self._reached))

    def _settle(self, plan: Plan, result: PlanResult | None) -> None:
        del self._out[plan.id]
        self._pending.drop(plan.id)
        if result is not None:
            self._reached = max(self._reached, result.alloc_index, result.refresh_index)
        was_whole = result is not None and result.is_full_commit_of(plan)
        for work in self._works.values():
            if plan.id in work.leans_on:
                work.leans_on.discard(plan.id)
                work.was_misled |= not was_whole

    def _go_on(self, eval_id: str, result: PlanResult) -> Turn:
        work = self._works[eval_id]
        try:
            if not result.refresh_index:
                return self._advance(work, PlanAnswer(result=result))
            newest = self._newest(work)
            view = View(newest) if work.holds >= HOLDS_AT_MOST else self._pending.over(newest)
            work.look_at(view, self._out)
            return self._advance(work, PlanAnswer(result=result, snapshot=view.snapshot))
        except Exception as error:
            return self._nack(eval_id, error)

    def _start_over(self, now: int) -> list[Turn]:
        """Go on with those that are held and lean on nothing any more."""
        ready = [work for work in self._works.values() if work.held and not work.leans_on]
        return [
            self._begin_alone(work, now) if work.was_misled else self._finish(work, *work.held)
            for work in ready
            if work.held is not None
        ]

    def _begin_alone(self, work: "_Work", now: int) -> Turn:
        assert work.held is not None, "only what is held is run again"
        stamp, outcome = work.held
        work.promised += [
            stamp.on_creation(each)
            for each in outcome.created
            if each.status is not EvalStatus.BLOCKED
        ]
        work.held, work.was_misled, work.leans_on_others = None, False, False
        try:
            return self._start(work, View(self._newest(work)), now)
        except Exception as error:
            return self._nack(work.eval_id, error)

    def _advance(self, work: "_Work", answer: PlanAnswer | None) -> Turn:
        run, stamp, delivery = work.run, work.stamp, work.delivery
        assert run is not None, "only runs that were begun are advanced"
        assert stamp is not None, "a run is stamped before it begins"
        try:
            plan = next(run) if answer is None else run.send(answer)
        except StopIteration as end:
            return self._end(work, stamp, end.value)
        plan = msgspec.structs.replace(
            plan,
            id=plan.id or self._tools.ids.next_id(),
            eval_id=work.eval_id,
            eval_token=delivery.token,
            snapshot_index=stamp.start_index,
            ending=self._ending(work, stamp),
        )
        self._out[plan.id] = plan
        self._pending.add(plan, work.seen_index)
        return Turn(plans=(plan,))

    def _end(self, work: "_Work", stamp: "Stamp", outcome: Outcome) -> Turn:
        if outcome.waits_for_room and (work.leans_on or work.was_misled or work.leans_on_others):
            # Of the plans of others no answer comes here that could say it was right.
            work.was_misled |= work.leans_on_others
            work.hold(stamp, outcome)
            return Turn()
        return self._finish(work, stamp, outcome)

    def _ending(self, work: "_Work", stamp: "Stamp") -> RunEnding | None:
        """What is left to be written if the plan just made is committed whole.

        Not for a run that is to wait for room: whether it must may hang on other plans, and what
        goes back to the tracker of blocked evaluations goes through the leader.
        """
        assert work.scheduler is not None, "a run that made a plan has its scheduler"
        outcome = work.scheduler.outcome_if_whole()
        if outcome.waits_for_room:
            return None
        finish = finish_request(work.delivery, stamp, outcome, work.promised)
        assert finish.update is not None, "only what is reblocked has none"
        return RunEnding(
            evaluations=(*finish.created, finish.update), explanations=finish.explanations
        )

    def _finish(self, work: "_Work", stamp: "Stamp", outcome: Outcome) -> Turn:
        self._close(work.eval_id)
        return Turn(finishes=(finish_request(work.delivery, stamp, outcome, work.promised),))

    def _nack(self, eval_id: str, error: Exception) -> Turn:
        work = self._works.get(eval_id)
        if work is None:
            return Turn()
        self._close(eval_id)
        reason = str(error) or type(error).__name__
        token = work.delivery.token
        return Turn(
            finishes=(FinishRequest(eval_id=eval_id, token=token, ack=False, error=reason),)
        )

    def _close(self, eval_id: str) -> None:
        work = self._works.pop(eval_id)
        for run in (work.run, work.core):
            if run is not None:
                run.close()


class _Work:
    """One delivery of a batch."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.scheduler: Scheduler | None = None
        self.run: Generator[Plan, PlanAnswer, Outcome] | None = None
        #: The run of a core evaluation, which makes no plans.
        self.core: CoreRun | None = None
        self.stamp: Stamp | None = None
        #: Index of the snapshot of the newest attempt.
        self.seen_index = 0
        #: Unanswered plans of the batch's other runs that its run counted as taken.
        self.leans_on: set[str] = set()
        #: It counted plans of other workers too.
        self.leans_on_others = False
        #: One of them was not committed whole.
        self.was_misled = False
        #: It found too little room, and waits for those answers with its outcome.
        self.held: tuple[Stamp, Outcome] | None = None
        #: How often it was held.
        self.holds = 0
        #: Delayed evaluations of held runs: allocations in committed plans name them already.
        self.promised: list[Evaluation] = []

    @property
    def eval_id(self) -> str:
        """What it is known by."""
        return self.delivery.evaluation.id

    @property
    def has_begun(self) -> bool:
        """It was not only delivered."""
        return self.run is not None or self.core is not None

    def look_at(self, view: View, of_batch: Container[str]) -> None:
        """Its next attempt sees this; plans that are not of the batch are other workers'."""
        self.seen_index = view.snapshot.index
        own = {plan_id for plan_id in view.plan_ids if plan_id in of_batch}
        self.leans_on |= own
        self.leans_on_others |= len(own) < len(view.plan_ids)

    def hold(self, stamp: "Stamp", outcome: Outcome) -> None:
        """Keep an outcome until it is known whether there was room after all."""
        self.held = stamp, outcome
        self.holds += 1


def _joined(turns: Iterable[Turn]) -> Turn:
    kept = [*turns]
    return Turn(
        plans=tuple(plan for turn in kept for plan in turn.plans),
        finishes=tuple(request for turn in kept for request in turn.finishes),
        reaps=tuple(request for turn in kept for request in turn.reaps),
    )


def seed_of(job: JobKey) -> int:
    """The number that settles ties among equally good nodes: drawn from the job's name.

    Different jobs spread over equals in different orders; one job asked again, in a rehearsal or
    in earnest, is answered alike, since no id that is drawn anew takes part.
    """
    name = f"{job.job_id} in {job.namespace}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest())
