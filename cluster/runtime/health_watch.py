"""Looks at every part of the cluster from a web process, each second, and notes what it finds.

In: the record's leases, Redis, the processes behind its queues. Out: notes in `HEALTH`. The record
itself is noted by the sign of life, which writes to it. Nothing here mends anything.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import redis.asyncio
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from cluster.celery import app
from cluster.runtime.clock import SystemClock
from cluster.store.access import the_store
from cluster.store.faults import reason_of
from cluster.store.health import APPLIER, HEALTH, LEADER, REDIS, WORKERS, Health
from cluster.store.leases import TAKE_OVER_AFTER_S, LeaseState, read_lease

log = logging.getLogger(__name__)

Look = Callable[[], Awaitable[None]]

LOOK_EVERY_S = 1.0
#: A leader renews each second; the next one may take over after this.
_LEASE_PATIENCE_S = TAKE_OVER_AFTER_S + 2.0
_REDIS_PATIENCE_S = 3.0
#: Processes behind queues are asked this often, and given so long to answer.
_ASK_EVERY_S = 3.0
_ANSWER_S = 1.0
_PROCESS_PATIENCE_S = 3 * _ASK_EVERY_S
#: Names of the processes that answer, before the `@`.
_ROLES = {"workers": WORKERS, "applier": APPLIER}


class HealthWatch:
    """Runs on the loop of a web process from `begin` to `end`."""

    def __init__(self, redis_url: str, health: Health = HEALTH) -> None:
        self._redis_url = redis_url
        self.health = health
        self._clock = SystemClock()
        self._tasks: list[asyncio.Task[None]] = []
        #: Asking blocks a thread for as long as answers may come.
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._lease: LeaseState | None = None
        #: When each part was last seen well.
        self._well_at: dict[str, float] = {}

    def begin(self) -> None:
        """Watch, on the running loop."""
        self.health.expect(now=self._clock.now())
        began = self._clock.monotonic()
        self._well_at = dict.fromkeys((LEADER, REDIS, WORKERS, APPLIER), began)
        self._tasks = [
            asyncio.create_task(self._repeat(look, pause), name=f"health {look.__name__}")
            for look, pause in (
                (self.look_at_leader, LOOK_EVERY_S),
                (self.look_at_redis, LOOK_EVERY_S),
                (self.look_at_processes, _ASK_EVERY_S),
            )
        ]

    async def end(self) -> None:
        """Watch no more."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._asker.shutdown(wait=False, cancel_futures=True)
        self.health.forget()

    async def look_at_leader(self) -> None:
        """Whether somebody holds the leader's lease and renews it."""
        try:
            lease = await the_store().aread_call(lambda _store: read_lease("leader"))
        except Exception as error:
            reason = reason_of(error)
            if not reason:
                raise
            self._ill(LEADER, f"cannot be seen: {reason}", _LEASE_PATIENCE_S)
            return
        if lease is not None and lease.holder and lease != self._lease:
            # The first look cannot tell whether it moves.
            if self._lease is not None:
                self._well(LEADER)
            self._lease = lease
            return
        is_free = lease is None or not lease.holder
        fault = "no process leads" if is_free else "the process that leads gives no sign"
        self._ill(LEADER, fault, _LEASE_PATIENCE_S)

    async def look_at_redis(self) -> None:
        """Whether Redis answers."""
        client = redis.asyncio.Redis.from_url(
            self._redis_url, socket_timeout=1, socket_connect_timeout=1
        )
        try:
            async with client:
                await client.ping()
        except (RedisError, OSError):
            self._ill(REDIS, "does not answer", _REDIS_PATIENCE_S)
        else:
            self._well(REDIS)

    async def look_at_processes(self) -> None:
        """Whether workers and the applier answer; they sleep while there is nothing to do."""
        asked = asyncio.get_running_loop().run_in_executor(self._asker, _who_answers)
        try:
            answering = await asked
        except (RedisError, OSError, KombuError):
            # Without Redis nobody can be asked.
            answering = set()
        for role, part in _ROLES.items():
            if role in answering:
                self._well(part)
            else:
                self._ill(part, "no process answers", _PROCESS_PATIENCE_S)

    def _well(self, name: str) -> None:
        moment = self._clock.moment()
        self._well_at[name] = moment.monotonic
        self.health.note(name, "", moment)

    def _ill(self, name: str, fault: str, patience_s: float) -> None:
        """Only after some time: processes are replaced within seconds, which is no fault."""
        moment = self._clock.moment()
        if moment.monotonic - self._well_at[name] >= patience_s:
            self.health.note(name, fault, moment)

    async def _repeat(self, look: Look, pause_s: float) -> None:
        while True:
            try:
                await look()
            except Exception:
                # What cannot be looked at stands as it was last seen; the next look is soon.
                log.exception("action=look_at_health")
            await asyncio.sleep(pause_s)


def _who_answers() -> set[str]:
    """The roles of all processes that answer within `_ANSWER_S`."""
    connecting = app.connection_for_write(
        connect_timeout=_ANSWER_S, transport_options={"socket_timeout": 2 * _ANSWER_S}
    )
    with connecting as connection:
        answers = app.control.ping(timeout=_ANSWER_S, connection=connection)
    return {name.partition("@")[0] for answer in answers for name in answer}
