"""Takes wishes for scenarios and lets them happen, several at a time, each once at a time.

In: wishes off a list in Redis. Out: replies, and a sign that it lives. When Redis is away it tries
again; what it lets happen goes on.
"""

import asyncio
import contextlib
import logging

import msgspec
import redis
import redis.asyncio
from django.conf import settings

from cluster.agent.means import Means
from cluster.demo.asking import (
    PRESENCE,
    PRESENCE_EXPIRY_S,
    REPLY_EXPIRY_S,
    REPLY_PREFIX,
    WISHES,
    Presence,
    Reply,
    Wish,
)
from cluster.demo.scenarios import BY_NAME
from cluster.demo.scenes import SCENES
from cluster.demo.stage import DemoStage
from cluster.fleet.fleet import Fleet
from cluster.store.access import StoreAccess
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import Caller, CallerKind

log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_CLEAR = "clear"


class Director:
    """The author of what happens in a demo."""

    def __init__(self, store: StoreAccess, fleet: Fleet, means: Means, redis_url: str) -> None:
        self._store = store
        self._fleet = fleet
        self._means = means
        self._redis_url = redis_url
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failed = ""

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until told to stop; then nothing goes on."""
        try:
            while not stopping.is_set():
                try:
                    await self._serve(stopping)
                except redis.RedisError as error:
                    log.warning("action=demo_wishes %s", error)
                    await asyncio.sleep(_PAUSE_S)
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _serve(self, stopping: asyncio.Event) -> None:
        async with redis.asyncio.Redis.from_url(self._redis_url) as connection:
            while not stopping.is_set():
                here = Presence(
                    running=tuple(self._running),
                    failed=self._failed,
                    address=settings.BIVOUAC_PUBLIC_URL,
                )
                await connection.set(PRESENCE, msgspec.msgpack.encode(here), ex=PRESENCE_EXPIRY_S)
                popped = await connection.blpop([WISHES], timeout=1)
                if popped is None:
                    continue
                wish = _wish_in(popped[1])
                if wish is not None:
                    key, reply = REPLY_PREFIX + wish.id, self.begin(wish)
                    await connection.rpush(key, msgspec.msgpack.encode(reply))
                    await connection.expire(key, REPLY_EXPIRY_S)

    def begin(self, wish: Wish) -> Reply:
        """Let a scenario begin, unless it is under way."""
        scenario = BY_NAME.get(wish.name)
        if scenario is None:
            names = ", ".join(BY_NAME)
            return Reply(
                has_begun=False, text=f"There is no scenario {wish.name!r}. There are: {names}."
            )
        if wish.name in self._running:
            return Reply(has_begun=False, text=f"“{scenario.title}” is still under way.")
        if _CLEAR in self._running:
            return Reply(
                has_begun=False, text="The demo is being cleared up. Try again when that is done."
            )
        if wish.name == _CLEAR:
            for task in self._running.values():
                task.cancel()
        name = f"the demo, for {wish.by}" if wish.by else "the demo"
        by = Caller(kind=CallerKind.COMMAND, name=name, access=MANAGEMENT)
        stage = DemoStage(self._store, self._fleet, self._means, by)
        task = asyncio.create_task(self._play(wish.name, stage))
        self._running[wish.name] = task
        return Reply(has_begun=True, text=scenario.shows)

    async def _play(self, name: str, stage: DemoStage) -> None:
        try:
            await SCENES[name](stage)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # Whatever it is, the demo goes on, and says what did not.
            log.exception("action=demo scenario=%s", name)
            self._failed = f"“{BY_NAME[name].title}” stopped: {error}."
        else:
            self._failed = ""
        finally:
            with contextlib.suppress(KeyError):
                del self._running[name]


def _wish_in(raw: bytes | str) -> Wish | None:
    assert isinstance(raw, bytes), "the connection decodes nothing"
    try:
        return msgspec.msgpack.decode(raw, type=Wish)
    except msgspec.DecodeError:
        # Anyone who can write to Redis could have put it there.
        log.warning("action=demo_wishes a message was not understood")
        return None
