"""Plans on their way: in from workers, out to the applier, and the answers back.

In: plans, outcomes, frames of the event log. Out: plans in order of urgency, replies, and what
they mean for deliveries and the lives of evaluations. A plan that carries its run's ending is over
when the record says so: then nobody has to tell.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.intake import Intake
from scheduler.broker.lifecycle import Lifecycles
from scheduler.broker.plan_desk import PlanDesk, Settled, Submission
from scheduler.broker.turns import Turns
from scheduler.broker.worker_roll import WorkerRoll
from scheduler.errors import RequestRefused
from scheduler.messages import PlanOutcome, PlanReply, QueuedPlan
from scheduler.state.claims import Claim
from scheduler.state.events import EventFrame
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.moment import Moment
from scheduler.structs.plan import Plan, PlanResult

#: Nodes told one by one with what they refused, at most; of more none.
MOST_NODES = 1_000


class PlanExchange:
    """The plan desk, and what its plans mean to everybody else."""

    def __init__(
        self, broker: EvalBroker, lives: Lifecycles, workers: WorkerRoll, intake: Intake
    ) -> None:
        self._broker = broker
        self._lives = lives
        self._workers = workers
        self._intake = intake
        self._turns = Turns()
        self._desk = PlanDesk()
        self._replies: list[PlanReply] = []
        #: By node, how many plans it refused since this leader began.
        self._refusals: Counter[str] = Counter()

    @property
    def takes_turns(self) -> bool:
        """Plans were refused lately: workers are to make theirs one after another."""
        return self._turns.are_taken

    @property
    def depth(self) -> int:
        """Plans that wait for the applier."""
        return self._desk.depth

    @property
    def open_count(self) -> int:
        """Plans that have no answer yet, whoever holds them."""
        return self._desk.open_count

    @property
    def taken_count(self) -> int:
        """Plans the applier holds."""
        return self._desk.taken_count

    @property
    def refusal_count(self) -> int:
        """How often a node refused a plan, since this leader began."""
        return self._refusals.total()

    def refusals(self) -> dict[str, int]:
        """By node, how many plans it refused since this leader began; none of too many nodes."""
        return dict(self._refusals) if len(self._refusals) <= MOST_NODES else {}

    def submit(
        self, process: str, plan: Plan, size: int, moment: Moment, claim: Claim | None = None
    ) -> None:
        """Queue a plan, once; see `Leader.submit_plan`."""
        if self._desk.knows(plan.id):
            return
        if not plan.job_id:
            raise RequestRefused("cannot submit plan without job info")
        self._broker.pause_nack_timeout(plan.eval_id, plan.eval_token, monotonic=moment.monotonic)
        self._workers.begun(process, (plan.eval_id,))
        self._workers.submitted(process, plan.eval_id)
        self._desk.submit(process, plan, size, claim)
        self._lives.note(
            plan.eval_id,
            Step.PLAN_SUBMITTED,
            moment.now,
            actor=f"worker {process}",
            plan_id=plan.id,
        )

    def claims_beside(self, process: str) -> tuple[Claim, ...]:
        """What unanswered plans of all other processes would take."""
        return self._desk.claims_beside(process)

    def next(self, limit: int, moment: Moment) -> tuple[QueuedPlan, ...]:
        """The most urgent plans; see `Leader.next_plans`."""
        self._settle(self._desk.unanswered(), moment)
        queued = []
        for submission in self._desk.take(limit, moment.now):
            eval_id = submission.plan.eval_id
            submission.steps = self._lives.take_unwritten(eval_id)
            queued.append(
                QueuedPlan(
                    plan=submission.plan,
                    steps=submission.steps,
                    newest_step=self._lives.newest(eval_id),
                    taken_at=submission.taken_at,
                )
            )
        return tuple(queued)

    def done(self, outcomes: Sequence[PlanOutcome], moment: Moment) -> None:
        """Plans were judged and committed."""
        self._settle(self._desk.done(outcomes), moment)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Ack what was committed together with its plan, and answer who waits for it.

        Only such a commit records the answer of a plan that nobody has answered yet.
        """
        for event in frame.events:
            step = event.value
            if not isinstance(step, LifecycleStep) or step.step is not Step.PLAN_ANSWERED:
                continue
            submission = self._desk.ended(step.plan_id)
            if submission is not None:
                self._end(submission, frame.index, moment)
        self._intake.record_notes(moment)

    def flush(self, moment: Moment) -> None:
        """Give up every plan that the applier has not taken."""
        self._settle(self._desk.flush(), moment)

    def abandon(self, eval_id: str) -> bool:
        """Nobody waits for this evaluation's plan any more; whether the applier holds it."""
        return self._desk.abandon(eval_id)

    def take_replies(self) -> tuple[PlanReply, ...]:
        """Answers to submitted plans, to be sent now."""
        replies, self._replies = self._replies, []
        return tuple(replies)

    def _end(self, submission: Submission, index: int, moment: Moment) -> None:
        plan = submission.plan
        if self._is_out(plan):
            self._broker.ack(plan.eval_id, plan.eval_token, monotonic=moment.monotonic)
            self._workers.returned(plan.eval_id, moment.monotonic)
        result = PlanResult(alloc_index=index)
        self._reply(
            submission,
            PlanOutcome(plan_id=plan.id, result=result, is_whole=True, has_ended=True),
        )

    def _settle(self, settled: Sequence[Settled], moment: Moment) -> None:
        for submission, outcome in ((entry.submission, entry.outcome) for entry in settled):
            plan = submission.plan
            result = outcome.result
            self._refusals.update(result.rejected_nodes if result else ())
            if result is None or not result.alloc_index:
                self._lives.put_back(submission.steps)
            # The commit of an ending brings its steps along.
            if not outcome.has_ended:
                self._lives.note(
                    plan.eval_id,
                    Step.PLAN_ANSWERED,
                    moment.now,
                    actor="applier",
                    plan_id=plan.id,
                    nodes=result.rejected_nodes if result else (),
                    reason=outcome.reason,
                    taken_at=submission.taken_at,
                )
            if self._is_out(plan):
                self._resume(submission, monotonic=moment.monotonic)
            self._reply(submission, outcome)
        self._intake.record_notes(moment)

    def _is_out(self, plan: Plan) -> bool:
        return self._broker.outstanding(plan.eval_id) == plan.eval_token

    def _resume(self, submission: Submission, *, monotonic: float) -> None:
        plan = submission.plan
        if submission.orphaned:
            self._broker.nack(
                plan.eval_id, plan.eval_token, monotonic=monotonic, reason="worker lost"
            )
        else:
            self._broker.resume_nack_timeout(plan.eval_id, plan.eval_token, monotonic=monotonic)

    def _reply(self, submission: Submission, outcome: PlanOutcome) -> None:
        result = outcome.result
        self._turns.note(was_refused=result is not None and bool(result.refresh_index))
        if not submission.orphaned:
            eval_id = submission.plan.eval_id
            if outcome.is_refused:
                self._workers.refused(submission.process, eval_id)
                outcome = replace(outcome, claims=self.claims_beside(submission.process))
            self._replies.append(
                PlanReply(process=submission.process, eval_id=eval_id, outcome=outcome)
            )
