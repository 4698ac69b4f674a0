"""What a rehearsal changes, in words.

In: changes of a scenario. Out: sentences without their end.
"""

from django.utils.translation import gettext

from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DispatchJob,
    DrainNodes,
    EndDrain,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RevertJob,
    RoomOnNode,
    RunJob,
    ScaleJob,
    ScenarioChange,
    StopJob,
)
from dashboard.wording import count_of, number, one_of, span
from scheduler.structs.wire import wire_name


def change_told(change: ScenarioChange) -> str:
    """One change in words."""
    match change:
        case AddNodes(like=like, count=count):
            return gettext("Add {node} like {like}").format(
                node=count_of(count, "{count} node", "{count} nodes"), like=like
            )
        case RunJob() | StopJob() | ScaleJob() | DispatchJob() | RevertJob():
            return _job_told(change)
        case ChangeSettings():
            return gettext("Change the scheduler: {settings}").format(settings=_settings(change))
        case ChangeQuota(name=name, limits=limits):
            told = [f"{wire_name(key)} {number(value)}" for key, value in limits.items()]
            return gettext("Change quota {name}: {told}").format(
                name=name, told=one_of(told, "and")
            )
        case RoomOnNode() | EndDrain():
            # Tried where something would help, which is told in words of its own.
            raise AssertionError("nobody asks for it")
        case _:
            return _nodes_told(change)


def _job_told(change: RunJob | StopJob | ScaleJob | DispatchJob | RevertJob) -> str:
    """What is done to a job, in words."""
    match change:
        case RunJob(job=job):
            return gettext("Register job {job}").format(job=job.id)
        case StopJob(key=key, purge=True):
            return gettext("Purge job {job_id} in {namespace}").format(
                job_id=key.job_id, namespace=key.namespace
            )
        case StopJob(key=key):
            return gettext("Stop job {job_id} in {namespace}").format(
                job_id=key.job_id, namespace=key.namespace
            )
        case ScaleJob(key=key, group=group, count=count):
            return gettext("Scale {job_id}{part} to {count}").format(
                job_id=key.job_id, part="." + group if group else "", count=number(count)
            )
        case DispatchJob(key=key):
            return gettext("Dispatch {job_id}").format(job_id=key.job_id)
        case RevertJob(key=key, version=version):
            return gettext("Take {job_id} back to version {version}").format(
                job_id=key.job_id, version=version
            )


def _nodes_told(change: DrainNodes | LoseNodes | PurgeNodes | MarkNodes) -> str:
    """What is done to nodes, in words."""
    nodes = _choice(change.nodes)
    match change:
        case DrainNodes():
            return _drain(change, nodes)
        case MarkNodes(eligibility=eligibility):
            return gettext("Set {nodes} {eligibility}").format(
                nodes=nodes, eligibility=eligibility.value
            )
        case PurgeNodes():
            return gettext("Purge {nodes}").format(nodes=nodes)
        case _:
            return gettext("Lose {nodes}").format(nodes=nodes)


def _drain(change: DrainNodes, nodes: str) -> str:
    if change.deadline < 0:
        how = gettext("at once and by force")
    elif change.deadline:
        how = gettext("with a deadline of {deadline}").format(deadline=span(change.deadline))
    else:
        how = gettext("without a deadline")
    if change.at_once:
        steps = number(change.at_once)
        told = gettext("Drain {nodes} in steps of {steps} {how}").format(
            nodes=nodes, steps=steps, how=how
        )
    else:
        told = gettext("Drain {nodes} {how}").format(nodes=nodes, how=how)
    if not change.ignore_system_jobs:
        return told
    return gettext("{told} but leave system jobs running").format(told=told)


def _settings(change: ChangeSettings) -> str:
    parts = (
        [gettext("use the algorithm {algorithm}").format(algorithm=change.algorithm)]
        if change.algorithm
        else []
    )
    for value, on, off in (
        (
            change.service_preempts,
            gettext("let services preempt"),
            gettext("let services preempt nothing"),
        ),
        (
            change.batch_preempts,
            gettext("let batch jobs preempt"),
            gettext("let batch jobs preempt nothing"),
        ),
        (
            change.memory_oversubscription,
            gettext("oversubscribe memory"),
            gettext("do not oversubscribe memory"),
        ),
    ):
        if value is not None:
            parts.append(on if value else off)
    return one_of(parts, "and")


def _choice(choice: NodeChoice) -> str:
    if choice.node_ids:
        return count_of(len(choice.node_ids), "{count} node", "{count} nodes")
    share = gettext("{share} % of ").format(share=choice.share) if choice.share < WHOLE else ""
    return gettext("{share}nodes with {filter}").format(share=share, filter=choice.filter)
