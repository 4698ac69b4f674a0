"""What is wrong with a scenario, as the record has it: known before anything is rehearsed.

In: a record, changes. Out: problems, each with its place: names that nobody knows, and what the
operation that makes the change would refuse.
"""

from collections.abc import Iterator, Sequence

from cluster.jobspec.problems import Problem
from cluster.jobspec.validate import single_problems
from cluster.operations.admission import place_problems
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import compile_filter
from cluster.operations.job_dispatch import dispatch_problems
from cluster.operations.scaling import why_not_scaled
from cluster.operations.staged_drains import StagedDrainRequest, why_not_staged
from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    DispatchJob,
    DrainNodes,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RevertJob,
    RunJob,
    ScaleJob,
    Scenario,
    ScenarioChange,
    StopJob,
)
from cluster.rehearsal.scenario_form import plain_refusal
from scheduler.ports import StateReader
from scheduler.state.nouns import QUOTAS
from scheduler.structs.job import Job
from scheduler.structs.node import Node


def unknown_names(reader: StateReader, scenario: Scenario) -> list[Problem]:
    """What the changes name that the record does not know."""
    return [
        problem
        for number, change in enumerate(scenario.changes)
        for problem in problems_of(reader, change, f"Changes[{number}]")
    ]


def problems_of(reader: StateReader, change: ScenarioChange, path: str) -> Iterator[Problem]:
    """What a change names that the record does not know, and what its operation would refuse."""
    match change:
        case DrainNodes():
            yield from _drain_problems(reader, change, f"{path}.Drain")
        case LoseNodes(nodes=choice):
            yield from _node_problems(reader, choice, f"{path}.Lose")
        case PurgeNodes(nodes=choice):
            yield from _node_problems(reader, choice, f"{path}.Purge")
        case MarkNodes(nodes=choice):
            yield from _node_problems(reader, choice, f"{path}.Eligibility")
        case AddNodes(like=like) if reader.node(like) is None:
            yield Problem(f"{path}.Add.Like", f"there is no node {like}")
        case ChangeQuota(name=name) if reader.get(QUOTAS, name) is None:
            yield Problem(f"{path}.Quota.Name", f"there is no quota {name}")
        case RunJob(job=job):
            yield from _job_problems(reader, job, f"{path}.Job")
        case StopJob() | ScaleJob() | DispatchJob() | RevertJob():
            yield from _problems_of_stored(reader, change, path)


#: What a change of a job that is there is called.
_NAMES = {StopJob: "Stop", ScaleJob: "Scale", DispatchJob: "Dispatch", RevertJob: "Revert"}


def _problems_of_stored(
    reader: StateReader, change: StopJob | ScaleJob | DispatchJob | RevertJob, path: str
) -> Iterator[Problem]:
    place, key = f"{path}.{_NAMES[type(change)]}", change.key
    job = reader.job(key)
    if job is None:
        told = f"there is no job {key.job_id} in namespace {key.namespace}"
        yield Problem(f"{place}.JobID", told)
        return
    match change:
        case ScaleJob():
            yield from _scale_problems(reader, job, change, place)
        case DispatchJob(asked=asked):
            for problem in dispatch_problems(job, asked):
                at = f"{place}.{problem.path}" if problem.path else place
                yield Problem(at, problem.message)
        case RevertJob(version=version) if reader.job_version(key, version) is None:
            told = f"job {key.job_id} in namespace {key.namespace} has no version {version}"
            yield Problem(f"{place}.JobVersion", told)


def _job_problems(reader: StateReader, job: Job, path: str) -> Iterator[Problem]:
    for problem in (*single_problems(job), *place_problems(reader, job)):
        yield Problem(f"{path}.{problem.path}" if problem.path else path, problem.message)


def _scale_problems(
    reader: StateReader, job: Job, change: ScaleJob, path: str
) -> Iterator[Problem]:
    names = [group.name for group in job.task_groups]
    if change.group and change.group not in names:
        yield Problem(f"{path}.Group", f"must be one of {', '.join(names)}")
    elif not change.group and len(names) > 1:
        yield Problem(f"{path}.Group", f"is missing: {', '.join(names)}")
    else:
        group = job.task_group(change.group or names[0])
        assert group is not None, "its name is one of them"
        if why := why_not_scaled(reader, job, group, change.count):
            yield Problem(f"{path}.Count", why)


def _drain_problems(reader: StateReader, change: DrainNodes, path: str) -> Iterator[Problem]:
    found = list(_node_problems(reader, change.nodes, path))
    yield from found
    if change.at_once and not found:
        node_ids = change.nodes.node_ids or [
            node.id for node in filtered_nodes(reader, change.nodes)
        ]
        for problem in why_not_staged(reader, staged_request(change, node_ids)):
            yield Problem(f"{path}.{problem.path}", problem.message)


def staged_request(change: DrainNodes, node_ids: Sequence[str]) -> StagedDrainRequest:
    """What a drain of so many nodes at a time asks for."""
    return StagedDrainRequest(
        node_ids=tuple(node_ids),
        at_once=change.at_once,
        deadline=change.deadline,
        ignore_system_jobs=change.ignore_system_jobs,
        close_first=change.close_first,
    )


def _node_problems(reader: StateReader, choice: NodeChoice, path: str) -> Iterator[Problem]:
    for number, node_id in enumerate(choice.node_ids):
        if reader.node(node_id) is None:
            yield Problem(f"{path}.NodeIDs[{number}]", f"there is no node {node_id}")
    if choice.filter:
        try:
            found = filtered_nodes(reader, choice)
        except OperationRefused as error:
            yield Problem(f"{path}.Filter", plain_refusal(error))
        else:
            if not found:
                yield Problem(f"{path}.Filter", "no node is like that")


def filtered_nodes(reader: StateReader, choice: NodeChoice) -> list[Node]:
    """The nodes of a filter expression, or a share of them. Raises OperationRefused."""
    wants = compile_filter(choice.filter).wants
    found = sorted(
        (node for node in reader.nodes() if wants(node)),
        key=lambda node: (node.datacenter, node.name, node.id),
    )
    return [
        node
        for number, node in enumerate(found)
        if (number + 1) * choice.share // WHOLE > number * choice.share // WHOLE
    ]
