"""One more allocation of a group, asked of every node of a snapshot: nothing is planned.

In: the context of a snapshot, a job and one of its groups. Out: the real stack's findings. For
people who ask how it stands now; schedulers ask while they place (`explain`).
"""

from typing import NamedTuple

from msgspec.structs import replace

from scheduler.engine.context import EvalContext
from scheduler.engine.stack import SelectOptions, ServiceStack, SystemStack
from scheduler.engine.standing import Standing, examination, explanation, verdicts
from scheduler.structs.explanation import CheckResult, GroupExplanation, NodeVerdict
from scheduler.structs.job import Job, JobType
from scheduler.structs.task_group import TaskGroup


class Survey(NamedTuple):
    """What was found: the counts, and each node."""

    #: With the scores of the best; its `failed` is 0, nothing was to be placed.
    explanation: GroupExplanation
    nodes: tuple[NodeVerdict, ...]
    #: Of the node that was asked for.
    checks: tuple[CheckResult, ...]


def survey(context: EvalContext, job: Job, group: TaskGroup, node_id: str = "") -> Survey:
    """How every node stands to one more of the group; `node_id` is examined check by check."""
    standing = _asked(context, job, group)
    found = replace(explanation(standing), best=context.metrics.score_meta_data)
    return Survey(found, verdicts(standing), examination(standing, node_id) if node_id else ())


def _asked(context: EvalContext, job: Job, group: TaskGroup) -> Standing:
    if job.type in {JobType.SYSTEM, JobType.SYSBATCH}:
        system = SystemStack(context)
        system.set_job(job)
        return system.ask(group)
    service = ServiceStack(context)
    service.set_job(job)
    service.select(group, SelectOptions())
    return service.standing(group.name)
