"""How every node stands to one more allocation of a group, as the record is now.

In: a reader, a job's name, a group. Out: what the real engine finds. Nothing is written.
"""

import msgspec

from cluster.operations.errors import NotFound
from cluster.operations.trial import MATCHER, TrialSnapshot
from scheduler.engine.context import EvalContext
from scheduler.engine.survey import Survey, survey
from scheduler.ports import StateReader
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup
from scheduler.worker import seed_of


class FoundNow(msgspec.Struct, frozen=True, kw_only=True):
    """One look, at one index."""

    index: int
    at: int
    job: Job
    group: TaskGroup
    survey: Survey
    #: Every node of the cluster, by id.
    nodes: dict[str, Node]


def explain_now(
    reader: StateReader, key: JobKey, group_name: str, *, now: int, node_id: str = ""
) -> FoundNow:
    """Ask every node. Raises NotFound where the job is gone, or has no such group any more."""
    job = reader.job(key)
    if job is None:
        raise NotFound("the job is gone")
    group = next((each for each in job.task_groups if each.name == group_name), None)
    if group is None:
        raise NotFound(f"version {job.version} of the job has no group {group_name}")
    trial = TrialSnapshot(reader, now)
    context = EvalContext(trial, key, matcher=MATCHER, seed=seed_of(key), now=now)
    nodes = (node for node in trial.node_table.nodes if node is not None)
    return FoundNow(
        index=reader.index,
        at=now,
        job=job,
        group=group,
        survey=survey(context, job, group, node_id),
        nodes={node.id: node for node in nodes},
    )
