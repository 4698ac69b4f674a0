"""Spans as OTLP writes them: the message `ExportTraceServiceRequest` of opentelemetry-proto 1.

In: spans. Out: the bytes of one message. The SDK's objects and messages cost five times as much as
all the rest of a trace (docs/benchmarks.md); what is written here is held against them by a test.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

from cluster.installation import our_version
from cluster.traces.spans import Attribute, EvalSpan

#: Wire types of protobuf, below the number of a field: a varint, 8 bytes, a length and so many, 4.
_LENGTH = 2
_INTERNAL = 1
_ERROR = 2
_SMALL = 0x80
#: A sampled parent would be another process's, and is not: the bit says that this is known.
_LOCAL = 0x100

#: Fields 7 and 8 of a span: begin and end.
_TIMES = Struct("<BQBQ")
_FLAGS_OF_SPAN = b"\x85\x01" + _LOCAL.to_bytes(4, "little")
_FLAGS_OF_LINK = b"\x35" + _LOCAL.to_bytes(4, "little")
_KIND = bytes((6 << 3, _INTERNAL))


def encoded(spans: Iterable[EvalSpan]) -> bytes:
    """One message for all of them, by the process that did each."""
    by_source: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
    for span in spans:
        by_source[span.service, span.actor].append(_field(2, _span(span)))
    return b"".join(
        _field(1, _resource(*source) + _field(2, _scope() + b"".join(found)))
        for source, found in by_source.items()
    )


def _varint(value: int) -> bytes:
    """Of a number that is not negative."""
    if value < _SMALL:
        return bytes((value,))
    found = bytearray()
    while value >= _SMALL:
        found.append(value & 0x7F | _SMALL)
        value >>= 7
    found.append(value)
    return bytes(found)


def _field(number: int, content: bytes) -> bytes:
    """A field below 16 that holds bytes, a text or a message."""
    size = len(content)
    if size < _SMALL:
        return bytes((number << 3 | _LENGTH, size)) + content
    return bytes((number << 3 | _LENGTH,)) + _varint(size) + content


def _span(span: EvalSpan) -> bytes:
    trace = span.trace_id.to_bytes(16, "big")
    parts = [
        b"\x0a\x10", trace, b"\x12\x08", span.span_id.to_bytes(8, "big"),
        b"\x22\x08" + span.parent_id.to_bytes(8, "big") if span.parent_id else b"",
        _field(5, span.name.encode()),
        _KIND,
        _TIMES.pack(7 << 3 | 1, span.began, 8 << 3 | 1, span.ended),
    ]  # fmt: skip
    parts += [_attribute(name, value) for name, value in span.attributes.items()]
    for link in span.links:
        content = (
            b"\x0a\x10" + link.trace_id.to_bytes(16, "big")
            + b"\x12\x08" + link.span_id.to_bytes(8, "big")
            + _field(4, _pair("bivouac.relation", link.relation)) + _FLAGS_OF_LINK
        )  # fmt: skip
        parts.append(_field(13, content))
    error = _field(2, span.error.encode()) + bytes((3 << 3, _ERROR)) if span.error else b""
    parts += (_field(15, error), _FLAGS_OF_SPAN)
    return b"".join(parts)


#: Most values come again and again: statuses, steps, processes. Typed, as 1 and True are equal.
@lru_cache(maxsize=2048, typed=True)
def _attribute(name: str, value: Attribute) -> bytes:
    return _field(9, _pair(name, value))


def _pair(name: str, value: Attribute) -> bytes:
    if isinstance(value, str):
        told = _field(1, value.encode())
    elif isinstance(value, bool):
        told = bytes((2 << 3, value))
    else:
        told = bytes((3 << 3,)) + _varint(value % 2**64)
    return _key(name) + _field(2, told)


@lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return _field(1, name.encode())


@lru_cache(maxsize=1)
def _scope() -> bytes:
    return _field(1, _field(1, b"bivouac") + _field(2, our_version().encode()))


@lru_cache(maxsize=1024)
def _resource(service: str, actor: str) -> bytes:
    """Who did it; processes come and go, so the oldest are forgotten."""
    told = {
        "service.namespace": "bivouac",
        "service.name": f"bivouac-{service}",
        "service.version": our_version(),
        "service.instance.id": actor,
    }
    pairs = (_field(1, _pair(name, value)) for name, value in told.items() if value)
    return _field(1, b"".join(pairs))
