"""The process that sends traces: the leader starts it where an endpoint is set, and ends it.

A process of its own, so that encoding and a slow endpoint cost the leader nothing.
"""

import logging
import os
import signal
import subprocess
import threading

from django.conf import settings
from django.db import DatabaseError, connections

from cluster.installation import CODE, program
from cluster.runtime.parent_death import watch_parent
from cluster.runtime.trace_follower import PAUSES, TraceFollower
from cluster.store.access import close_the_store
from cluster.traces.sending import SpanSender

log = logging.getLogger(__name__)

NICENESS = 5
#: Where the place in the log is kept, below the data directory.
PLACE = "traces-place"
_AGAIN_S = 5.0


class TraceChild:
    """The process, as long as somebody leads; started again where it died."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)

    def start(self) -> None:
        """Start it, and see to it that it is there, from another thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the process; what it had not sent, the next one sends."""
        self._stopped.set()
        process = self._process
        if process is not None:
            process.terminate()
        if self._thread.is_alive():
            self._thread.join(_AGAIN_S)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                program("runtraces"), cwd=CODE, stdin=subprocess.DEVNULL
            )
            code = self._process.wait()
            if not self._stopped.wait(_AGAIN_S):
                log.warning("action=run_traces ended code=%d; started again", code)


def run() -> None:
    """All that this process is for."""
    watch_parent()
    os.nice(NICENESS)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    sender = SpanSender(
        settings.BIVOUAC_OTLP_ENDPOINT,
        headers=settings.OTEL_EXPORTER_OTLP_HEADERS,
        trusted=settings.OTEL_EXPORTER_OTLP_CERTIFICATE,
    )
    follower = None
    try:
        while not stopping.is_set():
            try:
                if follower is None:
                    follower = TraceFollower(
                        sender,
                        settings.BIVOUAC_DATA_DIR / PLACE,
                        share=settings.BIVOUAC_TRACE_SHARE,
                    )
                    log.info("action=send_traces to=%s", settings.BIVOUAC_OTLP_ENDPOINT)
                pause = follower.look()
            except DatabaseError as error:
                log.warning("action=send_traces record away: %s", error)
                pause = PAUSES[1]
            stopping.wait(pause)
    finally:
        sender.close()
        connections.close_all()
        close_the_store()
