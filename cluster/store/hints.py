"""Telling followers that there is a new index: a hint by Redis that may be lost.

In: indexes, after their commit. Out: messages on the channel `index`, the newest only, from a
thread of their own, so that no writer ever waits for Redis.
"""

import os
import threading

import redis

CHANNEL = "index"
_PATIENCE_S = 0.05
_PAUSE_AFTER_FAILURE_S = 1.0


class IndexHints:
    """Call it with an index; it returns at once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._newest = 0
        self._wake = threading.Event()
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process = 0

    def __call__(self, index: int) -> None:
        """Hand over an index; a smaller one than the newest is never sent after it."""
        self._newest = max(self._newest, index)
        if self._process != os.getpid():
            self._start()
        self._wake.set()

    def close(self) -> None:
        """End the thread, without sending what is left."""
        self._ends.set()
        self._wake.set()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()

    def _start(self) -> None:
        """Threads do not survive a fork, so each process starts its own."""
        with self._lock:
            if self._process == os.getpid():
                return
            self._wake, self._ends = threading.Event(), threading.Event()
            self._thread = threading.Thread(target=self._run, name="index-hints", daemon=True)
            self._process = os.getpid()
            self._thread.start()

    def _run(self) -> None:
        client = redis.Redis.from_url(
            self._url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S
        )
        while not self._ends.is_set():
            self._wake.wait()
            self._wake.clear()
            try:
                client.publish(CHANNEL, str(self._newest))
            except (redis.RedisError, OSError):
                self._ends.wait(_PAUSE_AFTER_FAILURE_S)
        client.close()
