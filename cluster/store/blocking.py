"""Waiting for a change without holding a thread: by table, or by any id that names a row's part.

In: what to watch, and the index already seen. Out: a return when something of it may have changed.
The caller reads again; a wake-up for nothing is allowed, a missed one is not.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from enum import IntEnum
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cluster.store.following import Follower, the_follower
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.job import Job
from scheduler.structs.scaling import ScalingEvent

#: Changes of this many newest frames are remembered for waiters that come a little late.
_REMEMBERED = 500


class Watch(NamedTuple):
    """Any change of a topic; with a key, of the rows that have this id among theirs.

    An allocation is found by its own id and those of its job, node, evaluation and deployment, an
    evaluation by its job and deployment too, a version and a scaling event by their job.
    `Watch(Topic.NODE_USE, node_id)` also wakes on every change of an allocation of the node.
    """

    topic: str
    key: str = ""


class Woken(IntEnum):
    """What ended a wait; false where nothing did but the time."""

    NOT = 0
    CHANGED = 1
    #: Frames are missing, as after a restore: anything may be another.
    LOST = 2


async def wait_for(
    watches: Iterable[Watch],
    *,
    after: int,
    timeout: float,  # noqa: ASYNC109 - running out of time is an outcome here, not an error
) -> Woken:
    """Wait until something watched changed after index `after`, `timeout` seconds at most."""
    async with _the_waiters().waiting(frozenset(watches), after) as waiter:
        # Not `asyncio.wait_for`, which on Python 3.11 may lose the cancellation of a caller.
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await waiter.news.wait()
        return waiter.woken


class Waiter:
    """One who waits."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.woken = Woken.NOT

    def wake(self, by: Woken) -> None:
        self.woken = max(self.woken, by)
        self.news.set()


class Waiters:
    """The waiters of one event loop, found by what they watch."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._waiters: dict[Watch, set[Waiter]] = {}
        self._recent: deque[tuple[int, frozenset[Watch]]] = deque(maxlen=_REMEMBERED)
        self._complete_after = 0

    @asynccontextmanager
    async def waiting(self, watches: frozenset[Watch], after: int) -> AsyncIterator[Waiter]:
        """Somebody who is woken when something watched changes, or has changed since `after`."""
        waiter = Waiter()
        for watch in watches:
            self._waiters.setdefault(watch, set()).add(waiter)
        try:
            async with self._follower.listening(self._take) as started:
                self._forget_before(started)
                if self._may_have_missed(watches, after):
                    waiter.wake(Woken.CHANGED)
                yield waiter
        finally:
            for watch in watches:
                waiters = self._waiters[watch]
                waiters.discard(waiter)
                if not waiters:
                    del self._waiters[watch]

    def _take(self, frame: EventFrame | None) -> None:
        if frame is None:
            self._recent.clear()
            self._complete_after = self._follower.index
            woken, by = list(self._waiters), Woken.LOST
        else:
            changes = frozenset(watch for event in frame.events for watch in watches_of(event))
            if len(self._recent) == _REMEMBERED:
                self._complete_after = self._recent[0][0]
            self._recent.append((frame.index, changes))
            woken, by = [watch for watch in changes if watch in self._waiters], Woken.CHANGED
        for watch in woken:
            for waiter in self._waiters[watch]:
                waiter.wake(by)

    def _forget_before(self, started: int) -> None:
        """Frames between two runs of the follower were not seen here."""
        newest = self._recent[-1][0] if self._recent else self._complete_after
        if newest != started:
            self._recent.clear()
            self._complete_after = started

    def _may_have_missed(self, watches: frozenset[Watch], after: int) -> bool:
        if after < self._complete_after:
            return True
        return any(index > after and watches & changes for index, changes in self._recent)


def watches_of(event: StateEvent) -> Iterator[Watch]:
    """Everything one changed row wakes."""
    yield Watch(event.topic)
    yield Watch(event.topic, event.key)
    value = event.value
    if isinstance(value, Allocation):
        for key in (value.job_id, value.node_id, value.eval_id, value.deployment_id):
            yield Watch(event.topic, key)
        yield Watch(Topic.NODE_USE, value.node_id)
    elif isinstance(value, Evaluation):
        yield Watch(event.topic, value.job_id)
        yield Watch(event.topic, value.deployment_id)
    elif isinstance(value, Deployment | ScalingEvent):
        yield Watch(event.topic, value.job_id)
    elif isinstance(value, Job):
        # A version's key names the version too.
        yield Watch(event.topic, value.id)
    elif isinstance(value, LifecycleStep):
        yield Watch(event.topic, value.eval_id)


_waiters_of: WeakKeyDictionary[asyncio.AbstractEventLoop, Waiters] = WeakKeyDictionary()


def _the_waiters() -> Waiters:
    loop = asyncio.get_running_loop()
    waiters = _waiters_of.get(loop)
    if waiters is None:
        waiters = _waiters_of[loop] = Waiters(the_follower())
    return waiters
