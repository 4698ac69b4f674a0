"""Plans between a worker that waits and the applier that judges.

In: submitted plans, outcomes. Out: plans by urgency, and which submitter each outcome is for. A
plan the applier took and never answered is given up after a while; whether it was committed is
then unknown, so its evaluation must run again on a newer snapshot.
"""

from collections.abc import Sequence

import msgspec

from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.plan_queue import PlanQueue
from scheduler.messages import PlanOutcome
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.plan import Plan


class Submission(msgspec.Struct):
    """One plan and who waits for its answer."""

    process: str
    plan: Plan
    #: The applier that holds it; "" while it waits in the queue.
    applier: str = ""
    taken_at: float = 0.0
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

    def __init__(self, settings: LeaderSettings) -> None:
        self._settings = settings
        self._queue = PlanQueue()
        self._submissions: dict[str, Submission] = {}

    @property
    def depth(self) -> int:
        """Plans that wait for the applier."""
        return self._queue.depth

    @property
    def taken_count(self) -> int:
        """Plans the applier holds."""
        return len(self._submissions) - self._queue.depth

    def knows(self, plan_id: str) -> bool:
        """Whether the plan waits or is with the applier."""
        return plan_id in self._submissions

    def submit(self, process: str, plan: Plan) -> None:
        """Queue a plan."""
        self._submissions[plan.id] = Submission(process, plan)
        self._queue.push(plan)

    def take(self, applier: str, limit: int, monotonic: float) -> list[Submission]:
        """The next plans, now in the hands of this applier."""
        taken = [self._submissions[plan.id] for plan in self._queue.pop(limit)]
        for submission in taken:
            submission.applier, submission.taken_at = applier, monotonic
        return taken

    def done(self, outcomes: Sequence[PlanOutcome]) -> list[Settled]:
        """Match outcomes with their submissions; unknown ones were given up before."""
        return [
            Settled(self._submissions.pop(outcome.plan_id), outcome)
            for outcome in outcomes
            if outcome.plan_id in self._submissions
        ]

    def replaced(self, applier: str) -> list[Settled]:
        """Give up what any other applier holds: there is only one at a time."""
        return self._give_up(
            [s for s in self._submissions.values() if s.applier not in ("", applier)],
            "the plan applier was replaced before it answered",
        )

    def overdue(self, monotonic: float) -> list[Settled]:
        """Give up what was not answered in time."""
        limit = monotonic - self._settings.plan_answer_limit
        return self._give_up(
            [s for s in self._submissions.values() if s.applier and s.taken_at <= limit],
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

    def next_deadline(self) -> float | None:
        """When a taken plan becomes overdue."""
        taken = [s.taken_at for s in self._submissions.values() if s.applier]
        return min(taken) + self._settings.plan_answer_limit if taken else None

    def _give_up(self, submissions: list[Submission], error: str) -> list[Settled]:
        return [
            Settled(
                self._submissions.pop(submission.plan.id),
                PlanOutcome(plan_id=submission.plan.id, error=error),
            )
            for submission in submissions
        ]
