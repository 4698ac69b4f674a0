"""How workers and applier talk to the leader: requests on one Redis list, answers on their own.

Every request is idempotent by its id: it is sent again after a second without an answer, and the
leader remembers its answers for a minute. Redis may lose any message.
"""

import logging
import os
import socket
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import redis

from cluster.runtime.clock import RandomIDs, SystemClock

log = logging.getLogger(__name__)

LEADER_IN = "leader:in"
RESEND_S = 1.0
#: Without an answer for this long a worker gives its deliveries up.
GIVE_UP_S = 15.0
#: An abandoned reply list must not stay for ever.
REPLY_EXPIRY_S = 120


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One message to the leader."""

    id: str
    kind: str
    reply: str
    body: msgspec.Raw
    #: The leader epoch the sender believes in; 0 when it does not matter.
    epoch: int = 0


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The leader's answer to the request of that id; `error` is empty when it was done."""

    id: str
    epoch: int
    body: msgspec.Raw
    error: str = ""


class LeaderUnreachable(Exception):
    """No answer within the time limit: there is no leader, or Redis is away."""


class LeaderRefused(Exception):
    """The leader answered with an error; its text is the message."""


#: What decoding raises for bytes that are no message: bad text and bottomless nesting included.
UNREADABLE = (ValueError, RecursionError)
#: Answers go to lists of this name only, whatever a request asks for.
REPLY_PREFIX = "reply:"

_ENCODER = msgspec.msgpack.Encoder()
_ANSWERS = msgspec.msgpack.Decoder(Answer)
_BATCH = 256


def process_name(role: str) -> str:
    """A name for this process, unique over machines and restarts."""
    return f"{role}@{socket.gethostname()}/{os.getpid()}/{RandomIDs().next_id()[:8]}"


class _Pending(msgspec.Struct):
    request: Request
    first_sent: float
    last_sent: float


class LeaderChannel:
    """The caller's end. One per thread: answers are read from a list of its own."""

    def __init__(self, url: str, process: str) -> None:
        self.process = process
        self.reply = f"{REPLY_PREFIX}{process}"
        #: The epoch of the leader that answered last.
        self.epoch = 0
        self._redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2)
        self._clock = SystemClock()
        self._ids = RandomIDs()
        self._pending: dict[str, _Pending] = {}
        self._unsent: list[Request] = []
        self._unsent_since = 0.0

    def close(self) -> None:
        """Release the connection."""
        self._redis.close()

    @property
    def has_pending(self) -> bool:
        """Whether some request still waits for its answer."""
        return bool(self._pending)

    def send(self, kind: str, body: object) -> str:
        """Ask without waiting; `collect` brings the answer under the id that is returned.

        It leaves with the next `flush`, `collect` or `call`: several requests travel as one.
        """
        request = Request(self._ids.next_id(), kind, self.reply, encoded(body), self.epoch)
        moment = self._clock.monotonic()
        self._pending[request.id] = _Pending(request, moment, moment)
        if not self._unsent:
            self._unsent_since = moment
        self._unsent.append(request)
        return request.id

    def flush(self, *, older_than_s: float = 0.0) -> None:
        """Let go what was sent, once the first of it has waited for so long."""
        if self._unsent and self._clock.monotonic() - self._unsent_since >= older_than_s:
            unsent, self._unsent = self._unsent, []
            self._push(unsent)

    def collect(self, timeout_s: float) -> list[Answer]:
        """Wait for answers to what was sent; send again what stayed unanswered for a second.

        Raises LeaderUnreachable, and forgets all that was sent, when one waited for `GIVE_UP_S`.
        """
        self.flush()
        self._send_again()
        try:
            popped = self._redis.blpop([self.reply], timeout=max(timeout_s, 0.01))
            if popped is None:
                return []
            raws = [popped[1], *self._waiting()]
        except redis.RedisError:
            self._redis.connection_pool.disconnect()
            time.sleep(0.2)
            return []
        return self._received(raws)

    def poll(self) -> list[Answer]:
        """Answers that are there already. Waits for none, and sends nothing."""
        try:
            return self._received(self._waiting())
        except redis.RedisError:
            self._redis.connection_pool.disconnect()
            return []

    def _waiting(self) -> list[Any]:
        """What lies on the list of answers, raw."""
        return [*(self._redis.lpop(self.reply, _BATCH) or ())]

    def _received(self, raws: Sequence[bytes]) -> list[Answer]:
        answers = [answer for raw in raws if (answer := _answer_in(raw)) is not None]
        self.epoch = max([self.epoch, *(answer.epoch for answer in answers)])
        # The rest are late answers to requests that were given up or answered twice.
        return [answer for answer in answers if self._pending.pop(answer.id, None)]

    def call(self, kind: str, body: object, *, limit_s: float = GIVE_UP_S) -> msgspec.Raw:
        """Ask and wait. Raises LeaderUnreachable, or LeaderRefused with the leader's reason.

        Answers to anything else that is pending are taken as read.
        """
        asked = self.send(kind, body)
        deadline = self._clock.monotonic() + limit_s
        while self._clock.monotonic() < deadline:
            for answer in self.collect(min(RESEND_S, limit_s)):
                if answer.id == asked and answer.error:
                    raise LeaderRefused(answer.error)
                if answer.id == asked:
                    return answer.body
        self._pending.pop(asked, None)
        raise LeaderUnreachable(f"no answer to {kind} within {limit_s:g} s")

    def post(self, kind: str, body: object) -> None:
        """Say something without wanting an answer; lost when Redis is away."""
        self._push([Request(self._ids.next_id(), kind, "", encoded(body), self.epoch)])

    def forget(self) -> None:
        """Expect no answers any more."""
        self._pending.clear()
        self._unsent.clear()

    def _send_again(self) -> None:
        monotonic = self._clock.monotonic()
        overdue = [
            item for item in self._pending.values() if monotonic - item.last_sent >= RESEND_S
        ]
        if any(monotonic - item.first_sent > GIVE_UP_S for item in overdue):
            self.forget()
            raise LeaderUnreachable(f"no answer within {GIVE_UP_S:g} s")
        for item in overdue:
            item.last_sent = monotonic
        self._push([item.request for item in overdue])

    def _push(self, requests: Sequence[Request]) -> None:
        if not requests:
            return
        try:
            self._redis.rpush(LEADER_IN, *(_ENCODER.encode(request) for request in requests))
        except redis.RedisError:
            self._redis.connection_pool.disconnect()


def _answer_in(raw: bytes) -> Answer | None:
    try:
        return _ANSWERS.decode(raw)
    except UNREADABLE:
        log.warning("action=collect an answer was not understood")
        return None


def encoded(body: object) -> msgspec.Raw:
    """A message body as it travels."""
    return msgspec.Raw(_ENCODER.encode(body))
