"""The sign of life of a web process: a row of its own that it rewrites each second.

By it the leader knows that nodes could be heard. It is written by the loop that serves the nodes
and by the thread that writes their beats, so where these stand still no sign is given.
"""

import asyncio
import logging

from cluster.agent.heartbeats import BEATS
from cluster.runtime.clock import SystemClock
from cluster.runtime.health_watch import HealthWatch
from cluster.runtime.process_name import process_name
from cluster.runtime.serving import once_serving
from cluster.store.access import the_store
from cluster.store.beats import write_sign
from cluster.store.faults import reason_of
from cluster.store.health import RECORD
from scheduler.watchers.listeners import SIGN_INTERVAL

log = logging.getLogger(__name__)


class SignOfLife:
    """Given from the moment the process serves until it ends."""

    def __init__(self, watch: HealthWatch | None = None) -> None:
        #: Begins and ends with the signs, which say how the record stands.
        self._watch = watch
        self._name = process_name("web")
        self._clock = SystemClock()
        self._task: asyncio.Task[None] | None = None

    def begin_with_server(self) -> None:
        """Begin once the server's loop runs; where no server is loading us, nothing begins."""
        once_serving(self.begin)

    def begin(self) -> None:
        """Begin, on the running loop."""
        if self._watch is not None:
            self._watch.begin()
        self._task = asyncio.get_running_loop().create_task(self._give(), name="sign of life")

    async def end(self) -> None:
        """Give no more."""
        task, self._task = self._task, None
        if self._watch is not None:
            await self._watch.end()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _note(self, fault: str) -> None:
        if self._watch is not None:
            self._watch.health.note(RECORD, fault, self._clock.moment())

    async def _give(self) -> None:
        signs = 0
        while True:
            signs += 1
            try:
                BEATS.node_count = await the_store().awrite_call(
                    write_sign, self._name, signs, now=self._clock.now()
                )
            except Exception as error:
                # The next one says as much; until then beats could not be written either.
                reason = reason_of(error)
                log.warning(
                    "action=sign_of_life not written: %s", reason or error, exc_info=not reason
                )
                self._note(reason or "it takes no signs of life")
            else:
                self._note("")
            await asyncio.sleep(SIGN_INTERVAL)
