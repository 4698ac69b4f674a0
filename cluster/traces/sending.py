"""Spans on their way out: OTLP over HTTP, by OpenTelemetry's own SDK.

In: spans. Out: whether they arrived. What goes wrong is said by whoever sends, not by the SDK.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from cluster.installation import our_version
from cluster.traces.spans import EvalSpan

#: An endpoint that takes longer has not answered, s.
TIMEOUT_S = 10.0
_SCOPE = InstrumentationScope("bivouac", our_version())
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class SpanSender:
    """Sends to one endpoint, from one thread."""

    def __init__(self, endpoint: str, timeout: float = TIMEOUT_S) -> None:
        """`endpoint` is the base address; `OTEL_EXPORTER_OTLP_HEADERS` holds further headers."""
        # It would say so again with every attempt.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._exporter = OTLPSpanExporter(
            endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=timeout
        )

    def send(self, spans: Sequence[EvalSpan]) -> bool:
        """Whether all of them arrived. Takes no longer than the timeout and a little."""
        return self._exporter.export(list(map(_readable, spans))) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Let go of the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call] # as the SDK has it


def _readable(span: EvalSpan) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=_resource(span.service, span.actor),
        attributes=span.attributes,
        links=[
            Link(_context(link.trace_id, link.span_id), {"bivouac.relation": link.relation})
            for link in span.links
        ],
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=span.began,
        end_time=span.ended,
        instrumentation_scope=_SCOPE,
    )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


class _Source(Resource):
    """Who did it, one object for each: the SDK's would be written as JSON to be compared."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@lru_cache(maxsize=1024)
def _resource(service: str, actor: str) -> Resource:
    """Processes come and go, so the oldest are forgotten."""
    told = {
        "service.namespace": "bivouac",
        "service.name": f"bivouac-{service}",
        "service.version": our_version(),
        "service.instance.id": actor,
    }
    return _Source({name: value for name, value in told.items() if value})
