"""A small HTTP server that webhooks are sent to; it answers as it is told, and keeps what came."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace


class HookServer:
    """`status` and `pause_s` say how it answers; `came` has every request, in order."""

    def __init__(self):
        self.status = 200
        self.pause_s = 0.0
        self.came = []
        self.released = threading.Event()

    @property
    def texts(self):
        return [json.loads(each.body)["text"] for each in self.came]

    @property
    def ids(self):
        return [each.headers["Idempotency-Key"] for each in self.came]


@contextmanager
def hook_server():
    """The server; its `url` is that of a hook."""
    hooks = HookServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hooks.came.append(SimpleNamespace(path=self.path, headers=self.headers, body=body))
            if hooks.pause_s:
                hooks.released.wait(hooks.pause_s)
            self.send_response(hooks.status)
            if 300 <= hooks.status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_told):
            """Nothing: tests read what came."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    hooks.url = f"http://127.0.0.1:{server.server_port}/hook/secret"
    try:
        yield hooks
    finally:
        hooks.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
