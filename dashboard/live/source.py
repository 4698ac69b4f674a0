"""The record as the hub needs it: the follower for frames, the store for everything else."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from cluster.store.access import StoreAccess
from cluster.store.following import the_follower
from cluster.store.ports import RecordReader
from dashboard.live.hub import FrameSource, Listener
from scheduler.state.events import EventFrame

Result = TypeVar("Result")


class StoreFrames(FrameSource):
    """Frames come from the follower without a query of our own."""

    def __init__(self, store: StoreAccess) -> None:
        self._store = store

    def listening(self, listener: Listener) -> AbstractAsyncContextManager[int]:
        """Hand every further frame to `listener`; yields the index they start after."""
        return the_follower().listening(listener)

    async def frames_since(self, index: int, limit: int) -> Sequence[EventFrame]:
        """Frames above `index`, from the log."""
        return await self._store.aframes_since(index, limit)

    async def read(self, work: Callable[[RecordReader], Result]) -> Result:
        """Run `work` on a reader thread, at one index."""
        return await self._store.aread(work)
