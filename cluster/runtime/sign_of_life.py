"""The sign of life of a web process: a row of its own that it rewrites each second.

By it the leader knows that nodes could be heard. It is written by the loop that serves the nodes
and by the thread that writes their beats, so where these stand still no sign is given.
"""

import asyncio
import logging
import sys

from cluster.agent.heartbeats import BEATS
from cluster.runtime.clock import SystemClock
from cluster.runtime.leader_channel import process_name
from cluster.store.access import the_store
from cluster.store.beats import write_sign
from scheduler.watchers.listeners import SIGN_INTERVAL

log = logging.getLogger(__name__)


class SignOfLife:
    """Given from the moment the process serves until it ends."""

    def __init__(self) -> None:
        self._name = process_name("web")
        self._clock = SystemClock()
        self._task: asyncio.Task[None] | None = None

    def begin_with_server(self) -> None:
        """Begin once the server's loop runs; where no server is loading us, nothing begins."""
        # Daphne tells nobody that it serves, but its reactor has been installed by now.
        reactor = sys.modules.get("twisted.internet.reactor")
        if reactor is not None:
            reactor.callLater(0, self.begin)

    def begin(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._give(), name="sign of life")

    async def end(self) -> None:
        """Give no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _give(self) -> None:
        signs = 0
        while True:
            signs += 1
            try:
                BEATS.node_count = await the_store().awrite_call(
                    write_sign, self._name, signs, now=self._clock.now()
                )
            except Exception:
                # The next one says as much; until then beats could not be written either.
                log.exception("action=sign_of_life not written")
            await asyncio.sleep(SIGN_INTERVAL)
