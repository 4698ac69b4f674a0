"""The server end of an agent's websocket: numbered calls out, streamed answers back.

In: frames of agents that proved their nodes. Out: an `AgentLink` for `call_agent`. An
answer comes as fast as its reader takes it: the agent sends no more frames than it has credit.
"""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from django.conf import settings

from cluster.agent.protocol import (
    Cancel,
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
from cluster.operations.agent_calls import LINKS, AgentRefused, NoPathToNode
from cluster.operations.node_identities import why_not
from cluster.store.access import the_store
from cluster.store.beats import write_channels
from scheduler.ports import StateReader

logger = logging.getLogger(__name__)

#: Frames an agent may have under way per answer.
WINDOW = 16
MAX_FRAME = 1024 * 1024
HELLO_TIMEOUT_S = 10.0
#: Websocket close codes.
_BAD_MESSAGE = 4400
_NOT_ALLOWED = 4403

_DECODER: msgspec.msgpack.Decoder[FromAgent] = msgspec.msgpack.Decoder(FromAgent)

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_Frame = bytes | Exception | None


class ChannelClosed(Exception):
    """The agent hung up."""


class AgentChannel:
    """One websocket; may carry several nodes."""

    def __init__(self, receive: Receive, send: Send, now: Callable[[], int]) -> None:
        """`now` is the wall clock, ns."""
        self._now = now
        self._receive = receive
        self._send = send
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Queue[_Frame]] = {}
        #: Room for input of each call that has some.
        self._room: dict[int, asyncio.Semaphore] = {}

    @classmethod
    def as_asgi(cls, now: Callable[[], int]) -> Callable[[Any, Receive, Send], Awaitable[None]]:
        """The ASGI application: one channel per connection."""

        async def application(_scope: Any, receive: Receive, send: Send) -> None:
            await cls(receive, send, now).serve()

        return application

    async def serve(self) -> None:
        """Welcome the agent, then pass its frames on until it hangs up."""
        try:
            if (await self._receive())["type"] != "websocket.connect":
                return
            await self._send({"type": "websocket.accept"})
            await self._welcome()
            while True:
                self._take(await self._next())
        except ChannelClosed:
            logger.debug("agent channel closed")
        except (msgspec.MsgspecError, TimeoutError):
            await self._send({"type": "websocket.close", "code": _BAD_MESSAGE})
        except PermissionError:
            await self._send({"type": "websocket.close", "code": _NOT_ALLOWED})
        finally:
            LINKS.remove(self)
            for answer in self._answers.values():
                answer.put_nowait(NoPathToNode())

    async def call(
        self,
        node_id: str,
        verb: str,
        body: dict[str, object],
        given: AsyncIterator[bytes] | None = None,
    ) -> AsyncIterator[bytes]:
        """Ask the agent; frames arrive as it sends them.

        `given`: what is said to it meanwhile, taken no faster than the agent takes it.
        """
        number = next(self._numbers)
        frames: asyncio.Queue[_Frame] = asyncio.Queue()
        self._answers[number] = frames
        ended = False
        speaking = None
        try:
            await self._say(
                ServerCall(id=number, node_id=node_id, verb=verb, body=body, credit=WINDOW)
            )
            if given is not None:
                speaking = asyncio.create_task(self._speak(number, given))
            taken = 0
            while True:
                frame = await frames.get()
                if not isinstance(frame, bytes):
                    ended = True
                    if frame is not None:
                        raise frame
                    return
                yield frame
                taken += 1
                if taken == WINDOW // 2:
                    taken = 0
                    await self._say(Credit(id=number, frames=WINDOW // 2))
        finally:
            del self._answers[number]
            if speaking is not None:
                speaking.cancel()
            if not ended:
                await self._say(Cancel(id=number))

    async def _speak(self, number: int, given: AsyncIterator[bytes]) -> None:
        room = self._room[number] = asyncio.Semaphore(WINDOW)
        try:
            async for piece in given:
                await room.acquire()
                await self._say(Input(id=number, data=piece))
        finally:
            del self._room[number]

    async def _welcome(self) -> None:
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            hello = await self._next()
        if not isinstance(hello, Hello):
            raise PermissionError

        now = self._now()

        def proven(reader: StateReader) -> tuple[str, ...]:
            nodes = ((reader.node(node_id), shown) for node_id, shown in hello.nodes.items())
            return tuple(
                node.id
                for node, shown in nodes
                if node and not why_not(reader, node, shown, now=now)
            )

        accepted = await the_store().aread(proven)
        if not accepted:
            raise PermissionError
        LINKS.add(accepted, self)
        await the_store().awrite_call(write_channels, accepted, settings.BIVOUAC_PUBLIC_URL)
        await self._say(HelloAnswer(nodes=accepted))

    async def _next(self) -> FromAgent:
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise ChannelClosed
        data = message.get("bytes") or b""
        if len(data) > MAX_FRAME:
            raise msgspec.ValidationError("frame too large")
        try:
            return _DECODER.decode(data)
        except (UnicodeDecodeError, RecursionError):
            raise msgspec.ValidationError("not understood") from None

    def _take(self, message: FromAgent) -> None:
        """Frames of answers that nobody reads any more are dropped."""
        if isinstance(message, Hello):
            raise PermissionError
        if isinstance(message, Taken):
            self._make_room(message)
            return
        frames = self._answers.get(message.id)
        if frames is None:
            return
        if isinstance(message, Chunk):
            if frames.qsize() >= 2 * WINDOW:
                raise msgspec.ValidationError("more frames than credit")
            frames.put_nowait(message.data)
        else:
            frames.put_nowait(verdict(message))

    def _make_room(self, message: Taken) -> None:
        room = self._room.get(message.id)
        for _ in range(min(message.pieces, WINDOW)):
            if room is not None:
                room.release()

    async def _say(self, message: FromServer) -> None:
        await self._send({"type": "websocket.send", "bytes": msgspec.msgpack.encode(message)})


def verdict(end: End) -> Exception | None:
    """What an answer that ended so raises; None where it is complete."""
    if end.status < 400:
        return None
    return AgentRefused(end.status, end.error)
