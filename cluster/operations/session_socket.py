"""A websocket and a session inside a task, joined: bounded on every side.

In: an accepted websocket, an order, who asks. Out: frames in both directions until one end is
over. What a caller sends faster than the command takes it, and what it does not read, stays where
it is: nothing piles up here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from cluster.operations.agent_calls import AgentRefused
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.session_frames import read_input
from cluster.operations.task_sessions import SessionOrder, run_session
from scheduler.access.caller import Caller

#: Of websockets: the caller's mistake, and everything else.
POLICY, FAULT = 1008, 1011
NORMAL = 1000
#: Bytes of one frame of a caller, and frames that wait for the command to take them.
MOST_BYTES = 256 * 1024
_WAITING = 16
#: Seconds between two looks at whether the caller may still do this.
RECHECK_S = 5.0
#: Bytes of a reason that fit in a frame that closes a websocket.
_REASON = 120

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class HungUp(Exception):
    """The caller is gone."""


class NoFrame(OperationRefused):
    """What the caller sent is no frame of a session."""


class NotUnderstood(OperationRefused):
    """What the address says cannot be read."""


class SessionSocket:
    """One accepted websocket."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._given: asyncio.Queue[bytes] = asyncio.Queue(maxsize=_WAITING)

    async def next_text(self) -> str:
        """The next message of the caller. Raises HungUp, NoFrame."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise HungUp
        data = message.get("text") or message.get("bytes") or b""
        if len(data) > MOST_BYTES:
            raise NoFrame(f"a frame has at most {MOST_BYTES} bytes")
        try:
            return data if isinstance(data, str) else bytes(data).decode()
        except UnicodeDecodeError:
            raise NoFrame("a frame is text in UTF-8") from None

    async def serve(
        self,
        order: SessionOrder,
        *,
        by: Caller,
        now: Callable[[], int],
        recheck: Callable[[], Awaitable[None]],
    ) -> None:
        """Run the session to its end. Raises OperationRefused; HungUp when the caller went away.

        `recheck` is asked every few seconds, and raises once the caller may not do this any more.
        """
        parts = [
            asyncio.create_task(self._tell(order, by, now)),
            asyncio.create_task(self._listen()),
            asyncio.create_task(_watch(recheck)),
        ]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
        # What the session said itself comes before what happened beside it.
        for part in parts:
            if part in done:
                part.result()

    async def close(self, problem: Exception | None = None) -> None:
        """End the connection, and say why."""
        code, reason = NORMAL, ""
        if problem is not None:
            code, reason = code_of(problem), str(problem)
        cut = reason.encode()[:_REASON].decode(errors="ignore")
        await self._send({"type": "websocket.close", "code": code, "reason": cut})

    async def _tell(self, order: SessionOrder, by: Caller, now: Callable[[], int]) -> None:
        frames = run_session(order, self._heard(), by=by, now=now)
        async with aclosing(frames) as session:  # type: ignore[type-var] # a generator
            async for frame in session:
                # The server waits until a slow caller has read.
                await self._send({"type": "websocket.send", "text": frame.decode()})

    async def _listen(self) -> None:
        while True:
            text = await self.next_text()
            try:
                read_input(text)
            except (msgspec.MsgspecError, RecursionError) as problem:
                raise NoFrame(f"not a frame of a session: {problem}") from problem
            await self._given.put(text.encode())

    async def _heard(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._given.get()


def code_of(problem: Exception) -> int:
    """How a websocket is closed for it (doors.md 12)."""
    if isinstance(problem, NotAllowed | NotUnderstood):
        return FAULT
    if isinstance(problem, AgentRefused):
        return POLICY if problem.status < 500 else FAULT
    return POLICY if isinstance(problem, OperationRefused) else FAULT


async def _watch(recheck: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(RECHECK_S)
        await recheck()
