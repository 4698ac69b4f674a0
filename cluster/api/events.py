"""The event stream: committed writes as JSON lines, from an index on (http-api.md 6).

In: topics, a namespace, an index. Out: a stream that begins at once, carries the frames the caller
may see, and says `{}` when nothing happens. Who is too far behind begins with what is kept.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
from django.http import HttpResponseBase, StreamingHttpResponse

from cluster.api.encode import to_plain
from cluster.api.parameters import unsigned
from cluster.api.request import Call
from cluster.api.stubs import allocation_without_job
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.blocking import Watch, wait_for
from scheduler.errors import StaleSnapshot
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation

HEARTBEAT_S = 30.0
#: Frames a new reader is given of the past, and frames read at a time.
BUFFERED = 100

#: Kinds of rows that clients know, by the name of their payload.
_PUBLIC = {
    Topic.JOB: "Job",
    Topic.EVALUATION: "Evaluation",
    Topic.ALLOCATION: "Allocation",
    Topic.DEPLOYMENT: "Deployment",
    Topic.NODE: "Node",
    Topic.NODE_POOL: "NodePool",
}
_WITHOUT_NAMESPACE = frozenset({Topic.NODE, Topic.NODE_POOL})
_SILENT = frozenset(
    {
        WriteKind.NAMESPACE_UPSERTED,
        WriteKind.NAMESPACE_DELETED,
        WriteKind.QUOTA_UPSERTED,
        WriteKind.QUOTA_DELETED,
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        WriteKind.LIFECYCLE_RECORDED,
        WriteKind.COLLECTED,
        WriteKind.COLLECTION_DEMANDED,
    }
)
_EVERYTHING = "*"


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader of the stream asked for: pairs of topic and key, each may be `*`."""

    topics: tuple[tuple[str, str], ...]
    call: Call

    def wants(self, event: StateEvent) -> bool:
        """Whether the event is asked for and the caller may see it."""
        if event.topic not in _PUBLIC:
            return False
        if event.topic not in _WITHOUT_NAMESPACE and not self.call.lists(event.namespace):
            return False
        keys = {_EVERYTHING, event.key, *(filter_keys(event) or ())}
        return any(
            topic in (_EVERYTHING, event.topic.value) and key in keys for topic, key in self.topics
        )


async def stream(call: Call) -> HttpResponseBase:
    """GET /v1/event/stream."""
    call.require_listing()
    subscription = Subscription(topics=_topics(call), call=call)
    after = _start(call)
    response = StreamingHttpResponse(_lines(subscription, after), content_type="application/json")
    response["Vary"] = "Accept-Encoding"
    response["Cache-Control"] = "no-store"
    return response


async def _lines(subscription: Subscription, asked: int) -> AsyncIterator[bytes]:
    yield b"{}\n"
    newest = await the_store().aread(lambda reader: reader.index)
    # A fresh reader gets the recent past; one that comes back gets what it missed of it.
    after = max(asked - 1, newest - BUFFERED, 0)
    while True:
        frames = await _frames_after(after)
        for frame in frames:
            after = frame.index
            events = _public_events(frame, subscription)
            if events:
                yield msgspec.json.encode({"Index": frame.index, "Events": events}) + b"\n"
        if not frames and not await wait_for(_ANYTHING, after=after, timeout=HEARTBEAT_S):
            yield b"{}\n"


_ANYTHING = tuple(Watch(topic) for topic in _PUBLIC)


async def _frames_after(index: int) -> Sequence[EventFrame]:
    store = the_store()
    try:
        return await store.aframes_since(index, BUFFERED)
    except StaleSnapshot:
        oldest = await store.aread(lambda reader: reader.index)
        return await store.aframes_since(max(0, oldest - BUFFERED), BUFFERED)


def _public_events(frame: EventFrame, subscription: Subscription) -> list[dict[str, Any]]:
    if frame.kind in _SILENT:
        return []
    wanted: Iterable[StateEvent] = filter(subscription.wants, frame.events)
    return [event_form(frame, event) for event in wanted]


def event_form(frame: EventFrame, event: StateEvent) -> dict[str, Any]:
    """One event as the stream writes it."""
    keys = filter_keys(event)
    value = event.value
    form = allocation_without_job(value) if isinstance(value, Allocation) else to_plain(value)
    payload: dict[str, Any] = {_PUBLIC[event.topic]: form}
    if event.deleted:
        payload["Deleted"] = True
    return {
        "Topic": event.topic.value,
        "Type": frame.kind.value,
        "Key": event.key,
        "Namespace": "" if event.topic in _WITHOUT_NAMESPACE else event.namespace,
        "FilterKeys": None if keys is None else list(keys),
        "Index": frame.index,
        "Payload": payload,
    }


def filter_keys(event: StateEvent) -> tuple[str, ...] | None:
    """Further names by which an event can be asked for."""
    value = event.value
    if isinstance(value, Evaluation | Allocation):
        return value.job_id, value.deployment_id
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
    return index
