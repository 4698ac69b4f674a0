"""Work that the start of a task waits for, and that can be broken off by name."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from cluster.agent.drivers.driver import StartError
from cluster.agent.restarts import Ending

Result = TypeVar("Result")
#: An allocation and a task of it.
Who = tuple[str, str]


class StartAborted(StartError):
    """The task is not wanted any more."""

    def as_ending(self) -> Ending:
        return Ending(aborted=True)


class Abortable:
    """At most one piece of work for each task of a node."""

    def __init__(self) -> None:
        self._running: dict[Who, asyncio.Task[object]] = {}

    async def run(self, who: Who, work: Coroutine[None, None, Result]) -> Result:
        """Its result. Raises StartAborted after `abort`."""
        task = asyncio.ensure_future(work)
        self._running[who] = task
        try:
            return await task
        except asyncio.CancelledError as canceled:
            if who in self._running:
                raise
            raise StartAborted("the task is to end") from canceled
        finally:
            self._running.pop(who, None)

    def abort(self, who: Who) -> None:
        """Break it off, if anything is done for that task."""
        work = self._running.pop(who, None)
        if work is not None:
            work.cancel()
