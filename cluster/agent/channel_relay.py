"""Calls to agents whose channel another web process holds, carried between the two by Redis.

In: calls for nodes that have no channel here, and those that other processes announce. Out: the
frames of `AgentLink`, as if the channel were here. Each call has two lists in Redis, one in each
direction, with the messages of `protocol.py`: never more of them than one side gave the other
credit for. Who falls silent for `SILENCE_S` is gone; what is left of a call expires.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from cluster.agent.channel import WINDOW, verdict
from cluster.agent.protocol import Cancel, Chunk, Credit, End, Input, Taken
from cluster.operations.agent_calls import (
    AgentLink,
    AgentLinks,
    AgentRefused,
    Body,
    NoPathToNode,
)
from cluster.operations.errors import OperationRefused
from scheduler.ports import IDSource

log = logging.getLogger(__name__)

#: Where calls are announced to every web process.
ANNOUNCED = "bivouac:agent-calls"
#: Seconds in which a process says whether it holds the channel.
ANSWER_S = 2.0
#: Seconds between two beats of either side, and without any until it is taken for gone.
BEAT_S = 3.0
SILENCE_S = 12.0
#: Seconds that a list outlives its last message.
_KEPT_S = 60
_PAUSE_S = 1.0
#: Of the one call that a pair of lists is about.
_NUMBER = 0
#: The other side, or Redis, is not there any more, or does not speak as this one does.
_GONE = (RedisError, OSError, TimeoutError, msgspec.MsgspecError)


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever holds the channel of this node: make this call."""

    call_id: str
    node_id: str
    verb: str
    body: Body
    #: Whether something is said to the agent meanwhile.
    is_spoken: bool = False


class Held(msgspec.Struct, frozen=True, tag="held"):
    """The channel is here, or it is not."""

    is_here: bool


class StillThere(msgspec.Struct, frozen=True, tag="beat"):
    """Whoever says it is still there."""


class PathLost(msgspec.Struct, frozen=True, tag="lost"):
    """The agent hung up before it had answered."""


_Message = Held | StillThere | PathLost | Chunk | End | Taken | Credit | Input | Cancel
_MESSAGE: msgspec.msgpack.Decoder[_Message] = msgspec.msgpack.Decoder(_Message)
_ANNOUNCED = msgspec.msgpack.Decoder(Announced)


class _Line:
    """One side of one call."""

    def __init__(self, client: redis.asyncio.Redis, call_id: str, *, calls: bool) -> None:
        said, heard = ("asked", "told") if calls else ("told", "asked")
        self._client = client
        self._said = f"{ANNOUNCED}:{call_id}:{said}"
        self._heard = f"{ANNOUNCED}:{call_id}:{heard}"

    async def say(self, message: _Message) -> None:
        both = self._client.pipeline(transaction=False)
        _ = both.rpush(self._said, msgspec.msgpack.encode(message))
        _ = both.expire(self._said, _KEPT_S)
        await both.execute()

    async def hear(self, within_s: float = 0.0) -> _Message:
        """The next message, within `SILENCE_S` unless told otherwise. Raises TimeoutError."""
        within_s = within_s or SILENCE_S
        # Redis keeps this time, unless it stands still itself.
        async with asyncio.timeout(within_s + _PAUSE_S):
            popped = cast("Awaitable[Any]", self._client.blpop([self._heard], timeout=within_s))
            found = await popped
        if found is None:
            raise TimeoutError
        return _MESSAGE.decode(found[1])

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """The other side hears within `SILENCE_S` that this one is there."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(BEAT_S)
                await self.say(StillThere())

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class ChannelRelay:
    """The channels that other web processes hold, as a link of this one; and ours, as theirs."""

    def __init__(self, url: str, links: AgentLinks, ids: IDSource) -> None:
        self._url = url
        self._links = links
        self._ids = ids
        self._client: redis.asyncio.Redis | None = None
        self._listening: asyncio.Task[None] | None = None
        self._carried: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Begin, on the running loop."""
        # A read that waits for a message has a limit of its own.
        self._client = redis.asyncio.Redis.from_url(self._url, socket_timeout=None)
        self._listening = asyncio.get_running_loop().create_task(self._listen(), name="relay")
        self._links.elsewhere = self

    async def end(self) -> None:
        """Take and make no more calls; those under way end."""
        self._links.elsewhere = None
        listening, self._listening = self._listening, None
        tasks = [*self._carried, *([listening] if listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def call(
        self, node_id: str, verb: str, body: Body, given: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[bytes]:
        """As `AgentLink.call`. Raises NoPathToNode where no process holds the channel."""
        assert self._client is not None, "begun before it is a link"
        announced = Announced(
            call_id=self._ids.next_id(), node_id=node_id, verb=verb, body=body,
            is_spoken=given is not None,
        )  # fmt: skip
        line = _Line(self._client, announced.call_id, calls=True)
        try:
            await self._find(line, announced)
            frames = _Asking(line).answer(given)
            async with line.beating(), aclosing(frames) as answer:  # type: ignore[type-var] # a generator
                async for frame in answer:
                    yield frame
        except _GONE as problem:
            raise NoPathToNode from problem

    async def _find(self, line: _Line, announced: Announced) -> None:
        """Wait for the process that holds the channel. Raises NoPathToNode."""
        assert self._client is not None, "begun before it is a link"
        asked = await self._client.publish(ANNOUNCED, msgspec.msgpack.encode(announced))
        for _ in range(asked):
            answer = await line.hear(ANSWER_S)
            if isinstance(answer, Held) and answer.is_here:
                return
        raise NoPathToNode

    async def _listen(self) -> None:
        assert self._client is not None, "made before the task"
        while True:
            try:
                async with self._client.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(ANNOUNCED)
                    async for message in channel.listen():
                        self._take(message["data"])
            except (RedisError, OSError):
                await asyncio.sleep(_PAUSE_S)

    def _take(self, raw: bytes) -> None:
        try:
            announced = _ANNOUNCED.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            log.warning("action=relay a message was not understood")
            return
        task = asyncio.create_task(self._carry(announced))
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)

    async def _carry(self, announced: Announced) -> None:
        """Make the call of another process on the channel that is here."""
        assert self._client is not None, "made before the task"
        line = _Line(self._client, announced.call_id, calls=False)
        link = self._links.held_here(announced.node_id)
        with contextlib.suppress(*_GONE):
            # Where two hold one, as while an agent changes over, one of them makes the call.
            taken = link is not None and await self._client.set(
                f"{ANNOUNCED}:{announced.call_id}:taken", 1, nx=True, ex=_KEPT_S
            )
            await line.say(Held(is_here=bool(taken)))
            if link is not None and taken:
                async with line.beating():
                    await _Carrying(line).carry(link, announced)


class _Carrying:
    """The side that holds the channel, for one call."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._credit = asyncio.Semaphore(WINDOW)
        self._given: asyncio.Queue[bytes] = asyncio.Queue()

    async def carry(self, link: AgentLink, announced: Announced) -> None:
        """Make the call, until it or its caller has ended."""
        work = asyncio.create_task(self._tell(link, announced))
        heard = asyncio.create_task(self._hear())
        try:
            await asyncio.wait((work, heard), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, heard):
                task.cancel()
            await asyncio.gather(work, heard, return_exceptions=True)

    async def _tell(self, link: AgentLink, announced: Announced) -> None:
        given = self._spoken() if announced.is_spoken else None
        end: End | PathLost = End(id=_NUMBER)
        try:
            frames = link.call(announced.node_id, announced.verb, announced.body, given)
            async with aclosing(frames) as answer:  # type: ignore[type-var] # a generator
                async for frame in answer:
                    await self._credit.acquire()
                    await self._line.say(Chunk(id=_NUMBER, data=frame))
        except AgentRefused as refused:
            end = End(id=_NUMBER, status=refused.status, error=str(refused))
        except NoPathToNode:
            end = PathLost()
        except OperationRefused as refused:
            end = End(id=_NUMBER, status=500, error=str(refused))
        await self._line.say(end)

    async def _hear(self) -> None:
        """Until the caller has had enough or is gone."""
        while True:
            message = await self._line.hear()
            if isinstance(message, Credit):
                for _ in range(min(message.frames, WINDOW)):
                    self._credit.release()
            elif isinstance(message, Input):
                self._given.put_nowait(message.data)
            elif isinstance(message, Cancel):
                return

    async def _spoken(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._given.get()
            await self._line.say(Taken(id=_NUMBER))


class _Asking:
    """The side that wants the call made."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._room = asyncio.Semaphore(WINDOW)

    async def answer(self, given: AsyncIterator[bytes] | None) -> AsyncIterator[bytes]:
        """What the agent answers; says meanwhile what is given, as fast as it is taken."""
        speaking = None if given is None else asyncio.create_task(self._speak(given))
        ended, taken = False, 0
        try:
            while True:
                message = await self._line.hear()
                if isinstance(message, End | PathLost):
                    ended = True
                    problem = verdict(message) if isinstance(message, End) else NoPathToNode()
                    if problem is not None:
                        raise problem
                    return
                if isinstance(message, Taken):
                    self._room.release()
                elif isinstance(message, Chunk):
                    yield message.data
                    taken = await self._give_credit(taken + 1)
        finally:
            if speaking is not None:
                speaking.cancel()
                await asyncio.gather(speaking, return_exceptions=True)
            if not ended:
                with contextlib.suppress(*_GONE):
                    await self._line.say(Cancel(id=_NUMBER))

    async def _speak(self, given: AsyncIterator[bytes]) -> None:
        async for piece in given:
            await self._room.acquire()
            await self._line.say(Input(id=_NUMBER, data=piece))

    async def _give_credit(self, taken: int) -> int:
        """For as many frames as were taken, half a window at once; how many still wait for it."""
        if taken < WINDOW // 2:
            return taken
        await self._line.say(Credit(id=_NUMBER, frames=taken))
        return 0
