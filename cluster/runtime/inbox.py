"""The leader's end of its Redis list: requests in, answers out, and a nudge when the index moves.

Two threads wait on Redis so that the leader's own thread waits in one place only. When Redis is
away they try again; the leader goes on with the record alone.
"""

import logging
import queue
import threading
from collections import OrderedDict

import redis

from cluster.runtime.clock import SystemClock
from cluster.runtime.leader_protocol import (
    INDEX_HINTS,
    LEADER_IN,
    REMEMBER_S,
    REPLY_EXPIRY_S,
    REPLY_PREFIX,
    UNREADABLE,
    Answer,
    Request,
    encoded,
    encoded_body,
    request_in,
)

log = logging.getLogger(__name__)

_BATCH = 512


class Inbox:
    """Requests to the leader, taken off the list as they come."""

    def __init__(self, url: str, epoch: int) -> None:
        self.epoch = epoch
        self._url = url
        self._clock = SystemClock()
        self._arrived: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._answered: OrderedDict[str, tuple[float, str, bytes]] = OrderedDict()
        self._in_work: set[str] = set()
        self._stopped = threading.Event()
        self._redis = self._connect()
        self._threads = [
            threading.Thread(target=self._take_requests, name="inbox", daemon=True),
            threading.Thread(target=self._watch_index, name="index", daemon=True),
        ]

    def start(self) -> None:
        """Forget what was meant for an earlier leader, then listen."""
        try:
            self._redis.delete(LEADER_IN)
        except redis.RedisError:
            self._redis.connection_pool.disconnect()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let the threads end; they notice within a second."""
        self._stopped.set()
        self._redis.close()

    def drain(self, timeout_s: float) -> list[Request]:
        """Wait for a request or a new index, then take everything that is there."""
        found: list[Request] = []
        try:
            first = self._arrived.get(timeout=max(timeout_s, 0.0005))
        except queue.Empty:
            return found
        while True:
            if first is not None and self._is_new(first):
                found.append(first)
            try:
                first = self._arrived.get_nowait()
            except queue.Empty:
                return found

    def answer(self, request: Request, body: object, error: str = "") -> None:
        """Answer one request."""
        self.answer_all([(request, body, error)])

    def answer_all(self, answers: list[tuple[Request, object, str]]) -> None:
        """Send answers in one round trip, and remember them."""
        now = self._clock.monotonic()
        outgoing: list[tuple[str, bytes]] = []
        for request, body, error in answers:
            self._in_work.discard(request.id)
            if not request.reply:
                continue
            payload = encoded(Answer(request.id, self.epoch, encoded_body(body), error))
            self._answered[request.id] = (now, request.reply, payload)
            outgoing.append((request.reply, payload))
        while self._answered and next(iter(self._answered.values()))[0] < now - REMEMBER_S:
            self._answered.popitem(last=False)
        self._send(outgoing)

    def publish(self, channel: str, payload: bytes) -> None:
        """A hint to whoever listens; lost when nobody does."""
        try:
            self._redis.publish(channel, payload)
        except redis.RedisError:
            self._redis.connection_pool.disconnect()

    def leave(self, key: str, payload: bytes, seconds: int) -> None:
        """A note that lies there for so long; lost when Redis is away."""
        try:
            self._redis.set(key, payload, ex=seconds)
        except redis.RedisError:
            self._redis.connection_pool.disconnect()

    def _is_new(self, request: Request) -> bool:
        if request.id in self._in_work:
            return False
        known = self._answered.get(request.id)
        if known is not None:
            self._send([(known[1], known[2])])
            return False
        if request.reply:
            self._in_work.add(request.id)
        return True

    def _send(self, outgoing: list[tuple[str, bytes]]) -> None:
        if not outgoing:
            return
        try:
            pipe = self._redis.pipeline(transaction=False)
            for reply, payload in outgoing:
                pipe.rpush(reply, payload)
            for reply in {reply for reply, _ in outgoing}:
                pipe.expire(reply, REPLY_EXPIRY_S)
            pipe.execute()
        except redis.RedisError:
            self._redis.connection_pool.disconnect()

    def _connect(self) -> redis.Redis:
        return redis.Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=2)

    def _take_requests(self) -> None:
        connection = self._connect()
        while not self._stopped.is_set():
            try:
                popped = connection.blpop([LEADER_IN], timeout=1)
                if popped is None:
                    continue
                self._accept(popped[1])
                for raw in _several(connection.lpop(LEADER_IN, _BATCH)):
                    self._accept(raw)
            except redis.RedisError:
                connection.connection_pool.disconnect()
                self._stopped.wait(0.2)
        connection.close()

    def _accept(self, raw: object) -> None:
        assert isinstance(raw, bytes), "the connection decodes nothing"
        try:
            request = request_in(raw)
        except UNREADABLE:
            # Anyone who can write to Redis could have put it there.
            log.warning("action=leader_in a message was not understood")
            return
        if request.reply and not request.reply.startswith(REPLY_PREFIX):
            log.warning("action=leader_in a message wanted its answer elsewhere")
            return
        self._arrived.put(request)

    def _watch_index(self) -> None:
        connection = self._connect()
        while not self._stopped.is_set():
            try:
                channel = connection.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # redis has no types here
                with channel:
                    channel.subscribe(INDEX_HINTS)
                    while not self._stopped.is_set():
                        if channel.get_message(timeout=1.0):
                            self._arrived.put(None)
            except redis.RedisError:
                connection.connection_pool.disconnect()
                self._stopped.wait(0.2)
        connection.close()


def _several(popped: object) -> list[object]:
    """What LPOP with a count gives: a list, or nothing."""
    return popped if isinstance(popped, list) else []
