"""What a rehearsal changes, in words.

In: changes of a scenario. Out: sentences without their end.
"""

from django.utils.translation import gettext

from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DrainNodes,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RunJob,
    ScaleJob,
    ScenarioChange,
    StopJob,
)
from dashboard.wording import count_of, number, span
from scheduler.structs.wire import wire_name


def change_told(change: ScenarioChange) -> str:
    """One change in words."""
    match change:
        case AddNodes(like=like, count=count):
            return gettext("Add {node} like {like}").format(
                node=count_of(count, "{count} node", "{count} nodes"), like=like
            )
        case RunJob(job=job):
            return gettext("Register job {job}").format(job=job.id)
        case StopJob(key=key):
            return gettext("Stop job {job_id} in {namespace}").format(
                job_id=key.job_id, namespace=key.namespace
            )
        case ScaleJob(key=key, group=group, count=count):
            return gettext("Scale {job_id}{part} to {count}").format(
                job_id=key.job_id, part="." + group if group else "", count=number(count)
            )
        case ChangeSettings():
            return gettext("Change the scheduler: {settings}").format(settings=_settings(change))
        case ChangeQuota(name=name, limits=limits):
            told = ", ".join(f"{wire_name(key)} {number(value)}" for key, value in limits.items())
            return gettext("Change quota {name}: {told}").format(name=name, told=told)
        case _:
            return _nodes_told(change)


def _nodes_told(change: DrainNodes | LoseNodes | PurgeNodes | MarkNodes) -> str:
    """What is done to nodes, in words."""
    nodes = _choice(change.nodes)
    match change:
        case DrainNodes(deadline=deadline, at_once=at_once):
            how = gettext("by force, at once") if deadline < 0 else _deadline(deadline)
            left = gettext(", system jobs left running") if change.ignore_system_jobs else ""
            pace = (
                gettext(", {at_once} at a time").format(at_once=number(at_once)) if at_once else ""
            )
            return gettext("Drain {nodes}, {how}{left}{pace}").format(
                nodes=nodes, how=how, left=left, pace=pace
            )
        case MarkNodes(eligibility=eligibility):
            return gettext("Set {nodes} {eligibility}").format(
                nodes=nodes, eligibility=eligibility.value
            )
        case PurgeNodes():
            return gettext("Purge {nodes}").format(nodes=nodes)
        case _:
            return gettext("Lose {nodes}").format(nodes=nodes)


def _deadline(deadline: int) -> str:
    return (
        gettext("deadline {deadline}").format(deadline=span(deadline))
        if deadline
        else gettext("without a deadline")
    )


def _settings(change: ChangeSettings) -> str:
    parts = (
        [gettext("algorithm {algorithm}").format(algorithm=change.algorithm)]
        if change.algorithm
        else []
    )
    for word, value in (
        (gettext("services preempt"), change.service_preempts),
        (gettext("batch jobs preempt"), change.batch_preempts),
        (gettext("memory is oversubscribed"), change.memory_oversubscription),
    ):
        if value is not None:
            parts.append(f"{word}: {'yes' if value else 'no'}")
    return ", ".join(parts)


def _choice(choice: NodeChoice) -> str:
    if choice.node_ids:
        return count_of(len(choice.node_ids), "{count} node", "{count} nodes")
    share = gettext("{share} % of ").format(share=choice.share) if choice.share < WHOLE else ""
    return gettext("{share}nodes with {filter}").format(share=share, filter=choice.filter)
