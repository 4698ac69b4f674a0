"""The server end of heartbeats: how long until the next one, and writing them down in batches.

In: beats of nodes this web process has authenticated. Out: rows for the leader's timers, at most
one write a second. A node is answered when its beat is written: else a beat that is lost with this
process would be made up for after a whole TTL, when the leader has long missed it.
"""

import asyncio
import logging

from cluster.store.access import the_store
from cluster.store.beats import HeardBeat, write_beats
from scheduler.structs.wire import Duration, Nanoseconds

logger = logging.getLogger(__name__)

SECOND = 1_000_000_000
#: Seconds that beats are gathered for.
BATCH_S = 1.0
#: All nodes together beat at most this often a second.
MAX_BEATS_PER_S = 50


def heartbeat_ttl(node_count: int, *, min_ttl_s: float, chance: float) -> Duration:
    """How long a node may be silent: longer in a large fleet, spread so that beats do not meet."""
    base = max(min_ttl_s, node_count / MAX_BEATS_PER_S)
    return int((base + base * chance) * SECOND)


class BeatBatch:
    """The beats this process has not written yet."""

    def __init__(self) -> None:
        self.node_count = 0
        self._waiting: dict[str, HeardBeat] = {}
        self._used: dict[str, tuple[int, int]] = {}
        self._written: asyncio.Future[bool] | None = None

    def add(
        self,
        node_id: str,
        *,
        now: Nanoseconds,
        ttl: Duration,
        used: tuple[int, int] | None = None,
    ) -> asyncio.Future[bool]:
        """Have this beat written within a second; the future says whether it was."""
        self._waiting[node_id] = HeardBeat(now, ttl)
        self._used.pop(node_id, None)
        if used is not None:
            self._used[node_id] = used
        if self._written is None or self._written.done():
            self._written = asyncio.get_running_loop().create_task(self._write())
        return self._written

    async def flush(self) -> None:
        """Write what waits now."""
        beats, self._waiting = self._waiting, {}
        used, self._used = self._used, {}
        if beats:
            self.node_count = await the_store().awrite_call(write_beats, beats, used)

    async def _write(self) -> bool:
        await asyncio.sleep(BATCH_S)
        # Whoever comes during the write belongs to the next batch.
        self._written = None
        try:
            await self.flush()
        except Exception:
            logger.exception("beats not written")
            return False
        return True


BEATS = BeatBatch()
