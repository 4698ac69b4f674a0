"""The websocket of a page: who is it, what may it follow, replay since its index, then follow.

In: `?index=N&topics=a,b:1` and the session. Out: the hub's messages, unchanged. A page that reads
too slowly is dropped and comes back with its last index. The Origin check stands before this, in
`cluster.asgi`.
"""

import asyncio
import contextlib
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from dashboard.live.entitlement import DOORKEEPER, entitlement_of
from dashboard.live.hub import HUB
from dashboard.live.messages import Refused, encoded
from dashboard.live.subscriptions import BadTopic, authorise, parse_topics, readable_namespaces
from scheduler.ports import StateReader

#: Messages sent and not yet reported as seen. A browser reports twice a second.
MAX_UNSEEN = 200

SIGNED_OUT = 4401
BAD_REQUEST = 4400
TOO_SLOW = 4408
NOT_READY = 4503


class ClusterConsumer(AsyncWebsocketConsumer):  # type: ignore[misc] # channels has no types
    """One open page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._sent = 0
        self._seen = 0

    async def connect(self) -> None:
        """Accept, so that a refusal can say why, then join each topic in the page's order."""
        await self.accept()
        namespaces = await database_sync_to_async(readable_namespaces)(self.scope["user"])
        if not namespaces and namespaces is not None:
            await self.close(SIGNED_OUT)
            return
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        try:
            since = int(query.get("index", ["0"])[0])
            topics = parse_topics(query.get("topics", [""])[0])
        except ValueError as problem:
            await self.close(BAD_REQUEST, str(problem))
            return
        if not HUB.is_wired:
            await self.close(NOT_READY)
            return
        self._tasks = [asyncio.create_task(self._write(), name="live writer")]
        DOORKEEPER.watch(
            self, entitlement_of(self.scope["user"], self.scope.get("session"), namespaces)
        )
        for kind, key in topics:
            await self._follow(kind, key, namespaces, since)

    async def _follow(
        self, kind: str, key: str, namespaces: frozenset[str] | None, since: int
    ) -> None:
        def permitted(reader: StateReader) -> Any:
            return authorise(kind, key, namespaces, reader)

        try:
            subscription = await HUB.read(permitted)
        except BadTopic as problem:
            topic = f"{kind}:{key}" if key else kind
            self.deliver(encoded(Refused(topic=topic, reason=str(problem))))
            return
        await HUB.join(self, subscription, since)

    def deliver(self, text: str) -> None:
        """Queue a message; a page that has not reported what it saw is dropped to resync."""
        if self._outbox.qsize() + self._sent - self._seen > MAX_UNSEEN:
            while not self._outbox.empty():
                self._outbox.get_nowait()
            self._outbox.put_nowait("")
            return
        self._outbox.put_nowait(text)

    async def _write(self) -> None:
        while True:
            text = await self._outbox.get()
            if not text:
                await self.close(TOO_SLOW)
                return
            self._sent += 1
            await self.send(text_data=text)

    async def sign_out(self) -> None:
        """Whoever opened this page may not follow it any more."""
        await self.close(SIGNED_OUT)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page only ever says how many messages it has seen."""
        if text_data and text_data.isdecimal() and len(text_data) < 12:
            self._seen = min(int(text_data), self._sent)

    async def disconnect(self, code: int) -> None:
        """Leave every group and end the helpers of this socket."""
        DOORKEEPER.forget(self)
        own = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in own:
            task.cancel()
        await HUB.leave(self)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*own, return_exceptions=True)
