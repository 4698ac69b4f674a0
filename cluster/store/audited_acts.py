"""What a write was, in words: from its kind and from what it changed.

In: the frame of a write. Out: an `Act`, or None for what is nobody's act. Pure. Typed text of
people (reasons, sources, variables) is left out; so are values, which may hold secrets.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from cluster.store.audit_entries import Act, AuditEntry, actor_of, entry_of
from scheduler.access.caller import Caller, CallerKind
from scheduler.state.collection_noun import COLLECTION_OVERRIDES
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.nouns import NOUNS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.scaling_nouns import SCALING_EVENTS
from scheduler.state.service_noun import SERVICES
from scheduler.state.variable_nouns import LOCK_TIMERS
from scheduler.structs.collection import CollectionOverrides
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeEligibility
from scheduler.structs.periodic_launch import PeriodicLaunch
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus

Value = TypeVar("Value")

JOIN = "join"
#: What people do to rehearsals; all else is their process's.
_OF_REHEARSALS = {
    RehearsalStatus.WAITING: "rehearse",
    RehearsalStatus.CANCELED: "cancel rehearsal",
}
#: What the leader, the applier and agents write on their own; nobody asked for it.
OF_THE_CLUSTER = frozenset[str](
    {
        WriteKind.ALLOCATION_UPDATED,
        WriteKind.PLAN_RESULT,
        WriteKind.LIFECYCLE_RECORDED,
        WriteKind.NODE_STREAM_EVENT,
        # Renewals of locks, which come as long as one is held.
        LOCK_TIMERS.upserted,
        SERVICES.upserted,
    }
)


def entry_of_write(frame: EventFrame, by: Caller) -> AuditEntry | None:
    """What the audit keeps of a write that somebody asked for; None where nobody did.

    Of agents only the joining of a node is kept: what they report is routine.
    """
    if by.kind is CallerKind.CLUSTER:
        return None
    act = act_of(frame)
    if act is None or (by.kind is CallerKind.AGENT and act.words != JOIN):
        return None
    return entry_of(actor_of(by), act, at=frame.at, made_index=frame.index)


def act_of(frame: EventFrame) -> Act | None:
    """The act that a write carried out; None when it is none of a person or program."""
    if frame.kind in OF_THE_CLUSTER:
        return None
    told = _TOLD.get(frame.kind)
    return told(frame) if told is not None else _of_noun(frame)


def _job_registered(frame: EventFrame) -> Act | None:
    scaled = _value(frame.events, SCALING_EVENTS.topic, ScalingEvent)
    if scaled is not None:
        return _scaled(scaled)
    job = _value(frame.events, Topic.JOB, Job)
    if job is None:
        return _registered_again(frame)
    version = f"version {job.version}"
    return Act("register job", "job", job.id, job.namespace, version)


def _registered_again(frame: EventFrame) -> Act | None:
    """The job as it was: nothing but an evaluation was made."""
    made = _value(frame.events, Topic.EVALUATION, Evaluation)
    if made is None:
        return _plain(frame, "register job")
    return Act("register job", "job", made.job_id, made.namespace, "as it was")


def _scaling_noted(frame: EventFrame) -> Act | None:
    noted = _value(frame.events, SCALING_EVENTS.topic, ScalingEvent)
    return _scaled(noted) if noted is not None else _of_noun(frame)


def _scaled(event: ScalingEvent) -> Act:
    group = f"group {event.task_group}"
    if event.count is None:
        return Act("note scaling", "job", event.job_id, event.namespace, group)
    counts = f"{group} from {event.previous_count} to {event.count}"
    return Act("scale job", "job", event.job_id, event.namespace, counts)


def _job_dispatched(frame: EventFrame) -> Act | None:
    job = _value(frame.events, Topic.JOB, Job)
    if job is None:
        return _plain(frame, "dispatch job")
    return Act("dispatch job", "job", job.parent_id, job.namespace, f"as {job.id}")


def _job_reverted(frame: EventFrame) -> Act | None:
    job = _value(frame.events, Topic.JOB, Job)
    if job is None:
        # It asked for what there is: an evaluation and nothing else.
        return _evaluated(frame)
    return Act("revert job", "job", job.id, job.namespace, f"version {job.version}")


def _stability_set(frame: EventFrame) -> Act | None:
    job = _version_of(frame)
    if job is None:
        return None
    return _of_version("mark job version", job, "stable" if job.stable else "not stable")


def _version_tagged(frame: EventFrame) -> Act | None:
    job = _version_of(frame)
    if job is None:
        return None
    if job.version_tag is None:
        return _of_version("untag job version", job)
    return _of_version("tag job version", job, job.version_tag.name)


def _version_of(frame: EventFrame) -> Job | None:
    # The current version is the job's own row.
    return _value(frame.events, Topic.JOB_VERSION, Job) or _value(frame.events, Topic.JOB, Job)


def _of_version(words: str, job: Job, more: str = "") -> Act:
    detail = f"version {job.version}" + (f", {more}" if more else "")
    return Act(words, "job", job.id, job.namespace, detail)


def _job_launched(frame: EventFrame) -> Act | None:
    launches = _value(frame.events, Topic.PERIODIC_LAUNCH, PeriodicLaunch)
    if launches is None or not launches.history:
        return _plain(frame, "launch job")
    # The child itself may have been there, launched in the same second.
    as_what = f"as {launches.history[-1].child_id}"
    return Act("launch job", "job", launches.job_id, launches.namespace, as_what)


def _job_deregistered(frame: EventFrame) -> Act | None:
    event = _event(frame.events, Topic.JOB)
    if event is None:
        return _plain(frame, "stop job")
    return Act("purge job" if event.deleted else "stop job", "job", event.key, event.namespace)


def _evaluated(frame: EventFrame) -> Act | None:
    made = [event.value for event in frame.events if isinstance(event.value, Evaluation)]
    nodes = {item.node_id for item in made if item.node_id}
    if len(nodes) == 1:
        return Act("evaluate node", "node", nodes.pop(), detail=_count(len(made), "evaluation"))
    if not made:
        return _plain(frame, "change job")
    return Act("evaluate job", "job", made[0].job_id, made[0].namespace)


def _allocations_stopped(frame: EventFrame) -> Act | None:
    found = [event for event in frame.events if event.topic == Topic.ALLOCATION]
    if not found:
        return None
    more = "" if len(found) == 1 else f"and {_count(len(found) - 1, 'other')}"
    return Act("stop allocation", "allocation", found[0].key, found[0].namespace, more)


def _deployment_changed(frame: EventFrame) -> Act | None:
    deployment = _value(frame.events, Topic.DEPLOYMENT, Deployment)
    if deployment is None:
        return _plain(frame, "change deployment")
    verb = {
        DeploymentStatus.PAUSED: "pause",
        DeploymentStatus.RUNNING: "resume",
        DeploymentStatus.FAILED: "fail",
    }.get(deployment.status, "change")
    return _of_deployment(f"{verb} deployment", deployment)


def _deployment_promoted(frame: EventFrame) -> Act | None:
    deployment = _value(frame.events, Topic.DEPLOYMENT, Deployment)
    return _of_deployment("promote deployment", deployment) if deployment is not None else None


def _health_set(frame: EventFrame) -> Act | None:
    deployment = _value(frame.events, Topic.DEPLOYMENT, Deployment)
    words = "set health of allocations"
    return _of_deployment(words, deployment) if deployment is not None else _plain(frame, words)


def _of_deployment(words: str, deployment: Deployment) -> Act:
    of_job = f"of job {deployment.job_id}, version {deployment.job_version}"
    return Act(words, "deployment", deployment.id, deployment.namespace, of_job)


def _node_registered(frame: EventFrame) -> Act | None:
    """A first registration; what an agent says of its node afterwards is routine."""
    node = _value(frame.events, Topic.NODE, Node)
    if node is None or node.create_index != frame.index:
        return None
    return Act(JOIN, "node", node.id, detail=f"as {node.name}")


def _node_purged(frame: EventFrame) -> Act | None:
    return _of_node(frame, lambda _node: "purge node")


def _eligibility_set(frame: EventFrame) -> Act | None:
    def words(node: Node) -> str:
        is_open = node.scheduling_eligibility is NodeEligibility.ELIGIBLE
        return "open node" if is_open else "close node"

    return _of_node(frame, words)


def _drain_set(frame: EventFrame) -> Act | None:
    staged = _value(frame.events, Topic.STAGED_DRAIN, StagedDrain)
    if staged is not None:
        is_canceled = staged.status is StagedDrainStatus.CANCELED
        words = "cancel staged drain" if is_canceled else "drain nodes in stages"
        detail = f"{len(staged.node_ids)} nodes, {staged.at_once} at a time"
        return Act(words, "staged drain", staged.id, detail=detail)
    return _of_node(
        frame, lambda node: "cancel drain" if node.drain_strategy is None else "drain node"
    )


def _of_node(frame: EventFrame, words: Callable[[Node], str]) -> Act | None:
    node = _value(frame.events, Topic.NODE, Node)
    return Act(words(node), "node", node.id, detail=node.name) if node is not None else None


def _collected(frame: EventFrame) -> Act | None:
    gone = [event for event in frame.events if event.topic == Topic.EVALUATION and event.deleted]
    if not gone:
        return None
    more = "" if len(gone) == 1 else f"and {_count(len(gone) - 1, 'other')}"
    return Act("delete evaluation", "evaluation", gone[0].key, gone[0].namespace, more)


def _of_cluster(words: str) -> Callable[[EventFrame], Act]:
    return lambda _frame: Act(words)


def _collection_set(frame: EventFrame) -> Act | None:
    """Nobody's act where it changed nothing; else the detail is all that stands from now on."""
    stored = _value(frame.events, COLLECTION_OVERRIDES.topic, CollectionOverrides)
    if stored is None:
        return None
    told = ", ".join(f"{field} {seconds:.15g} s" for field, seconds in stored.values.items())
    return Act("change collection settings", detail=told or "all by the environment")


def _key_rotated(frame: EventFrame) -> Act | None:
    """The new key is the last of those that it changed."""
    keys = [event for event in frame.events if event.topic == ROOT_KEYS.topic]
    return Act("rotate root key", "root key", keys[-1].key) if keys else None


def _rehearsal_changed(frame: EventFrame) -> Act | None:
    row = _value(frame.events, REHEARSALS.topic, StoredRehearsal)
    words = _OF_REHEARSALS.get(row.status) if row is not None else None
    return Act(words, "rehearsal", row.id) if row is not None and words else _of_noun(frame)


def _of_noun(frame: EventFrame) -> Act | None:
    """A write that puts or deletes rows of a plain noun and is named by it."""
    for noun in NOUNS:
        for kind, verb in ((noun.upserted, "write"), (noun.deleted, "delete")):
            if noun.topic and frame.kind == kind:
                named = noun.table.replace("_", " ")
                found = [event for event in frame.events if event.topic == noun.topic]
                if not found:
                    return Act(f"{verb} {named}", named)
                first, name = found[0], getattr(found[0].value, "name", "")
                more = f"and {_count(len(found) - 1, 'other')}" if len(found) > 1 else ""
                # Some are found by an id that nobody knows by heart.
                more = more or (str(name) if name != first.key else "")
                return Act(f"{verb} {named}", named, first.key, first.namespace, more)
    return _plain(frame, "change")


def _plain(frame: EventFrame, words: str) -> Act | None:
    """What can be said of any write."""
    first = frame.events[0]
    return Act(words, first.topic.lower(), first.key, first.namespace)


def _event(events: Iterable[StateEvent], topic: str) -> StateEvent | None:
    return next((event for event in events if event.topic == topic), None)


def _value(events: Iterable[StateEvent], topic: str, struct: type[Value]) -> Value | None:
    event = _event(events, topic)
    return event.value if event is not None and isinstance(event.value, struct) else None


def _count(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


_TOLD: dict[str, Callable[[EventFrame], Act | None]] = {
    WriteKind.JOB_REGISTERED: _job_registered,
    WriteKind.JOB_DISPATCHED: _job_dispatched,
    WriteKind.JOB_REVERTED: _job_reverted,
    WriteKind.JOB_STABILITY_SET: _stability_set,
    WriteKind.JOB_VERSION_TAGGED: _version_tagged,
    WriteKind.JOB_LAUNCH_DECIDED: _job_launched,
    WriteKind.JOB_DEREGISTERED: _job_deregistered,
    SCALING_EVENTS.upserted: _scaling_noted,
    REHEARSALS.upserted: _rehearsal_changed,
    WriteKind.ROOT_KEY_ROTATED: _key_rotated,
    WriteKind.EVALUATION_UPDATED: _evaluated,
    WriteKind.ALLOCATION_UPDATE_DESIRED_STATUS: _allocations_stopped,
    WriteKind.DEPLOYMENT_STATUS_UPDATE: _deployment_changed,
    WriteKind.DEPLOYMENT_PROMOTION: _deployment_promoted,
    WriteKind.DEPLOYMENT_ALLOC_HEALTH: _health_set,
    WriteKind.NODE_REGISTRATION: _node_registered,
    WriteKind.NODE_DEREGISTRATION: _node_purged,
    WriteKind.NODE_ELIGIBILITY: _eligibility_set,
    WriteKind.NODE_DRAIN: _drain_set,
    WriteKind.SCHEDULER_SETTINGS_UPDATED: _of_cluster("change scheduler settings"),
    WriteKind.COLLECTED: _collected,
    WriteKind.COLLECTION_DEMANDED: _of_cluster("collect garbage"),
    WriteKind.COLLECTION_OVERRIDDEN: _collection_set,
    WriteKind.SUMMARIES_RECONCILED: _of_cluster("reconcile job summaries"),
}
