"""How workers and applier talk to the leader: requests on one Redis list, answers on their own.

Sends again what found no answer, and gives up in the end. What is said is `leader_protocol`.
"""

import logging
import time
from collections.abc import Sequence

import msgspec
import redis

from cluster.redis_line import Command, RedisLine
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.leader_protocol import (
    GIVE_UP_S,
    LEADER_IN,
    REPLY_PREFIX,
    RESEND_S,
    UNREADABLE,
    Answer,
    AnswerBody,
    Body,
    Kind,
    Request,
    answer_in,
    encoded,
    encoded_body,
)

log = logging.getLogger(__name__)

_BATCH = 256


class LeaderUnreachable(Exception):
    """No answer within the time limit: there is no leader, or Redis is away."""


class LeaderRefused(Exception):
    """The leader answered with an error; its text is the message."""


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
        self._line = RedisLine(url)
        self._clock = SystemClock()
        self._ids = RandomIDs()
        self._pending: dict[str, _Pending] = {}
        self._unsent: list[Request] = []
        self._unsent_since = 0.0

    def close(self) -> None:
        """Release the connection."""
        self._line.close()

    @property
    def has_pending(self) -> bool:
        """Whether some request still waits for its answer."""
        return bool(self._pending)

    def send(self, kind: Kind[Body, AnswerBody], body: Body) -> str:
        """Ask without waiting; `collect` brings the answer under the id that is returned.

        It leaves with the next `flush`, `collect` or `call`: several requests travel as one.
        """
        request = self._request(kind, body, self.reply)
        monotonic = self._clock.monotonic()
        self._pending[request.id] = _Pending(request, monotonic, monotonic)
        if not self._unsent:
            self._unsent_since = monotonic
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
        self._send_again()
        unsent, self._unsent = self._unsent, []
        if unsent:
            self._line.tell_with_next(_pushed(unsent))
        wait_s = max(timeout_s, 0.01)
        try:
            # One question: what comes first is waited for, and what lies there beside it taken.
            self._line.send(("BLPOP", self.reply, wait_s), ("LPOP", self.reply, _BATCH))
            first = self._line.read(wait_s)
            more = self._line.read()
        except redis.RedisError:
            time.sleep(0.2)
            return []
        return self._received([*(first or ())[1:], *(more or ())])

    def poll(self) -> list[Answer]:
        """Answers that are there already. Waits for none, and sends nothing."""
        try:
            self._line.send(("LPOP", self.reply, _BATCH))
            return self._received(self._line.read() or ())
        except redis.RedisError:
            return []

    def _received(self, raws: Sequence[bytes]) -> list[Answer]:
        answers = [answer for raw in raws if (answer := _readable(raw)) is not None]
        self.epoch = max([self.epoch, *(answer.epoch for answer in answers)])
        # The rest are late answers to requests that were given up or answered twice.
        return [answer for answer in answers if self._pending.pop(answer.id, None)]

    def call(
        self, kind: Kind[Body, AnswerBody], body: Body, *, limit_s: float = GIVE_UP_S
    ) -> AnswerBody:
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
                    return kind.read_answer(answer)
        self._pending.pop(asked, None)
        raise LeaderUnreachable(f"no answer to {kind.name} within {limit_s:g} s")

    def post(self, kind: Kind[Body, AnswerBody], body: Body) -> None:
        """Say something without wanting an answer; lost when Redis is away."""
        self._push([self._request(kind, body, "")])

    def forget(self) -> None:
        """Expect no answers any more."""
        self._pending.clear()
        self._unsent.clear()

    def _request(self, kind: Kind[Body, AnswerBody], body: Body, reply: str) -> Request:
        return Request(self._ids.next_id(), kind.name, reply, encoded_body(body), self.epoch)

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
            self._line.tell(_pushed(requests))
        except redis.RedisError as error:
            # Sent again under the same id after a second.
            log.debug("action=push %s", error)


def _pushed(requests: Sequence[Request]) -> Command:
    return ("RPUSH", LEADER_IN, *map(encoded, requests))


def _readable(raw: bytes) -> Answer | None:
    try:
        return answer_in(raw)
    except UNREADABLE:
        log.warning("action=collect an answer was not understood")
        return None
