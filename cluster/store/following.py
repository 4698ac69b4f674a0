"""Following the record within one process: every committed frame, in order, on the event loop.

In: hints by Redis, and the log asked every 250 ms, since hints may be lost. Out: frames to
listeners. A listener that falls behind the log is told to load everything again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

import redis
from django.conf import settings

from cluster.redis_line import RedisLine
from cluster.store.access import StoreAccess, the_store
from cluster.store.hints import CHANNEL
from scheduler.errors import StaleSnapshot
from scheduler.state.events import EventFrame

logger = logging.getLogger(__name__)

POLL_S = 0.25
#: Starting costs a read and a subscription, so a follower nobody listens to stays this long.
LINGER_S = 5.0
_PAUSE_AFTER_FAILURE_S = 1.0
_FRAMES_AT_ONCE = 200

#: Called with each frame; with None when frames are missing and everything must be loaded again.
Listener = Callable[[EventFrame | None], None]


class Follower:
    """Follows one store on one event loop, as long as anyone listens."""

    def __init__(self, store: StoreAccess, redis_url: str) -> None:
        self._store = store
        self._redis_url = redis_url
        #: How often each one listens; it hears every frame once.
        self._listeners: Counter[Listener] = Counter()
        self._hinted = asyncio.Event()
        self._starting = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._users = 0
        #: Stops the tasks when nobody has come back by then.
        self._stopping: asyncio.TimerHandle | None = None
        self._index = 0

    @property
    def index(self) -> int:
        """Of the newest frame that was handed out."""
        return self._index

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[int]:
        """Hand frames to `listener` while the block runs; yields the index they start after.

        Whoever has seen an older index reads what lies between from the log.
        """
        await self._begin()
        self._listeners[listener] += 1
        try:
            yield self._index
        finally:
            self._listeners[listener] -= 1
            if not self._listeners[listener]:
                del self._listeners[listener]
            self._leave()

    async def _begin(self) -> None:
        self._users += 1
        if self._stopping is not None:
            self._stopping.cancel()
        try:
            await self._start()
        except BaseException:
            self._leave()
            raise

    async def _start(self) -> None:
        async with self._starting:
            if not self._tasks:
                self._index = await self._store.aread(lambda reader: reader.index)
                self._tasks = [
                    asyncio.create_task(self._follow()),
                    asyncio.create_task(self._hear()),
                ]

    def _leave(self) -> None:
        """The last one leaves the light on for a moment: waits tend to follow each other."""
        self._users -= 1
        if not self._users:
            loop = asyncio.get_running_loop()
            self._stopping = loop.call_later(LINGER_S, self._stop)

    def _stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                frames = await self._store.aframes_since(self._index, _FRAMES_AT_ONCE)
            except StaleSnapshot:
                self._index = await self._store.aread(lambda reader: reader.index)
                self._tell(None)
                continue
            except Exception:
                logger.exception("action=follow index=%s", self._index)
                await asyncio.sleep(_PAUSE_AFTER_FAILURE_S)
                continue
            for frame in frames:
                self._index = frame.index
                self._tell(frame)
            if len(frames) < _FRAMES_AT_ONCE:
                # Not `wait_for`: on Python 3.11 it loses a cancellation that meets a hint.
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._hinted.wait()
                self._hinted.clear()

    def _tell(self, frame: EventFrame | None) -> None:
        for listener in tuple(self._listeners):
            listener(frame)

    async def _hear(self) -> None:
        """Wake the other task as soon as a writer says there is something."""
        while True:
            line = RedisLine(self._redis_url, patience_s=1.0, connect_s=1.0)
            try:
                await asyncio.to_thread(line.send, ("SUBSCRIBE", CHANNEL))
                await self._listen_on(line)
            except redis.RedisError as error:
                logger.debug("action=hear %s", error)
            finally:
                line.close()
            await asyncio.sleep(_PAUSE_AFTER_FAILURE_S)

    async def _listen_on(self, line: RedisLine) -> None:
        """Until the connection breaks; whatever it says is a hint."""
        loop, gone, number = asyncio.get_running_loop(), asyncio.Event(), line.fileno()

        def take() -> None:
            try:
                line.arrived()
            except redis.RedisError:
                loop.remove_reader(number)
                gone.set()
            self._hinted.set()

        loop.add_reader(number, take)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(number)


_followers: WeakKeyDictionary[asyncio.AbstractEventLoop, Follower] = WeakKeyDictionary()


def the_follower() -> Follower:
    """The follower of this process's store on the running event loop."""
    loop = asyncio.get_running_loop()
    follower = _followers.get(loop)
    if follower is None:
        follower = _followers[loop] = Follower(the_store(), settings.BIVOUAC_REDIS_URL)
    return follower
