"""What the leader, the workers and the applier say to each other, as values.

They travel through Redis as msgpack; tokens and ids in them are checked against the record, so a
lost, late or repeated message does no harm. How they travel is not known here.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from scheduler.errors import RequestRefused
from scheduler.state.claims import Claim
from scheduler.structs.collection import Cutoffs
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.wire import Nanoseconds, Wire

#: Moves on when workers of before can no longer read what the leader hands out, or it what they
#: hand in.
SCHEDULER_VERSION = 2


def check_dequeue(types: Sequence[str], version: int) -> None:
    """Raises RequestRefused for a worker that may not be handed evaluations."""
    if version != SCHEDULER_VERSION:
        raise RequestRefused(
            f"dequeue disallowed: calling scheduler version is {version};"
            f" leader version is {SCHEDULER_VERSION}"
        )
    if not types:
        raise RequestRefused("dequeue requires at least one scheduler type")


class Delivery(Wire, frozen=True):
    """One evaluation handed to one worker process."""

    evaluation: Evaluation
    #: Proves that the holder still is the one it was delivered to.
    token: str
    #: The run must see a snapshot at or after this index.
    wait_index: int
    #: How often it was delivered before and came back counted.
    previous_deliveries: int = 0
    #: On the first of those that are handed out together: what plans of other workers would take
    #: that nobody has answered yet.
    claims: tuple[Claim, ...] = ()


class Reap(Wire, frozen=True):
    """What a core run wants deleted in one write, named only: the write decides once more.

    At most 7,281 ids and 2,048 jobs.
    """

    #: Whose run it is: one of `CoreJob`, and when its first evaluation was made.
    core_job: str
    started_at: Nanoseconds
    #: What the run counts as old.
    cutoffs: Cutoffs
    #: Its allocations and evaluations go because their jobs do.
    with_jobs: bool = False
    allocations: tuple[str, ...] = ()
    evaluations: tuple[str, ...] = ()
    #: Of these nothing may be left: their allocations and evaluations went in reaps before.
    jobs: tuple[JobKey, ...] = ()
    deployments: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    #: Expired API tokens, by accessor.
    tokens: tuple[str, ...] = ()


class ReapRequest(Wire, frozen=True):
    """A reap in the name of a delivery that is still out."""

    eval_id: str
    token: str
    reap: Reap


class Reaped(Wire, frozen=True):
    """How many rows of each kind one write deleted."""

    allocations: int = 0
    evaluations: int = 0
    jobs: int = 0
    deployments: int = 0
    nodes: int = 0
    tokens: int = 0

    @property
    def count(self) -> int:
        """Of all kinds."""
        ended = self.allocations + self.evaluations + self.deployments
        return ended + self.jobs + self.nodes + self.tokens


class FinishRequest(Wire, frozen=True):
    """How a run ended: what it leaves to be written, and whether the delivery is acked."""

    eval_id: str
    token: str
    #: The evaluation with its final status; or still blocked, when only its counts changed.
    update: Evaluation | None = None
    created: tuple[Evaluation, ...] = ()
    #: The evaluation, to go back to those that wait for capacity.
    reblocked: Evaluation | None = None
    #: Why nodes were not chosen, one per task group; their index is still to be set.
    explanations: tuple[StoredExplanation, ...] = ()
    #: False: it is to be delivered again; `error` says why.
    ack: bool = True
    error: str = ""
    #: The JobID of a core evaluation that does what this one left; "" when nothing is left.
    goes_on: str = ""


class FinishWrite(Wire, frozen=True):
    """What one accepted `FinishRequest` is to commit, in this order."""

    evaluations: tuple[Evaluation, ...] = ()
    steps: tuple[LifecycleStep, ...] = ()
    explanations: tuple[StoredExplanation, ...] = ()
    #: The core job whose run has ended with this, and when it had begun.
    ended: tuple[str, Nanoseconds] | None = None


class QueuedPlan(Wire, frozen=True):
    """A plan on its way from the leader to the applier."""

    plan: Plan
    #: Steps of the evaluation that are not recorded yet, to ride in the plan's commit.
    steps: tuple[LifecycleStep, ...] = ()
    #: The evaluation's newest step, recorded or not: what the commit adds comes after it.
    newest_step: LifecycleStep | None = None
    #: When the leader gave it to the applier.
    taken_at: Nanoseconds = 0


class PlanOutcome(Wire, frozen=True):
    """What the applier made of one plan: a result, or the text of why there is none."""

    plan_id: str
    result: PlanResult | None = None
    error: str = ""
    #: Everything was committed, and `result` leaves out what the submitter knows of its own plan.
    is_whole: bool = False
    #: The plan's ending is committed too: its evaluation is over, and so is the delivery.
    has_ended: bool = False
    #: With a refusal: what plans of other workers would take that nobody has answered yet.
    claims: tuple[Claim, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Some of the plan, or all, was not committed."""
        return self.result is None or bool(self.result.refresh_index)

    def without(self, plan: Plan) -> "PlanOutcome":
        """As it travels: a plan that was committed whole need not be said again."""
        result = self.result
        if result is None or any(getattr(result, f) != getattr(plan, f) for f in _COMMITTED):
            return self
        left = replace(result, **{f: getattr(_NOTHING, f) for f in _COMMITTED})
        return replace(self, result=left, is_whole=True)

    def together_with(self, plan: Plan) -> "PlanOutcome":
        """What `without` was called on."""
        if self.result is None or not self.is_whole:
            return self
        result = replace(self.result, **{f: getattr(plan, f) for f in _COMMITTED})
        return replace(self, result=result, is_whole=False)

    @property
    def reason(self) -> str:
        """What was wrong with it: the error, or why nodes refused; "" for a full commit."""
        rejections = self.result.rejections if self.result else {}
        return self.error or "; ".join(f"{node}: {why}" for node, why in rejections.items())


_NOTHING = PlanResult()
_COMMITTED = (
    "node_update",
    "node_allocation",
    "node_preemptions",
    "deployment",
    "deployment_updates",
)


class PlanReply(Wire, frozen=True):
    """A `PlanOutcome` addressed to the worker process that waits for it."""

    process: str
    eval_id: str
    outcome: PlanOutcome
