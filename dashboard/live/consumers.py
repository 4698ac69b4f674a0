"""The websocket of a page: who is it, what may it follow, replay since its index, then follow.

In: `?index=N&topics=a,b:1` and the session. Out: the hub's messages, unchanged. A page that reads
too slowly is dropped and comes back with its last index. The Origin check stands before this, in
`cluster.asgi`.
"""

import asyncio
import contextlib
from typing import Any
from urllib.parse import parse_qs

import msgspec
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from cluster.store.health import HEALTH
from cluster.store.ports import RecordReader
from dashboard.languages import known_language
from dashboard.live.entitlement import DOORKEEPER, SocketEnd, entitlement_of
from dashboard.live.hub import HUB
from dashboard.live.messages import TopicRefused, TroubleTold, encoded
from dashboard.live.topics import BadTopic, Looker, authorise, parse_topics
from dashboard.people import person_of
from dashboard.subscription import topic_text
from dashboard.trouble import Trouble, trouble_now
from dashboard.viewer import visible_namespaces

#: Messages sent and not yet reported as seen. A browser reports twice a second.
MAX_UNSEEN = 200

SIGNED_OUT = 4401
RIGHTS_CHANGED = 4403
BAD_REQUEST = 4400
TOO_SLOW = 4408
NOT_READY = 4503


class ClusterConsumer(AsyncWebsocketConsumer):  # type: ignore[misc] # channels has no types
    """One open page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._dropping: asyncio.Task[None] | None = None
        self._sent = 0
        self._seen = 0
        self._language = known_language("")
        #: A page takes a connection on which nothing is told for one without trouble.
        self._told: Trouble | None = None

    async def connect(self) -> None:
        """Accept, so that a refusal can say why, then join each topic in the page's order."""
        await self.accept()
        user = self.scope["user"]
        if not user.is_authenticated or not user.is_active:
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
        HEALTH.listen(self._show_trouble)
        self._show_trouble()
        self._language = known_language(query.get("language", [""])[0])
        person = await database_sync_to_async(person_of)(user)
        access = person.access
        namespaces = await HUB.read(lambda reader: visible_namespaces(reader, access))
        DOORKEEPER.watch(self, entitlement_of(user, self.scope.get("session"), person))
        for kind, key in topics:
            await self._follow(kind, key, Looker(access, namespaces), since)

    async def _follow(self, kind: str, key: str, looker: Looker, since: int) -> None:
        def permitted(reader: RecordReader) -> Any:
            return authorise(kind, key, looker, reader)

        try:
            permission = await HUB.read(permitted)
        except BadTopic as problem:
            self.deliver(encoded(TopicRefused(topic=topic_text(kind, key), reason=str(problem))))
            return
        subscription = msgspec.structs.replace(permission, language=self._language)
        await HUB.join(self, subscription, since)

    def _show_trouble(self) -> None:
        """Tell the page what does not work, when that is not what it was told last."""
        trouble = trouble_now(HUB.now())
        if trouble != self._told:
            self._told = trouble
            words = TroubleTold(**msgspec.structs.asdict(trouble)) if trouble else TroubleTold()
            self.deliver(encoded(words))

    def deliver(self, text: str) -> None:
        """Queue a message; a page that has not reported what it saw is dropped to resync."""
        if self._dropping is not None:
            return
        if self._outbox.qsize() + self._sent - self._seen > MAX_UNSEEN:
            # The writer may be waiting for a page that will never read.
            self._dropping = asyncio.create_task(self._drop(), name="live drop")
            return
        self._outbox.put_nowait(text)

    async def _write(self) -> None:
        while True:
            text = await self._outbox.get()
            self._sent += 1
            await self.send(text_data=text)

    async def _drop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.close(TOO_SLOW)

    async def end(self, ending: SocketEnd) -> None:
        """What this page was opened on does not hold any more."""
        await self.close(SIGNED_OUT if ending is SocketEnd.SIGNED_OUT else RIGHTS_CHANGED)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page only ever says how many messages it has seen."""
        if text_data and text_data.isdecimal() and len(text_data) < 12:
            self._seen = min(int(text_data), self._sent)

    async def disconnect(self, code: int) -> None:
        """Leave every group and end the helpers of this socket."""
        DOORKEEPER.forget(self)
        HEALTH.leave(self._show_trouble)
        all_tasks = [*self._tasks, *([self._dropping] if self._dropping else [])]
        own = [task for task in all_tasks if task is not asyncio.current_task()]
        for task in own:
            task.cancel()
        await HUB.leave(self)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*own, return_exceptions=True)
