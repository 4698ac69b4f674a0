"""Plans between a worker that waits and the applier that judges.

In: submitted plans, outcomes. Out: plans by urgency, and which submitter each outcome is for.
Whether a plan that was never answered was committed is unknown: its evaluation must run again, on
a newer snapshot.
"""

from collections.abc import Sequence

import msgspec

from scheduler.broker.plan_queue import PlanQueue
from scheduler.messages import PlanOutcome
from scheduler.state.claims import Claim
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.plan import Plan

#: A group is full with this many allocations. Its transaction holds up every other writer for
#: some tens of milliseconds then; groups of large plans without a bound did for seconds, in which
#: no heartbeat could be recorded.
GROUP_SIZE = 256


class Submission(msgspec.Struct):
    """One plan and who waits for its answer."""

    process: str
    plan: Plan
    #: Allocations it changes.
    size: int
    #: The applier holds it.
    is_taken: bool = False
    #: Since when, ns since 1970.
    taken_at: int = 0
    #: What it would take of the nodes, for workers other than the submitter.
    claim: Claim | None = None
    #: Lifecycle steps that ride with it.
    steps: tuple[LifecycleStep, ...] = ()
    #: Nobody waits any more; the evaluation is delivered again once the outcome is known.
    orphaned: bool = False


class Settled(msgspec.Struct, frozen=True):
    """A submission with its outcome."""

    submission: Submission
    outcome: PlanOutcome


class PlanDesk:
    """The plan queue, with its submitters."""

    def __init__(self) -> None:
        self._queue = PlanQueue()
        self._submissions: dict[str, Submission] = {}

    @property
    def depth(self) -> int:
        """Plans that wait for the applier."""
        return self._queue.depth

    @property
    def open_count(self) -> int:
        """Plans that have no answer yet, whoever holds them."""
        return len(self._submissions)

    @property
    def taken_count(self) -> int:
        """Plans the applier holds."""
        return len(self._submissions) - self._queue.depth

    def knows(self, plan_id: str) -> bool:
        """Whether the plan waits or is with the applier."""
        return plan_id in self._submissions

    def submit(self, process: str, plan: Plan, size: int, claim: Claim | None = None) -> None:
        """Queue a plan that changes `size` allocations and claims room."""
        self._submissions[plan.id] = Submission(process, plan, size, claim=claim)
        self._queue.push(plan)

    def claims_beside(self, process: str) -> tuple[Claim, ...]:
        """What unanswered plans of all other processes would take, in order of submission."""
        return tuple(
            each.claim
            for each in self._submissions.values()
            if each.claim is not None and each.process != process
        )

    def take(self, limit: int, now: int) -> list[Submission]:
        """The next plans, now in the applier's hands: up to `limit`, or enough for a group."""
        taken: list[Submission] = []
        while len(taken) < limit and sum(each.size for each in taken) < GROUP_SIZE:
            plans = self._queue.pop(1)
            if not plans:
                break
            submission = self._submissions[plans[0].id]
            submission.is_taken, submission.taken_at = True, now
            taken.append(submission)
        return taken

    def done(self, outcomes: Sequence[PlanOutcome]) -> list[Settled]:
        """Match outcomes with their submissions; unknown ones were given up before."""
        return [
            Settled(self._submissions.pop(outcome.plan_id), outcome)
            for outcome in outcomes
            if outcome.plan_id in self._submissions
        ]

    def ended(self, plan_id: str) -> Submission | None:
        """The record says that this plan was committed whole, with its ending; None: not known."""
        return self._submissions.pop(plan_id, None)

    def unanswered(self) -> list[Settled]:
        """Give up what an applier took before: the one that asks for more will not answer it.

        No clock does that. A slow applier may still commit, and its evaluation must not run again
        before; one that asks again, or follows under a newer epoch, has ended what was before it.
        """
        return self._give_up(
            [s for s in self._submissions.values() if s.is_taken],
            "the plan applier did not answer",
        )

    def flush(self) -> list[Settled]:
        """Give up everything that still waits."""
        plans = self._queue.flush()
        return self._give_up([self._submissions[plan.id] for plan in plans], "plan queue flushed")

    def abandon(self, eval_id: str) -> bool:
        """Nobody waits for this evaluation's plan any more; whether the applier holds it."""
        for submission in list(self._submissions.values()):
            if submission.plan.eval_id != eval_id:
                continue
            if self._queue.withdraw(submission.plan.id):
                del self._submissions[submission.plan.id]
                continue
            submission.orphaned = True
            return True
        return False

    def _give_up(self, submissions: list[Submission], error: str) -> list[Settled]:
        return [
            Settled(
                self._submissions.pop(submission.plan.id),
                PlanOutcome(plan_id=submission.plan.id, error=error),
            )
            for submission in submissions
        ]
