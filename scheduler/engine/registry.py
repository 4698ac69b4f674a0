"""Which scheduler an evaluation's type goes to."""

from collections.abc import Generator
from typing import Protocol

from scheduler.engine.attempt import Tools
from scheduler.engine.generic import GenericScheduler
from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.system import SystemScheduler
from scheduler.errors import SchedulerError
from scheduler.ports import IDSource, PatternMatcher, Snapshot
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import JobType
from scheduler.structs.plan import Plan


class Scheduler(Protocol):
    """One run over one evaluation."""

    def process(self, evaluation: Evaluation) -> Generator[Plan, PlanAnswer, Outcome]:
        """Yield each plan to submit, take its answer, return what is left to write."""

    def outcome_if_whole(self) -> Outcome:
        """What `process` returns if the plan it has yielded last is committed whole."""


class UnknownSchedulerType(SchedulerError):
    """No scheduler works evaluations of this type off."""


def new_scheduler(
    job_type: str,
    snapshot: Snapshot,
    *,
    ids: IDSource,
    now: int,
    matcher: PatternMatcher,
    seed: int,
) -> Scheduler:
    """The scheduler for evaluations of a type, for one run; `seed` settles ties alone.

    Raises UnknownSchedulerType.
    """
    tools = Tools(ids=ids, now=now, matcher=matcher, seed=seed)
    match job_type:
        case JobType.SERVICE:
            return GenericScheduler(snapshot, tools, is_batch=False)
        case JobType.BATCH:
            return GenericScheduler(snapshot, tools, is_batch=True)
        case JobType.SYSTEM:
            return SystemScheduler(snapshot, tools, is_sysbatch=False)
        case JobType.SYSBATCH:
            return SystemScheduler(snapshot, tools, is_sysbatch=True)
    raise UnknownSchedulerType(f"unknown scheduler type {job_type!r}")
