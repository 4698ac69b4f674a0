"""A record in memory that a hub can follow, a viewer that keeps what it is told, and a clock."""

import asyncio
import json
from contextlib import asynccontextmanager

from dashboard.panels import FOLLOWED
from scheduler.errors import StaleSnapshot
from tests.memory_record import MemoryRecord
from tests.patience import PATIENCE_S


class MemoryFrames:
    """The hub's FrameSource over a record in memory; every use of the record is counted."""

    def __init__(self):
        self.store = MemoryRecord()
        self.listeners = []
        self.reads = 0
        self.trimmed_before = 0

    @asynccontextmanager
    async def listening(self, listener):
        self.listeners.append(listener)
        yield self.store.index
        self.listeners.remove(listener)

    async def frames_since(self, index, limit):
        if index < self.trimmed_before:
            raise StaleSnapshot("trimmed")
        return self.store.frames_since(index, limit)

    async def read(self, work):
        self.reads += 1
        return self.store.read(work)

    def write(self, kind, work, *, now):
        before = self.store.index
        self.store.write(kind, work, now=now)
        for frame in self.store.frames_since(before):
            for listener in self.listeners:
                listener(frame)


class Page:
    """A viewer that keeps every message."""

    def __init__(self):
        self.messages = []
        self._told = asyncio.Event()

    def deliver(self, text):
        self.messages.append(json.loads(text))
        self._told.set()

    async def told(self, kind, count=1):
        """The first `count` messages of a kind, waiting for them."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := [item for item in self.messages if item["type"] == kind]) < count:
                self._told.clear()
                await self._told.wait()
        return found[:count]


def bare_feed(subscription):
    """The feed of a topic without its panels, which ask a database."""
    return FOLLOWED[subscription.kind].feed(subscription)
