"""The leader's end of its Redis list: requests in, answers out, and a nudge when the index moves.

The leader's own thread waits for both at once. When Redis is away it tries again; the leader goes
on with the record alone.
"""

import logging
import select
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import redis

from cluster.redis_line import Command, RedisLine
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
#: How long a question for requests stands, and after how long without an answer it is lost.
_ASK_S = 1
_LOST_S = 5.0
#: Redis that is away is tried again after this, and then waited for so long: the leader waits too.
_PAUSE_S = 0.5
_CONNECT_S = 1.0
#: Seconds between two looks at which lists of answers should go if nobody reads them.
_EXPIRE_EVERY_S = REPLY_EXPIRY_S / 4


class Inbox:
    """Requests to the leader, taken off the list as they come."""

    def __init__(self, url: str, epoch: int) -> None:
        self.epoch = epoch
        self._url = url
        self._clock = SystemClock()
        self._answered: OrderedDict[str, tuple[float, str, bytes]] = OrderedDict()
        self._in_work: set[str] = set()
        self._requests = RedisLine(url, patience_s=_CONNECT_S, connect_s=_CONNECT_S)
        self._index = RedisLine(url, patience_s=_CONNECT_S, connect_s=_CONNECT_S)
        self._out = RedisLine(url, connect_s=_CONNECT_S)
        self._out.mute()
        #: Answers that the question for requests still has coming, and when it was asked.
        self._coming = 0
        self._asked_at = 0.0
        self._listens_again_at = self._speaks_again_at = 0.0
        #: What is said now goes out in one piece, at the end of a block.
        self._is_gathering = False
        #: Lists of answers that were written to since they were last told when to go.
        self._written: set[str] = set()
        self._expired_at = 0.0

    def start(self) -> None:
        """Forget what was meant for an earlier leader, then listen."""
        with suppress(redis.RedisError), self._connect() as client:
            client.delete(LEADER_IN)
            for reply in client.scan_iter(f"{REPLY_PREFIX}*"):
                client.expire(reply, REPLY_EXPIRY_S)
        self._listen()

    def stop(self) -> None:
        """End the connections; what was not sent is lost."""
        for line in (self._requests, self._index, self._out):
            line.close()

    def drain(self, timeout_s: float) -> list[Request]:
        """Wait for a request or a new index, then take everything that is there."""
        until = self._clock.monotonic() + max(timeout_s, 0.0005)
        while True:
            self._listen()
            left = until - self._clock.monotonic()
            try:
                is_news, requests = self._look(max(left, 0.0))
            except redis.RedisError:
                is_news, requests = False, []
            if is_news or left <= 0:
                return [request for request in requests if self._is_new(request)]

    def _look(self, timeout_s: float) -> tuple[bool, list[Request]]:
        """Whether something came within the time, and the requests among it."""
        lines = [line for line in (self._requests, self._index) if line.is_open]
        if not lines:
            time.sleep(min(timeout_s, _PAUSE_S))
            return False, []
        ready = select.poll()
        for line in lines:
            ready.register(line, select.POLLIN)
        ready.poll(timeout_s * 1000)
        requests = [*self._arrived()]
        told = self._index.arrived() if self._index.is_open else ()
        return bool(requests) or any(each[:1] == [b"message"] for each in told), requests

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

    @contextmanager
    def in_one_piece(self) -> Iterator[None]:
        """What is said within the block goes out at its end, and wakes Redis once."""
        self._is_gathering = True
        try:
            yield
        finally:
            self._is_gathering = False
            if self._out.holds_any:
                self._say()

    def publish(self, channel: str, payload: bytes) -> None:
        """A hint to whoever listens; lost when nobody does."""
        self._say(("PUBLISH", channel, payload))

    def leave(self, key: str, payload: bytes, seconds: int) -> None:
        """A note that lies there for so long; lost when Redis is away."""
        self._say(("SET", key, payload, "EX", seconds))

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
        by_reply: dict[str, list[str | bytes]] = {}
        for reply, payload in outgoing:
            by_reply.setdefault(reply, ["RPUSH", reply]).append(payload)
        self._written.update(by_reply)
        self._say(*map(tuple, by_reply.values()))

    def _say(self, *commands: Command) -> None:
        """Send what may be lost: Redis that is away is not waited for each time."""
        now = self._clock.monotonic()
        if now < self._speaks_again_at:
            return
        try:
            if self._is_gathering:
                self._out.tell_with_next(*commands)
                return
            self._out.tell(*commands)
            if now - self._expired_at >= _EXPIRE_EVERY_S:
                self._expired_at = now
                written, self._written = self._written, set()
                self._out.tell(*(("EXPIRE", reply, REPLY_EXPIRY_S) for reply in written))
        except redis.RedisError:
            self._speaks_again_at = now + _PAUSE_S

    def _connect(self) -> redis.Redis:
        return redis.Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=2)

    def _listen(self) -> None:
        """Open what is not open, and have a question for requests out."""
        now = self._clock.monotonic()
        if self._coming and now - self._asked_at > _ASK_S + _LOST_S:
            self._requests.close()
        if now < self._listens_again_at:
            return
        try:
            if not self._index.is_open:
                self._index.send(("SUBSCRIBE", INDEX_HINTS))
            if not self._requests.is_open or not self._coming:
                self._requests.send(("BLPOP", LEADER_IN, _ASK_S), ("LPOP", LEADER_IN, _BATCH))
                self._coming, self._asked_at = 2, now
        except redis.RedisError:
            self._listens_again_at = now + _PAUSE_S

    def _arrived(self) -> Iterator[Request]:
        """What came on the list, and the next question for more."""
        if not self._requests.is_open:
            return
        answers = self._requests.arrived()
        self._coming = max(0, self._coming - len(answers))
        if not self._coming:
            self._listen()
        for answer in answers:
            # BLPOP names the list before what was on it; of both nothing is None.
            of_list = isinstance(answer, list) and answer[:1] == [LEADER_IN.encode()]
            for raw in (answer or ())[1:] if of_list else answer or ():
                request = self._readable(raw)
                if request is not None:
                    yield request

    def _readable(self, raw: bytes) -> Request | None:
        try:
            request = request_in(raw)
        except UNREADABLE:
            # Anyone who can write to Redis could have put it there.
            log.warning("action=leader_in a message was not understood")
            return None
        if request.reply and not request.reply.startswith(REPLY_PREFIX):
            log.warning("action=leader_in a message wanted its answer elsewhere")
            return None
        return request
