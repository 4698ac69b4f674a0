"""Telling followers that there is a new index: a hint by Redis that may be lost.

In: indexes, after their commit. Out: messages on the channel `index`, the newest only, sent by who
wrote; a thread connects anew when Redis was away, so that no writer ever waits for that.
"""

import os
import threading

import redis

from cluster.redis_line import RedisLine

CHANNEL = "index"
_PATIENCE_S = 0.05
_PAUSE_AFTER_FAILURE_S = 1.0


class IndexHints:
    """Call it with an index; it returns at once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._newest = 0
        self._line = self._new_line()
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
        with self._lock:
            if self._line.is_open and self._is_sent():
                return
        self._wake.set()

    def close(self) -> None:
        """End the thread, without sending what is left."""
        self._ends.set()
        self._wake.set()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()

    def _start(self) -> None:
        """Threads and connections do not survive a fork, so each process has its own."""
        with self._lock:
            if self._process == os.getpid():
                return
            self._line = self._new_line()
            self._wake, self._ends = threading.Event(), threading.Event()
            self._thread = threading.Thread(target=self._run, name="index-hints", daemon=True)
            self._process = os.getpid()
            self._thread.start()

    def _new_line(self) -> RedisLine:
        line = RedisLine(self._url, patience_s=_PATIENCE_S, connect_s=_PATIENCE_S)
        line.mute()
        return line

    def _is_sent(self) -> bool:
        try:
            self._line.tell(("PUBLISH", CHANNEL, str(self._newest)))
        except redis.RedisError:
            return False
        return True

    def _run(self) -> None:
        """Connect whenever somebody could not send, and say what they would have said."""
        while not self._ends.is_set():
            self._wake.wait()
            self._wake.clear()
            if self._ends.is_set():
                break
            fresh = self._new_line()
            try:
                fresh.open()
            except redis.RedisError:
                self._ends.wait(_PAUSE_AFTER_FAILURE_S)
                continue
            with self._lock:
                self._line.close()
                self._line = fresh
                self._is_sent()
        self._line.close()
