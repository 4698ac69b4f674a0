"""Nodes that only register and beat: the load of a fleet without what its tasks cost.

In: how many, how large, where. Out: ready nodes, which can be told to say that they are down. All
of them live on one event loop in a thread of this process.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from cluster.agent.protocol import (
    JOIN_HEADER,
    MSGPACK,
    NODE_HEADER,
    Beat,
    BeatAnswer,
    Register,
    decode,
    encode,
)
from cluster.fleet.blueprint import FleetOptions, Member, members_of

_SECOND = 1_000_000_000
_AT_ONCE = 16

Result = TypeVar("Result")


class PassiveFleet:
    """The nodes of a blueprint, as a context manager: ready inside the block."""

    def __init__(self, address: str, join_token: str, options: FleetOptions) -> None:
        self.members = members_of(options, join_token)
        self._address = address
        self._join_token = join_token
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)
        self._client: httpx.AsyncClient | None = None
        self._beating: dict[str, asyncio.Task[None]] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._join())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def say(self, status: str, members: Sequence[Member] | None = None) -> None:
        """Have these nodes, or all, report a status; those that are down beat no more."""
        self._run(self._say(status, self.members if members is None else members))

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _join(self) -> None:
        limits = httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE)
        self._client = httpx.AsyncClient(
            base_url=f"{self._address}/v1/fleet/", timeout=60, trust_env=False, limits=limits
        )
        await _several(self._register(member) for member in self.members)
        await self._say("ready", self.members)

    async def _leave(self) -> None:
        for task in self._beating.values():
            task.cancel()
        await asyncio.gather(*self._beating.values(), return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _say(self, status: str, members: Sequence[Member]) -> None:
        await _several(self._change(member, status) for member in members)

    async def _change(self, member: Member, status: str) -> None:
        task = self._beating.pop(member.node.id, None)
        if task is not None:
            task.cancel()
        ttl = await self._beat(member, status)
        if status == "ready":
            beating = self._beat_forever(member, ttl)
            self._beating[member.node.id] = asyncio.create_task(beating)

    async def _register(self, member: Member) -> None:
        await self._post(member, "register", Register(node=member.node))

    async def _beat(self, member: Member, status: str = "ready") -> int:
        content = await self._post(member, "beat", Beat(status=status))
        return decode(content, BeatAnswer).heartbeat_ttl

    async def _beat_forever(self, member: Member, ttl: int) -> None:
        while True:
            # Twice as often as asked, so that a beat that fails on a busy machine is made up for.
            await asyncio.sleep(ttl / 2 / _SECOND)
            with contextlib.suppress(httpx.HTTPError):
                ttl = await self._beat(member)

    async def _post(self, member: Member, path: str, message: object) -> bytes:
        assert self._client is not None, "joined first"
        headers = {
            NODE_HEADER: member.node.id,
            JOIN_HEADER: self._join_token,
            "Authorization": f"Bearer {member.secret}",
            "Content-Type": MSGPACK,
        }
        response = await self._client.post(path, content=encode(message), headers=headers)
        response.raise_for_status()
        return response.content


async def _several(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of it, a few at a time."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Coroutine[Any, Any, None]) -> None:
        async with gate:
            await item

    await asyncio.gather(*(one(item) for item in work))
