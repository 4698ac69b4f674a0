"""A receiver of traces: a real HTTP server that decodes what OTLP sends."""

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.process_store import store

__all__ = ["store"]


class Receiver:
    """What arrived; `status` and `delay_s` say how it answers."""

    def __init__(self):
        self.status, self.delay_s = 200, 0.0
        self.attempts = 0
        self.headers = []
        #: (resource attributes, span)
        self.spans = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.attempts += 1
                # As it was when they came: it may be well again before they are answered.
                status, delay_s = outer.status, outer.delay_s
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(delay_s)
                # Whoever is kept waiting hangs up.
                if status == 200 and not delay_s and self.path == "/v1/traces":
                    outer.take(self.headers, body)
                self.send_response(status if self.path == "/v1/traces" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, headers, body):
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert headers["Content-Type"] == "application/x-protobuf"
        self.headers.append(dict(headers))
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            told = values(resource.resource.attributes)
            for scope in resource.scope_spans:
                assert scope.scope.name == "bivouac"
                self.spans += [(told, span) for span in scope.spans]

    def of_trace(self, eval_id):
        return [each for each in self.spans if each[1].trace_id.hex() == eval_id.replace("-", "")]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def values(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@pytest.fixture
def receiver():
    found = Receiver()
    yield found
    found.close()
