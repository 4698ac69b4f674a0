"""The bytes that are sent are those that the SDK's own encoder makes of the same spans."""

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from cluster.installation import our_version
from cluster.traces.otlp import encoded
from cluster.traces.sending import SpanSender
from cluster.traces.spans import EvalSpan, SpanLink

WHOLE = EvalSpan(
    name="evaluation job-register", trace_id=2**127 + 5, span_id=7,
    began=1_795_000_000_000_000_001, ended=1_795_000_000_999_999_999,
    attributes={
        "bivouac.job.id": "web", "bivouac.priority": 50, "bivouac.index": 2**40,
        "bivouac.groups_not_placed": 0, "yes": True, "no": False,
    },
    links=(SpanLink(1, 2**63, "next"), SpanLink(2**128 - 1, 1, "previous")),
)  # fmt: skip
PART = EvalSpan(
    name="n" * 200, trace_id=1, span_id=2**64 - 1, parent_id=7, began=1, ended=2, service="worker",
    actor="worker host/1", attributes={"long": "ä" * 20_000, "bivouac.reason": "x" * 127},
)  # fmt: skip
FAILED = EvalSpan(name="f", trace_id=3, span_id=4, began=5, ended=5, error="no plan, ünlücky")


def by_the_sdk(span):
    def context(trace_id, span_id):
        flags = TraceFlags(TraceFlags.DEFAULT)
        return SpanContext(trace_id, span_id, is_remote=False, trace_flags=flags)

    told = {
        "service.namespace": "bivouac", "service.name": f"bivouac-{span.service}",
        "service.version": our_version(), "service.instance.id": span.actor,
    }  # fmt: skip
    return ReadableSpan(
        name=span.name,
        context=context(span.trace_id, span.span_id),
        parent=context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=Resource({name: value for name, value in told.items() if value}),
        attributes=span.attributes,
        links=[
            Link(context(each.trace_id, each.span_id), {"bivouac.relation": each.relation})
            for each in span.links
        ],
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=span.began,
        end_time=span.ended,
        instrumentation_scope=InstrumentationScope("bivouac", our_version()),
    )


@pytest.mark.parametrize(
    "spans", [[WHOLE], [PART], [FAILED], [WHOLE, PART, FAILED], [PART] * 300, []]
)
def test_the_message_is_that_of_the_sdk(spans):
    wanted = encode_spans([by_the_sdk(span) for span in spans])
    found = ExportTraceServiceRequest.FromString(encoded(spans))
    for each in (wanted, found):
        each.resource_spans.sort(key=lambda part: len(part.resource.attributes))
    assert found == wanted
    # What no field of the message is would be kept, and written again.
    assert len(found.SerializeToString()) == len(encoded(spans))


def test_headers_and_trust_are_given_as_to_any_program(receiver):
    sender = SpanSender(receiver.address, headers="x-key=a%20b, x-other=c=d,,nothing")
    assert sender.send([WHOLE])
    sender.close()
    (headers,) = receiver.headers
    assert (headers["x-key"], headers["x-other"]) == ("a b", "c=d")
    with pytest.raises(OSError, match="No such file"):
        SpanSender(receiver.address, trusted="/nowhere/ca.pem")
