"""The event stream: committed writes as JSON lines, from an index on (http-api.md 6).

In: topics, a namespace, an index. Out: a stream that begins at once, carries the frames the caller
may see, and says `{}` when nothing happens. Who is too far behind begins with what is kept.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
from django.http import HttpResponseBase, StreamingHttpResponse

from cluster.api.callers import caller_of
from cluster.api.encode import to_plain, with_additions
from cluster.api.parameters import LARGEST_STORED, unsigned
from cluster.api.request import Call
from cluster.api.stubs import allocation_without_job, evaluation_form
from cluster.api.variables import variable_form
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.rights import require, require_management, require_reads
from cluster.operations.story_rights import level_of
from cluster.store.access import the_store
from cluster.store.blocking import Watch, wait_for
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.access.caller import Caller
from scheduler.errors import StaleSnapshot
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.nouns import (
    ACL_AUTH_METHODS,
    ACL_BINDING_RULES,
    ACL_POLICIES,
    ACL_ROLES,
    ACL_TOKENS,
    NAMESPACES,
    NOUNS,
)
from scheduler.state.service_noun import SERVICES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.story import Story
from scheduler.structs.variable import SealedVariable

HEARTBEAT_S = 30.0
#: A silent stream looks again whether its reader may still listen.
RECHECK_S = 5.0
#: Frames a new reader is given of the past, and frames read at a time.
BUFFERED = 100

#: Told to managers alone; no secret is in any of them.
_OF_ACCESS = (ACL_POLICIES, ACL_TOKENS, ACL_ROLES, ACL_AUTH_METHODS, ACL_BINDING_RULES)
#: Kinds of rows that clients know, by the name of their payload.
_PUBLIC: dict[str, str] = {
    Topic.JOB: "Job",
    Topic.EVALUATION: "Evaluation",
    Topic.ALLOCATION: "Allocation",
    Topic.DEPLOYMENT: "Deployment",
    Topic.NODE: "Node",
    Topic.STAGED_DRAIN: "StagedDrain",
    Topic.NODE_POOL: "NodePool",
    Topic.COLLECTION: "Collection",
    Topic.STORY: "Story",
    VARIABLES.topic: "Variable",
    SERVICES.topic: "Service",
    HOST_VOLUMES.topic: "Volume",
    **{noun.topic: noun.topic for noun in _OF_ACCESS},
}
_WITHOUT_NAMESPACE = frozenset[str](
    {
        Topic.NODE,
        Topic.STAGED_DRAIN,
        Topic.NODE_POOL,
        Topic.COLLECTION,
        *(noun.topic for noun in _OF_ACCESS),
    }
)
#: Rows and kinds of writes that the public stream does not name.
_PRIVATE = [noun for noun in NOUNS if noun.topic not in _PUBLIC]
_SILENT = frozenset[str](
    {
        *(kind for noun in _PRIVATE for kind in (noun.upserted, noun.deleted)),
        WriteKind.JOB_STABILITY_SET,
        WriteKind.JOB_VERSION_TAGGED,
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        WriteKind.LIFECYCLE_RECORDED,
        WriteKind.COLLECTED,
        WriteKind.COLLECTION_DEMANDED,
        WriteKind.COLLECTION_OVERRIDDEN,
        WriteKind.ROOT_KEY_ROTATED,
        WriteKind.SUMMARIES_RECONCILED,
    }
)
#: What the public stream calls writes that it does not tell apart.
_TYPES: dict[str, str] = {
    WriteKind.JOB_DISPATCHED: WriteKind.JOB_REGISTERED.value,
    WriteKind.JOB_REVERTED: WriteKind.JOB_REGISTERED.value,
    WriteKind.JOB_LAUNCH_DECIDED: WriteKind.JOB_REGISTERED.value,
    VARIABLES.upserted: "VariableUpdated",
    HOST_VOLUMES.upserted: "HostVolumeRegistered",
    HOST_VOLUMES.deleted: "HostVolumeDeregistered",
}
_EVERYTHING = "*"
#: The reference knows no such topics: its clients, which ask for all, are not told of them.
_OURS = frozenset[str]({Topic.COLLECTION, Topic.STORY, Topic.STAGED_DRAIN})


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader of the stream asked for: pairs of topic and key, each may be `*`."""

    topics: tuple[tuple[str, str], ...]
    #: Whose events are told; None for all.
    namespaces: frozenset[str] | None
    #: Whether rows are told with what is ours beside the reference's fields.
    additions: bool = False

    def wants(self, event: StateEvent) -> bool:
        """Whether the event is asked for, and of a namespace that is told."""
        if event.topic not in _PUBLIC:
            return False
        if (
            event.topic not in _WITHOUT_NAMESPACE
            and self.namespaces is not None
            and event.namespace not in self.namespaces
            and not (event.topic == Topic.STORY and not event.namespace)
        ):
            return False
        keys = {_EVERYTHING, _public_key(event), *(filter_keys(event) or ())}
        names = {event.topic} if event.topic in _OURS else {_EVERYTHING, event.topic}
        return any(topic in names and key in keys for topic, key in self.topics)


async def stream(call: Call) -> HttpResponseBase:
    """GET /v1/event/stream."""
    topics = _topics(call)
    after = _start(call)
    namespaces = await call.read(lambda reader: _told_namespaces(call, reader))
    subscription = StreamRequest(topics=topics, namespaces=namespaces, additions=call.additions)
    _require_topics(call.caller, subscription)
    lines = _lines(call, subscription, after)
    response = StreamingHttpResponse(lines, content_type="application/json")
    response["Vary"] = "Accept-Encoding"
    response["Cache-Control"] = "no-store"
    return response


async def _lines(call: Call, subscription: StreamRequest, asked: int) -> AsyncIterator[bytes]:
    yield b"{}\n"
    newest = await the_store().aread(lambda reader: reader.index)
    # A fresh reader gets the recent past; one that comes back gets what it missed of it.
    after = max(asked - 1, newest - BUFFERED, 0)
    silent_s = 0.0
    while True:
        after, frames = await _frames_after(after)
        wanted = [frame for frame in frames if any(map(subscription.wants, frame.events))]
        # Nothing is told to one whose rights have ended since, and a silent stream ends too.
        looks = wanted or not frames
        caller = await _still_allowed(call, subscription) if looks else call.caller
        if caller is None:
            return
        for frame in wanted:
            events = _public_events(frame, subscription, caller)
            if events:
                silent_s = 0.0
                yield msgspec.json.encode({"Index": frame.index, "Events": events}) + b"\n"
        after = frames[-1].index if frames else after
        pause_s = min(RECHECK_S, HEARTBEAT_S)
        if not frames and not await wait_for(_ANYTHING, after=after, timeout=pause_s):
            silent_s += pause_s
            if silent_s >= HEARTBEAT_S:
                silent_s = 0.0
                yield b"{}\n"


async def _still_allowed(call: Call, subscription: StreamRequest) -> Caller | None:
    """The bearer with the rights of this moment; None once they do not carry the stream."""
    try:
        caller = await caller_of(call.request)
        _require_topics(caller, subscription)
    except NotAllowed:
        return None
    return caller


def _told_namespaces(call: Call, reader: RecordReader) -> frozenset[str] | None:
    """Those whose events are told: the one asked for, or all there are when the stream opens."""
    if call.namespace != EVERY_NAMESPACE:
        return frozenset({call.namespace})
    if call.caller.access.is_management:
        return None
    return frozenset(each.name for each in reader.list_all(NAMESPACES))


def _require_topics(caller: Caller, subscription: StreamRequest) -> None:
    """Refuse unless every topic may be followed in every namespace that is told (access.md 10)."""
    for topic, _ in subscription.topics:
        capability = _CAPABILITIES.get(topic)
        if capability is not None:
            for namespace in subscription.namespaces or (EVERY_NAMESPACE,):
                require(caller, namespace, capability)
        elif topic == VARIABLES.topic:
            for namespace in subscription.namespaces or (EVERY_NAMESPACE,):
                if not caller.access.has_any_variable(namespace):
                    raise NotAllowed(missing=f"any right on variables in {namespace}")
        elif topic in _LEVELS:
            require_reads(caller, _LEVELS[topic])
        else:
            require_management(caller)


#: Topic to what it asks of each namespace, and to the block whose level it asks for. All others
#: are for managers.
_CAPABILITIES = {
    "Job": "read-job",
    "Evaluation": "read-job",
    "Allocation": "read-job",
    "Deployment": "read-job",
    "Story": "read-job",
    "Service": "read-job",
    "CSIPlugin": "read-job",
    "HostVolume": "host-volume-read",
    "CSIVolume": "csi-read-volume",
}
_LEVELS = {"Node": "node", "StagedDrain": "node", "Operator": "operator", "Collection": "operator"}


_ANYTHING = tuple(Watch(topic) for topic in _PUBLIC)


async def _frames_after(index: int) -> tuple[int, Sequence[EventFrame]]:
    """The frames that follow an index, or what is kept of them; and the index they do follow."""
    store = the_store()
    try:
        return index, await store.aframes_since(index, BUFFERED)
    except StaleSnapshot:
        kept = await store.aread(lambda reader: max(reader.oldest_event - 1, index))
        return kept, await store.aframes_since(kept, BUFFERED)


def _public_events(
    frame: EventFrame, subscription: StreamRequest, caller: Caller
) -> list[dict[str, Any]]:
    is_silent = frame.kind in _SILENT
    wanted: Iterable[StateEvent] = filter(subscription.wants, frame.events)
    return [
        event_form(frame, event, caller, additions=subscription.additions)
        for event in wanted
        if (not is_silent or event.topic in _OURS) and _may_see(event, caller)
    ]


def _may_see(event: StateEvent, caller: Caller) -> bool:
    """Of what a topic tells one by one: to whom this event is told."""
    if isinstance(event.value, SealedVariable):
        return caller.access.allows_variable(*event.value.key, "list")
    if isinstance(event.value, Story) and not event.namespace:
        return caller.access.reads(level_of(event.value))
    return True


def event_form(
    frame: EventFrame, event: StateEvent, caller: Caller, *, additions: bool = False
) -> dict[str, Any]:
    """One event as the stream writes it to a caller."""
    keys = filter_keys(event)
    value = _value_form(event.value, caller, additions=additions)
    payload: dict[str, Any] = {_PUBLIC[event.topic]: value}
    if event.deleted:
        payload["Deleted"] = True
    return {
        "Topic": str(event.topic),
        "Type": _type_of(frame, event),
        "Key": _public_key(event),
        "Namespace": "" if event.topic in _WITHOUT_NAMESPACE else event.namespace,
        "FilterKeys": None if keys is None else list(keys),
        "Index": frame.index,
        "Payload": payload,
    }


def _public_key(event: StateEvent) -> str:
    """By what the stream names a row: of what a namespace holds, without the namespace."""
    return event.value.path if isinstance(event.value, SealedVariable) else event.key


def _type_of(frame: EventFrame, event: StateEvent) -> str:
    """What the write is called, for one of its rows.

    An evaluation that ends with its plan has the name it would have in a write of its own: clients
    wait for that.
    """
    if event.topic == SERVICES.topic:
        return "ServiceDeregistration" if event.deleted else "ServiceRegistration"
    kind = frame.kind
    if kind == WriteKind.PLAN_RESULT and isinstance(event.value, Evaluation):
        kind = WriteKind.EVALUATION_UPDATED if event.value.is_terminal else kind
    return _TYPES.get(kind, str(kind))


def _value_form(value: msgspec.Struct, caller: Caller, *, additions: bool) -> dict[str, Any]:
    if isinstance(value, Allocation):
        return allocation_without_job(value)
    if isinstance(value, SealedVariable):
        return variable_form(value, with_lock=caller.access.is_management)
    if isinstance(value, Evaluation):
        return evaluation_form(value, caller, additions=additions)
    return with_additions(value) if additions else to_plain(value)


def filter_keys(event: StateEvent) -> tuple[str, ...] | None:
    """Further names by which an event can be asked for."""
    value = event.value
    if isinstance(value, Evaluation | Allocation):
        return value.job_id, value.deployment_id
    if isinstance(value, Story):
        return value.kind.value, value.job_id
    if isinstance(value, ServiceRegistration):
        return value.job_id, value.service_name
    return (value.job_id,) if isinstance(value, Deployment) else None


def _topics(call: Call) -> tuple[tuple[str, str], ...]:
    topics = []
    for text in call.query.getlist("topic"):
        topic, colon, key = text.partition(":")
        if ":" in key:
            raise OperationRefused(
                "Invalid topic query: error parsing topics:"
                f" Invalid key value pair for topic, topic: {text}"
            )
        topics.append((topic, key if colon and key else _EVERYTHING))
    return tuple(topics) or ((_EVERYTHING, _EVERYTHING),)


def _start(call: Call) -> int:
    text = call.query.get("index", "")
    index = unsigned(text) if text else 0
    if index is None:
        problem = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise OperationRefused(f"Unable to parse index: {problem}")
    return min(index, LARGEST_STORED)
