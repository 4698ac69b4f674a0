"""The leader's mind: everything that is decided in one place, and lives in memory only.

In: the event log frame by frame, requests of workers and the applier, time. Out: deliveries,
plans, replies, commands and lifecycle steps. It writes nothing, waits for nothing, and after a
crash is rebuilt from the record by `restore`.
"""

from collections.abc import Callable, Sequence

from scheduler.broker.applier_roll import ApplierRoll
from scheduler.broker.blocked_evals import BlockedEvals
from scheduler.broker.core_timers import CoreTimers
from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.intake import Intake
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.lifecycle import Lifecycles
from scheduler.broker.plan_exchange import PlanExchange
from scheduler.broker.sliding_counts import SlidingCounts
from scheduler.broker.worker_roll import HeldDelivery, WorkerRoll
from scheduler.commands import (
    CancelEvaluations,
    Command,
    FailEvaluation,
    RecordSteps,
    WakeWorkers,
)
from scheduler.errors import NotOutstanding, TokenMismatch
from scheduler.leader_stats import LeaderStats
from scheduler.messages import (
    Delivery,
    FinishRequest,
    FinishWrite,
    PlanOutcome,
    PlanReply,
    QueuedPlan,
    ReapRequest,
)
from scheduler.ports import IDSource, StateReader
from scheduler.state.claims import Claim
from scheduler.state.events import EventFrame
from scheduler.structs.collection import CORE_TYPE, CollectionSettings
from scheduler.structs.counted import FIVE_MINUTES, HOUR, MINUTE, WRITES, WRITTEN
from scheduler.structs.evaluation import Evaluation, LifecycleStep, Step
from scheduler.structs.moment import Moment
from scheduler.structs.plan import Plan
from scheduler.watchers.reaper import Reaper
from scheduler.watchers.watcher import Watcher


class Leader:
    """Broker, tracker of blocked evaluations, plan queue, watchers, and who works on what.

    Frames must be observed in order and without gaps, from `index + 1` on. Call `tick` after every
    batch of frames or requests and at `next_deadline`.
    """

    def __init__(
        self,
        ids: IDSource,
        chance: Callable[[], float],
        settings: LeaderSettings | None = None,
        watchers: Sequence[Watcher] = (),
        collection: CollectionSettings | None = None,
    ) -> None:
        self.settings = settings or LeaderSettings()
        self.broker = EvalBroker(ids, chance, self.settings)
        self.blocked = BlockedEvals()
        self.watchers = tuple(watchers)
        #: The newest index it has seen.
        self.index = 0
        #: Since this leader began.
        self._flows = SlidingCounts(MINUTE, FIVE_MINUTES, HOUR)
        self._lives = Lifecycles(self._flows)
        self._workers = WorkerRoll(self.settings)
        self._intake = Intake(self.broker, self.blocked, self._lives, self._workers)
        self._core = CoreTimers(self.broker, ids, collection)
        self._applier = ApplierRoll(self.settings)
        self._plans = PlanExchange(self.broker, self._lives, self._workers, self._intake)
        self._reaper = Reaper(self.broker, self.blocked, self.settings, ids, chance)
        self._last_unblock_failed = 0.0
        self._last_prune = 0.0

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Start from the record, forgetting everything: old deliveries and plans are void."""
        self.index = reader.index
        self._flows.mark(moment.monotonic)
        self._last_unblock_failed = self._last_prune = moment.monotonic
        self._plans.flush(moment)
        self._workers.forget_deliveries(moment.monotonic)
        self._intake.restore(reader, moment)
        self._core.restore(reader, moment)
        for watcher in self.watchers:
            watcher.restore(reader, moment)

    def recall(self, frames: Sequence[EventFrame] | None, moment: Moment) -> None:
        """After `restore`: the frames up to it that no leader observed; None when they are gone.

        Room that they brought would else be noticed by nobody who waits for it.
        """
        self._intake.recall(frames, moment)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Take in one frame of the event log; one seen before is ignored."""
        if frame.index <= self.index:
            return
        assert frame.index == self.index + 1, f"frame {frame.index} follows {self.index}"
        self.index = frame.index
        self._intake.observe(frame, moment)
        self._plans.observe(frame, moment)
        self._core.observe(frame)
        if not self.broker.enabled:
            self._plans.flush(moment)
        for watcher in self.watchers:
            watcher.observe(frame, moment)

    @property
    def wants_restore(self) -> bool:
        """The broker was paused and is wanted again: call `restore`."""
        return self._intake.wants_restore

    def alive(self, process: str, working_on: Sequence[str] = (), *, monotonic: float) -> None:
        """A worker process lives, and has begun the evaluations named."""
        self._workers.heard(process, monotonic)
        self._workers.begun(process, working_on)

    def dequeue(
        self, process: str, types: Sequence[str], limit: int, moment: Moment
    ) -> tuple[Delivery, ...]:
        """Up to `limit` ready evaluations of different jobs, most urgent first; perhaps none.

        None either while workers take turns and it is another's. The first carries what plans of
        others would take that are not answered yet.
        """
        self._workers.heard(process, moment.monotonic)
        self._workers.asked(process, moment.monotonic)
        if self._plans.takes_turns and self._workers.others_think(process, moment.monotonic):
            return ()
        deliveries: list[Delivery] = []
        for outstanding in self.broker.dequeue(types, limit, monotonic=moment.monotonic):
            evaluation = outstanding.evaluation
            self._workers.deliver(
                process,
                evaluation.id,
                outstanding.token,
                moment.monotonic,
                plans=evaluation.type != CORE_TYPE,
            )
            self._lives.note(evaluation.id, Step.DEQUEUED, moment.now, actor=f"worker {process}")
            deliveries.append(
                Delivery(
                    evaluation=evaluation,
                    token=outstanding.token,
                    wait_index=self._intake.wait_index(evaluation),
                    previous_deliveries=outstanding.deliveries - 1,
                    claims=() if deliveries else self._plans.claims_beside(process),
                )
            )
        if deliveries:
            self._applier.expect()
        return tuple(deliveries)

    def worker_sent_away(self, process: str) -> None:
        """A worker process was told that there is nothing, and sleeps until it is woken."""
        self._workers.sent_away(process)

    def submit_plan(
        self,
        process: str,
        plan: Plan,
        size: int,
        moment: Moment,
        claim: Claim | None = None,
    ) -> None:
        """Queue a plan; its answer will be among `take_replies`. Sent twice, it is queued once.

        Its outline is enough, with the `size` of the whole and, for other workers, its `claim`.
        While it is out the evaluation's nack timer stands still. Raises RequestRefused for a plan
        of no job, NotOutstanding or TokenMismatch for a delivery that is not the submitter's any
        more. Whether its job still exists is for the applier to say.
        """
        self._workers.heard(process, moment.monotonic)
        self._plans.submit(process, plan, size, moment, claim)

    def check_finish(self, process: str, request: FinishRequest, moment: Moment) -> FinishWrite:
        """What to commit for this request, perhaps nothing; then call `finished`.

        After a failed commit call `put_back` with the steps instead. A sign of life: the nack
        timer starts again. Raises NotOutstanding or TokenMismatch; RequestRefused when what is to
        wait for capacity again was not delivered as a blocked evaluation.
        """
        self._workers.heard(process, moment.monotonic)
        if not request.ack:
            self._check_token(request)
            return FinishWrite()
        self.broker.outstanding_reset(request.eval_id, request.token, monotonic=moment.monotonic)
        of_core = self._core.check_finish(request)
        if of_core is not None:
            return of_core
        if request.reblocked is not None:
            self._intake.check_reblocked(request.eval_id, request.reblocked)
        evaluations = request.created
        if request.update is not None:
            evaluations = (*evaluations, request.update)
            self._intake.note_end(request.update, moment.now, actor=f"worker {process}")
        steps = self.take_steps(request.eval_id) if evaluations else ()
        return FinishWrite(evaluations=evaluations, steps=steps, explanations=request.explanations)

    def finished(self, request: FinishRequest, moment: Moment) -> None:
        """The request is committed, or had nothing to commit: ack, nack or reblock it.

        Raises NotOutstanding or TokenMismatch when the delivery was lost meanwhile.
        """
        delivered = self._check_token(request)
        if not request.ack:
            self._nack(request.eval_id, request.token, request.error, monotonic=moment.monotonic)
        else:
            # The tracker first: an evaluation that missed capacity comes in again by the ack.
            if request.reblocked is not None:
                self._intake.block(request.reblocked, request.token, moment)
            self.broker.ack(request.eval_id, request.token, monotonic=moment.monotonic)
            self._workers.returned(request.eval_id, moment.monotonic)
            if request.goes_on:
                self._core.go_on(delivered, request.goes_on, self.index, moment)
        self._intake.record_notes(moment)

    def check_reap(self, process: str, request: ReapRequest, moment: Moment) -> None:
        """Whether a core run may delete what it names: its delivery must still be the worker's.

        A sign of life. Raises NotOutstanding, TokenMismatch or RequestRefused.
        """
        self._workers.heard(process, moment.monotonic)
        self.broker.outstanding_reset(request.eval_id, request.token, monotonic=moment.monotonic)
        self._workers.begun(process, (request.eval_id,))
        self._core.check_reap(request)

    def _check_token(self, request: FinishRequest) -> Evaluation:
        token = self.broker.outstanding(request.eval_id)
        if token is None:
            raise NotOutstanding("Evaluation ID not found")
        if token != request.token:
            raise TokenMismatch("Token does not match for Evaluation ID")
        delivered = self.broker.evaluation(request.eval_id)
        assert delivered is not None, "what is out is known"
        return delivered

    def _nack(self, eval_id: str, token: str, reason: str, *, monotonic: float) -> None:
        """Nack a delivery; while the applier holds its plan, only once that is answered."""
        if not self._plans.abandon(eval_id):
            self.broker.nack(eval_id, token, monotonic=monotonic, reason=reason)
        self._workers.returned(eval_id, monotonic)

    def next_plans(self, limit: int, moment: Moment) -> tuple[QueuedPlan, ...]:
        """The most urgent plans, to be judged in this order; perhaps none.

        Whoever asks has ended with what was taken before. Observe the frames up to now first.
        """
        self._applier.asked(moment.monotonic)
        queued = self._plans.next(limit, moment)
        if queued:
            self._flows.add(WRITES)
            self._flows.add(WRITTEN, len(queued))
        return queued

    def applier_sent_away(self) -> None:
        """The applier was told that there is nothing, and sleeps until it is woken."""
        self._applier.sent_away()

    def take_applier_wake(self, monotonic: float) -> bool:
        """Whether the applier must be woken now; it counts as woken."""
        return self._applier.take_wake(self._plans.open_count, monotonic)

    def plans_done(self, outcomes: Sequence[PlanOutcome], moment: Moment) -> None:
        """Plans were judged and committed; the answers wait in `take_replies`."""
        self._plans.done(outcomes, moment)

    def take_replies(self) -> tuple[PlanReply, ...]:
        """Answers to submitted plans, to be sent now."""
        return self._plans.take_replies()

    def take_hints(self) -> tuple[LifecycleStep, ...]:
        """Steps that were not published yet."""
        return self._lives.take_hints()

    def take_steps(self, eval_id: str) -> tuple[LifecycleStep, ...]:
        """Steps of one evaluation that are not recorded yet, for a commit about it."""
        return self._lives.take_unwritten(eval_id)

    def put_back(self, steps: Sequence[LifecycleStep]) -> None:
        """Steps were taken but their commit failed."""
        self._lives.put_back(steps)

    def tick(self, moment: Moment) -> list[Command]:
        """What became due, in seven steps; commands are to be performed in order."""
        # 1. Deliveries of lost workers return.
        for held in self._workers.take_lost(moment.monotonic):
            self._return_lost(held, monotonic=moment.monotonic)
        # 2. Timers of the broker: nacks, delays.
        self.broker.tick(moment)
        # 3. Those that gave up over conflicts try again; old news of capacity is forgotten.
        self._sweep(moment)
        # 4. Core jobs whose time has come are put in.
        self._core.tick(self.index, moment)
        self._intake.record_notes(moment)
        # 5. What came back too often is written off, what was superseded is canceled.
        commands = self._reaper.reap(moment)
        # 6. Idle workers are woken.
        wakes = self._workers.take_wakes(self.broker.ready_count(), moment.monotonic)
        if wakes:
            commands.append(WakeWorkers(count=wakes))
        # 7. Steps that found no commit to ride in are written by themselves.
        leftovers = self._lives.take_leftovers(moment.monotonic, self.settings.leftover_after)
        if leftovers:
            commands.append(RecordSteps(steps=leftovers))
        return commands

    def watch(self, reader: StateReader, moment: Moment) -> list[Command]:
        """What the watchers want done; call it when `watch_deadline` has come."""
        return [command for watcher in self.watchers for command in watcher.tick(reader, moment)]

    def next_deadline(self, moment: Moment) -> float | None:
        """When `tick` has something to do, on the monotonic clock; it may be in the past."""
        deadlines = [
            self.broker.next_deadline(moment),
            self._core.next_deadline(),
            self._workers.next_deadline(self.broker.ready_count(), moment.monotonic),
            self._lives.next_deadline(self.settings.leftover_after),
            self._last_unblock_failed + self.settings.unblock_failed_interval,
        ]
        return min((due for due in deadlines if due is not None), default=None)

    def watch_deadline(self, moment: Moment) -> float | None:
        """When `watch` has something to do, on the monotonic clock."""
        deadlines = [watcher.next_deadline(moment) for watcher in self.watchers]
        return min((due for due in deadlines if due is not None), default=None)

    def performed(self, command: Command, moment: Moment) -> None:
        """A command was carried out."""
        if isinstance(command, FailEvaluation):
            self.broker.ack(command.evaluation.id, command.token, monotonic=moment.monotonic)
            self._intake.record_notes(moment)

    def not_performed(self, command: Command) -> None:
        """A command failed: it comes again, by the nack timer or with the next tick."""
        if isinstance(command, RecordSteps):
            self.put_back(command.steps)
        elif isinstance(command, CancelEvaluations):
            self._reaper.not_performed(command)

    def _return_lost(self, held: HeldDelivery, *, monotonic: float) -> None:
        if self.broker.outstanding(held.eval_id) != held.token:
            return
        if held.begun:
            self._nack(held.eval_id, held.token, "worker lost", monotonic=monotonic)
        else:
            self.broker.give_back(held.eval_id, held.token, reason="worker lost before it began")

    def _sweep(self, moment: Moment) -> None:
        if moment.monotonic >= self._last_unblock_failed + self.settings.unblock_failed_interval:
            self._last_unblock_failed = moment.monotonic
            released = self.blocked.unblock_failed()
            self._intake.enqueue_released(released, moment)
        if moment.monotonic >= self._last_prune + self.settings.prune_interval:
            self._last_prune = moment.monotonic
            self.blocked.prune(moment.monotonic)
            self._intake.prune()

    def stats(self, monotonic: float = 0.0) -> LeaderStats:
        """Numbers for pages; `monotonic` is when they are told."""
        workers, busy = self._workers.counts()
        self._flows.mark(monotonic)
        return LeaderStats(
            index=self.index,
            broker=self.broker.stats(),
            blocked=self.blocked.stats(),
            plan_queue_depth=self._plans.depth,
            plans_taken=self._plans.taken_count,
            plan_refusals=self._plans.refusal_count,
            refusals_of_nodes=self._plans.refusals(),
            worker_processes=workers,
            busy_worker_processes=busy,
            workers=self._workers.told(monotonic),
            flows=self._flows.told(monotonic),
        )
