"""Brings the leader's step hints into the web process, from its first websocket on.

Hints may be lost: the steps are in the record within a second. Redis may be away for any time.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from cluster.runtime.leader_protocol import STEP_HINTS, UNREADABLE, steps_in
from scheduler.structs.evaluation import LifecycleStep

log = logging.getLogger(__name__)

_PAUSE_S = 1.0


class StepHints:
    """An ASGI wrapper: whoever connects, steps are heard and published from then on."""

    def __init__(
        self,
        app: Callable[[Any, Any, Any], Awaitable[None]],
        url: str,
        publish: Callable[[Sequence[LifecycleStep]], None],
    ) -> None:
        self._app = app
        self._url = url
        self._publish = publish
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen())
        await self._app(scope, receive, send)

    async def _listen(self) -> None:
        while True:
            # A read without a time limit: an idle channel is not a broken one.
            client = redis.asyncio.Redis.from_url(self._url, socket_timeout=None)
            try:
                async with client, client.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(STEP_HINTS)
                    async for message in channel.listen():
                        self._take(message["data"])
            except (RedisError, OSError):
                await asyncio.sleep(_PAUSE_S)

    def _take(self, raw: bytes) -> None:
        try:
            steps = steps_in(raw)
        except UNREADABLE:
            log.warning("action=step_hints a message was not understood")
        else:
            self._publish(steps)
