"""How a frame is packed in the event log, so that a follower unpacks only what it follows.

In: events with their values already encoded. Out: bytes, and events again. What a value looks
like inside is `codec`'s to say.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.state.nouns import NOUN_OF_TOPIC
from scheduler.structs.packing import compressed

#: Below, compressing saves less than it costs.
_COMPRESS_FROM = 600
#: Above, unpacking what one does not follow is felt.
_PART_FROM = 16_384
_PLAIN, _ZLIB, _PARTS, _UNFOLLOWED = b"\x00", b"\x01", b"\x02", b"\x03"
#: What a worker's mirror follows; large frames keep it apart, so that the rest stays packed.
MIRRORED_TOPICS = frozenset({Topic.NODE.value, Topic.NODE_USE.value})
_CodedEvent = tuple[str, str, str, bool, msgspec.Raw]
_EVENTS_DECODER = msgspec.msgpack.Decoder(list[_CodedEvent])
_LENGTH_BYTES = 4
_ENCODER = msgspec.msgpack.Encoder()
_PLACES_DECODER = msgspec.msgpack.Decoder(list[int])


def encode_events(events: Iterable[StateEvent], bodies: Iterable[bytes]) -> bytes:
    """The body of a frame; `bodies` are those of the events' values, in the same order.

    A first byte says how it is packed: plain; compressed; compressed, and nothing in it that a
    mirror follows; or in three compressed parts, each after its length: events a mirror follows,
    the others, and the places of the first in the whole.
    """
    coded = [
        (str(event.topic), event.key, event.namespace, event.deleted, msgspec.Raw(body))
        for event, body in zip(events, bodies, strict=True)
    ]
    plain = _ENCODER.encode(coded)
    if len(plain) < _COMPRESS_FROM:
        return _PLAIN + plain
    places = [place for place, event in enumerate(coded) if event[0] in MIRRORED_TOPICS]
    if not places:
        return _UNFOLLOWED + compressed(plain)
    if len(plain) < _PART_FROM:
        return _ZLIB + compressed(plain)
    mirrored = [coded[place] for place in places]
    others = [event for event in coded if event[0] not in MIRRORED_TOPICS]
    parts = [compressed(_ENCODER.encode(part)) for part in (mirrored, others, places)]
    return _PARTS + b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)


def decode_frame(
    index: int,
    at: int,
    kind: str,
    body: bytes | memoryview,
    topics: Collection[str] = NOUN_OF_TOPIC,
) -> EventFrame:
    """The frame of a row of the event log, with its events of these topics."""
    return EventFrame(index=index, kind=kind, at=at, events=tuple(decode_events(body, topics)))


def decode_events(body: bytes | memoryview, topics: Collection[str]) -> Iterator[StateEvent]:
    """The events of a frame that are of these topics; values of the others are not looked at."""
    coded_events = (
        _mirrored_events(body) if MIRRORED_TOPICS.issuperset(topics) else _coded_events(body)
    )
    for coded in coded_events:
        if coded[0] in topics:
            yield _decode_event(coded)


def decode_rows(
    body: bytes | memoryview, is_wanted: Callable[[str, str, str], bool]
) -> Iterator[StateEvent]:
    """The events of a frame whose topic, namespace and key are wanted; others are not decoded."""
    for coded in _coded_events(body):
        name, key, namespace, *_ = coded
        if is_wanted(name, namespace, key):
            yield _decode_event(coded)


def _coded_events(body: bytes | memoryview) -> list[_CodedEvent]:
    """All events, in order."""
    coded = bytes(body)
    if coded[:1] == _PARTS:
        mirrored, rest, packed_places = _parts(coded)
        events = _EVENTS_DECODER.decode(zlib.decompress(rest))
        places = _PLACES_DECODER.decode(zlib.decompress(packed_places))
        # From the first on, so that each lands where it stood before those after it were taken.
        first = _EVENTS_DECODER.decode(zlib.decompress(mirrored))
        for place, event in zip(places, first, strict=True):
            events.insert(place, event)
        return events
    return _EVENTS_DECODER.decode(coded[1:] if coded[:1] == _PLAIN else zlib.decompress(coded[1:]))


def _mirrored_events(body: bytes | memoryview) -> list[_CodedEvent]:
    """At least the events that a mirror follows."""
    coded = bytes(body)
    if coded[:1] == _UNFOLLOWED:
        return []
    if coded[:1] == _PARTS:
        return _EVENTS_DECODER.decode(zlib.decompress(next(_parts(coded))))
    return _coded_events(coded)


def _parts(coded: bytes) -> Iterator[bytes]:
    at = len(_PARTS)
    while at < len(coded):
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(coded[at:start], "big")
        yield coded[start:at]


def _decode_event(coded: _CodedEvent) -> StateEvent:
    name, key, namespace, deleted, value = coded
    noun = NOUN_OF_TOPIC[name]
    return StateEvent(
        topic=noun.topic,
        key=key,
        namespace=namespace,
        value=noun.decode(value),
        deleted=deleted,
    )
