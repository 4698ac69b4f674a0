"""The node end of the channel: one websocket for one or many nodes, reconnected for ever.

In: calls of the server. Out: what `Answers` says to them, in frames, as fast as the server wants.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from cluster.agent.cue import Cue
from cluster.agent.protocol import (
    Chunk,
    Credit,
    End,
    FromAgent,
    FromServer,
    Hello,
    HelloAnswer,
    Input,
    ServerCall,
    Taken,
)
from cluster.agent.retry import MAX_CALLS_PER_S
from cluster.log_lines import FOR_FOLLOWERS

logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
#: A cue ends a pause, but not within so many seconds: cues come often, and not for our sake.
CUE_AFTER_S = 1.0
#: Bytes of answer in one frame.
FRAME = 64 * 1024
MAX_MESSAGE = 1024 * 1024
_FAULT = 500


class AnswerRefused(Exception):
    """The call cannot be answered; the text is shown."""

    def __init__(self, text: str, status: int = _FAULT) -> None:
        super().__init__(text)
        self.status = status


class Answerer(Protocol):
    """Answers the calls of one node."""

    def answer(
        self, verb: str, body: dict[str, object], given: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The answer in pieces. Raises AnswerRefused, before or between them.

        `given`: what the caller says meanwhile, for ever; one who hangs up closes the answer.
        """


class ChannelClient:
    """Keeps the channel open."""

    def __init__(
        self,
        server: str,
        secrets: Callable[[], Mapping[str, str]],
        answerers: Mapping[str, Answerer],
        chance: Callable[[], float],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.tls = tls
        self.url = f"ws{server.removeprefix('http').rstrip('/')}/v1/fleet/channel"
        #: What each node proves itself with at the moment, by its id.
        self.secrets = secrets
        self.answerers = answerers
        self.chance = chance
        #: One of how many channels it is, as far as is known: they do not all come back at once.
        self.channel_count = 1
        self._reachable = Cue()

    def try_now(self) -> None:
        """The server has answered somebody: no longer wait for it."""
        self._reachable.give()

    async def run(self) -> None:
        """Connect, serve, connect again; until cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            connection = None
            try:
                async with connect(
                    self.url, max_size=MAX_MESSAGE, proxy=None, ssl=self.tls
                ) as socket:
                    connection = _Connection(socket, self)
                    await connection.serve()
            except (OSError, TimeoutError, WebSocketException, msgspec.MsgspecError) as problem:
                logger.info("channel lost: %s", problem)
            if connection is not None and connection.was_welcome:
                pause = FIRST_PAUSE_S
            await self._wait(pause * (1 + self.chance()))
            longest = max(LONGEST_PAUSE_S, self.channel_count / MAX_CALLS_PER_S)
            pause = min(pause * 2, longest)

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, CUE_AFTER_S))
        if seconds > CUE_AFTER_S:
            await self._reachable.pause(seconds - CUE_AFTER_S)


class _Connection:
    """One connection's calls under way."""

    def __init__(self, socket: ClientConnection, client: ChannelClient) -> None:
        self._socket = socket
        self._client = client
        self._credit: dict[int, asyncio.Semaphore] = {}
        self._work: dict[int, asyncio.Task[None]] = {}
        self._given: dict[int, asyncio.Queue[bytes]] = {}
        #: The server took us in.
        self.was_welcome = False

    async def serve(self) -> None:
        try:
            await self._say(Hello(nodes=dict(self._client.secrets())))
            async for data in self._socket:
                if isinstance(data, bytes):
                    self._take(msgspec.msgpack.decode(data, type=FromServer))
        finally:
            for task in list(self._work.values()):
                task.cancel()
            await asyncio.gather(*self._work.values(), return_exceptions=True)

    def _take(self, message: FromServer) -> None:
        if isinstance(message, HelloAnswer):
            self.was_welcome = True
        elif isinstance(message, ServerCall):
            self._credit[message.id] = asyncio.Semaphore(message.credit)
            self._given[message.id] = asyncio.Queue()
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._work[message.id] = task
            task.add_done_callback(lambda _task: self._forget(message.id))
        elif isinstance(message, Credit):
            for _ in range(message.frames):
                if message.id in self._credit:
                    self._credit[message.id].release()
        elif isinstance(message, Input):
            if message.id in self._given:
                self._given[message.id].put_nowait(message.data)
        elif message.id in self._work:
            self._work[message.id].cancel()

    def _forget(self, number: int) -> None:
        self._work.pop(number, None)
        self._credit.pop(number, None)
        self._given.pop(number, None)

    async def _heard(self, number: int) -> AsyncIterator[bytes]:
        """What the caller says; the server sends more as pieces are taken."""
        given = self._given[number]
        while True:
            yield await given.get()
            await self._say(Taken(id=number))

    async def _answer(self, call: ServerCall) -> None:
        began = asyncio.get_running_loop().time()
        try:
            await self._send_answer(call)
        finally:
            if FOR_FOLLOWERS.handlers:
                took_ms = (asyncio.get_running_loop().time() - began) * 1000
                FOR_FOLLOWERS.debug('call answered: verb=%s duration="%.1fms"', call.verb, took_ms)

    async def _send_answer(self, call: ServerCall) -> None:
        credit = self._credit[call.id]
        try:
            answerer = self._client.answerers.get(call.node_id)
            if answerer is None:
                raise AnswerRefused(f"Unknown node {call.node_id}", 404)
            pieces = answerer.answer(call.verb, call.body, self._heard(call.id))
            # What an answer holds open is closed with it, whoever ends it.
            async with aclosing(pieces) as answer:  # type: ignore[type-var] # it is a generator
                async for piece in answer:
                    for begin in range(0, len(piece), FRAME):
                        await credit.acquire()
                        await self._say(Chunk(id=call.id, data=piece[begin : begin + FRAME]))
        except AnswerRefused as refused:
            await self._say(End(id=call.id, status=refused.status, error=str(refused)))
        except (OSError, ValueError, LookupError, msgspec.MsgspecError) as problem:
            logger.exception("call failed: %s", call.verb)
            await self._say(End(id=call.id, status=_FAULT, error=str(problem)))
        else:
            await self._say(End(id=call.id))

    async def _say(self, message: FromAgent) -> None:
        await self._socket.send(msgspec.msgpack.encode(message))
