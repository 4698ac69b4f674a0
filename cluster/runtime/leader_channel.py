"""How workers and applier talk to the leader: requests on one Redis list, answers on their own.

Every request is idempotent by its id: it is sent again after a second without an answer, and the
leader remembers its answers for a minute. Redis may lose any message.
"""

import os
import socket
import time
from collections.abc import Mapping, Sequence

import msgspec
import redis

from cluster.runtime.clock import RandomIDs, SystemClock

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


_ENCODER = msgspec.msgpack.Encoder()
_ANSWERS = msgspec.msgpack.Decoder(Answer)


def process_name(role: str) -> str:
    """A name for this process, unique over machines and restarts."""
    return f"{role}@{socket.gethostname()}/{os.getpid()}/{RandomIDs().next_id()[:8]}"


class LeaderChannel:
    """The caller's end. One per thread: answers are read from this process's own list."""

    def __init__(self, url: str, process: str) -> None:
        self.process = process
        self.reply = f"reply:{process}"
        #: The epoch of the leader that answered last.
        self.epoch = 0
        self._redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2)
        self._clock = SystemClock()
        self._ids = RandomIDs()

    def close(self) -> None:
        """Release the connection."""
        self._redis.close()

    def call(self, kind: str, body: object, *, limit_s: float = GIVE_UP_S) -> msgspec.Raw:
        """Ask once. Raises LeaderUnreachable, or LeaderRefused with the leader's reason."""
        (answer,) = self.call_many(kind, [body], limit_s=limit_s)
        if answer.error:
            raise LeaderRefused(answer.error)
        return answer.body

    def call_many(
        self, kind: str, bodies: Sequence[object], *, limit_s: float = GIVE_UP_S
    ) -> list[Answer]:
        """Ask several things at once; the answers come in the order of the bodies."""
        requests = {
            request.id: request
            for request in (
                Request(self._ids.next_id(), kind, self.reply, encoded(body), self.epoch)
                for body in bodies
            )
        }
        answers: dict[str, Answer] = {}
        deadline = self._clock.monotonic() + limit_s
        while len(answers) < len(requests):
            if self._clock.monotonic() > deadline:
                raise LeaderUnreachable(f"no answer to {kind} within {limit_s:g} s")
            missing = {key: value for key, value in requests.items() if key not in answers}
            try:
                self._send(missing)
                self._collect(missing, answers, min(RESEND_S, limit_s))
            except redis.RedisError:
                self._pause()
        return [answers[key] for key in requests]

    def post(self, kind: str, body: object) -> None:
        """Say something without waiting for an answer; lost when Redis is away."""
        try:
            request = Request(self._ids.next_id(), kind, "", encoded(body), self.epoch)
            self._redis.rpush(LEADER_IN, _ENCODER.encode(request))
        except redis.RedisError:
            return

    def _send(self, requests: Mapping[str, Request]) -> None:
        self._redis.rpush(LEADER_IN, *(_ENCODER.encode(item) for item in requests.values()))

    def _collect(
        self, wanted: Mapping[str, Request], answers: dict[str, Answer], limit_s: float
    ) -> None:
        deadline = self._clock.monotonic() + limit_s
        while any(key not in answers for key in wanted):
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return
            popped = self._redis.blpop([self.reply], timeout=max(left, 0.01))
            if popped is None:
                return
            answer = _ANSWERS.decode(popped[1])
            self.epoch = max(self.epoch, answer.epoch)
            # Others are late answers to requests that were given up or answered twice.
            if answer.id in wanted:
                answers[answer.id] = answer

    def _pause(self) -> None:
        self._redis.connection_pool.disconnect()
        time.sleep(0.2)


def encoded(body: object) -> msgspec.Raw:
    """A message body as it travels."""
    return msgspec.Raw(_ENCODER.encode(body))
