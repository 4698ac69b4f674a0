"""One follower of the event log per process, one feed per group, one text per flush.

In: event frames from a FrameSource, step hints, viewers who join and leave. Out: messages put into
the viewers' outboxes. A short burst of changes goes out as it comes, a long one at the rate that
`pace.py` allows. Nothing is queried per viewer after its join, and nothing needs Redis: hints may
be lost, frames come from the record.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from enum import Enum
from typing import Protocol, TypeVar

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import Feed
from dashboard.live.groups import Group, PageSocket
from dashboard.live.messages import Frame, Message, Reload, UpToDate, encoded
from dashboard.live.pace import ANIMATION_FRAME, FlushAllowance
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.errors import StaleSnapshot
from scheduler.ports import Clock
from scheduler.state.events import EventFrame
from scheduler.structs.evaluation import LifecycleStep

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Seconds that a reading waits for the commits that follow, where its viewers were told something
#: without: one run of an evaluation is a handful, and a reading between them would hold them up.
READING_DELAY = 0.03
#: Seconds after which viewers are told the index although nothing they follow changed.
BEAT_INTERVAL = 1.0
#: So much later a beat goes out although a feed holds news back: a longer silence means to pages
#: that the line is dead.
BEAT_GRACE = 0.5
#: Frames kept in memory for viewers who come back.
RECENT_FRAMES = 2000
#: A viewer further behind than this loads the page again.
MAX_REPLAY = 20_000
_BATCH = 500
_SECOND = 1_000_000_000
#: Seconds to wait for a feed whose moment has come: no feed can keep the loop busy.
_SHORTEST = 0.001


#: Called with each frame; with None when frames are missing and everything must be read again.
Listener = Callable[[EventFrame | None], None]


class FrameSource(Protocol):
    """The record, as the hub needs it; `dashboard.live.source` joins it from the store's parts."""

    def listening(self, listener: Listener) -> AbstractAsyncContextManager[int]:
        """Hand every further frame to `listener`; yields the index they start after."""

    async def frames_since(self, index: int, limit: int) -> Sequence[EventFrame]:
        """Frames above `index`, in order. Raises StaleSnapshot when they were trimmed."""

    async def read(self, work: Callable[[RecordReader], Result]) -> Result:
        """Run `work` on one consistent reader, off the event loop."""


class Work(Enum):
    """What one look at the news cost."""

    NONE = "there was nothing"
    LOOKED = "there was something that nobody is shown"
    FLUSHED = "somebody was told, or the record was read to find out"


class Hub:
    """Brings what is committed to everybody who looks. Runs while anybody does."""

    def __init__(self, feed_for: Callable[[Subscription], Feed] = feed_for) -> None:
        """`wire` must be called before the first viewer joins."""
        self._feed_for = feed_for
        self.groups: dict[Subscription, Group] = {}
        self.index = 0
        self._source: FrameSource | None = None
        self._clock: Clock | None = None
        self._recent: deque[EventFrame] = deque(maxlen=RECENT_FRAMES)
        self._inbox: list[EventFrame | None] = []
        self._hints: list[LifecycleStep] = []
        self._news = asyncio.Event()
        self._following = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._beat_due = 0.0
        self._pace = FlushAllowance()
        #: When feeds that must read may do so; None when none must.
        self._reading_due: float | None = None
        #: When the newest commit was made that a reading has still to tell; 0 for none.
        self._untold_at = 0

    def wire(self, source: FrameSource, clock: Clock) -> None:
        """Name the record and the clock (the composition root does)."""
        self._source = source
        self._clock = clock

    @property
    def is_wired(self) -> bool:
        """Whether viewers can be served."""
        return self._source is not None

    def publish(self, steps: Sequence[LifecycleStep]) -> None:
        """Take step hints; call on the event loop. Without viewers they are forgotten."""
        if self.groups:
            self._hints.extend(steps)
            self._news.set()

    def _hear(self, frame: EventFrame | None) -> None:
        self._inbox.append(frame)
        self._news.set()

    async def read(self, work: Callable[[RecordReader], Result]) -> Result:
        """Run `work` on the record's newest state, off the event loop."""
        return await self._frames().read(work)

    async def join(self, viewer: PageSocket, subscription: Subscription, since: int) -> None:
        """Let `viewer` follow, and bring it from index `since` to now.

        Everything delivered later continues exactly where this ends.
        """
        async with self._lock:
            await self._start()
            group = self.groups.get(subscription)
            if group is None:
                group = await self._opened(subscription)
            if since > self.index:
                # Its page was read ahead of us: what is old here may be news to it.
                group.feed.forget_told()
            await self._catch_up(viewer, group, since)
            group.viewers.add(viewer)

    async def leave(self, viewer: PageSocket) -> None:
        """Forget a viewer, and the feeds nobody looks at any more."""
        async with self._lock:
            for subscription, group in tuple(self.groups.items()):
                group.viewers.discard(viewer)
                if not group.viewers:
                    del self.groups[subscription]
            if not self.groups:
                await self._stop()

    async def _start(self) -> None:
        if self._task is None:
            self._recent.clear()
            self._inbox.clear()
            listening = self._frames().listening(self._hear)
            self.index = await self._following.enter_async_context(listening)
            self._task = asyncio.create_task(self._run(), name="live hub")

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._following.aclose()

    async def _opened(self, subscription: Subscription) -> Group:
        feed = self._feed_for(subscription)
        group = Group(feed, self.index)
        await self._frames().read(group.load)
        self.groups[subscription] = group
        return group

    async def _catch_up(self, viewer: PageSocket, group: Group, since: int) -> None:
        known = group.returning(since)
        if known is not None:
            viewer.deliver(known)
            return
        frames = await self._between(since) if group.feed.needs_frames else []
        if frames is None:
            viewer.deliver(encoded(Reload(reason="too far behind", index=self.index)))
            return
        now = self.now()
        touched = [
            frame for frame in frames if any(group.feed.concerns(event) for event in frame.events)
        ]
        pieces = group.standing(now)
        if touched:
            pieces = await self._frames().read(
                lambda reader: (
                    group.replay(touched, reader, now) + group.whole(reader, self.index, now)
                )
            )
        topic = group.feed.subscription.topic
        at = frames[-1].at if frames else now
        text = encoded(
            Frame(topic=topic, since=since, index=self.index, at=_ms(at), pieces=pieces)
        )
        group.remember_return(since, text)
        viewer.deliver(text)

    async def _between(self, since: int) -> list[EventFrame] | None:
        """The frames above `since` up to the hub's index; None when too many or trimmed."""
        if since >= self.index:
            return []
        if self.index - since > MAX_REPLAY:
            return None
        if self._recent and self._recent[0].index <= since + 1:
            return [frame for frame in self._recent if frame.index > since]
        frames: list[EventFrame] = []
        position = since
        try:
            while position < self.index:
                batch = await self._frames().frames_since(position, _BATCH)
                if not batch:
                    break
                frames += [frame for frame in batch if frame.index <= self.index]
                position = batch[-1].index
        except StaleSnapshot:
            return None
        self._keep(frames)
        return frames

    def _keep(self, frames: Sequence[EventFrame]) -> None:
        """Who comes back after a restart is rarely alone: the next one finds these in memory."""
        following = self._recent[0].index if self._recent else self.index + 1
        older = [frame for frame in frames if frame.index < following]
        if older and older[-1].index == following - 1:
            self._recent = deque([*older, *self._recent], maxlen=RECENT_FRAMES)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            async with self._lock:
                did = await self._advance_or_reload()
            if did is Work.NONE:
                await self._idle()
                continue
            pause = ANIMATION_FRAME
            if did is Work.FLUSHED:
                pause = self._pace.pause_after(started, len(self._viewers()))
            await asyncio.sleep(max(0.0, started + pause - loop.time()))

    async def _idle(self) -> None:
        """Wait for news, the next reading, a feed that holds news back, or the next beat."""
        patience = BEAT_INTERVAL
        if self._reading_due is not None:
            patience = max(0.0, self._reading_due - asyncio.get_running_loop().time())
        # After the last change of a burst no news comes that would wake us for it.
        moments = self._asked_for()
        if moments:
            patience = min(patience, max(_SHORTEST, (min(moments) - self.now()) / _SECOND))
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._news.wait()

    def _asked_for(self) -> list[int]:
        """When feeds want to be asked that hold news back."""
        moments = [group.feed.asks_at for group in self.groups.values()]
        return [moment for moment in moments if moment is not None]

    async def _advance_or_reload(self) -> Work:
        """A fault of the record must not leave pages silent: they load again, the hub goes on."""
        try:
            return await self._advance()
        except Exception:
            logger.exception("action=live-flush-failed index=%d", self.index)
            self._tell(Reload(reason="a change could not be shown", index=self.index))
            return Work.FLUSHED

    async def _advance(self) -> Work:
        """Take what is new and flush it."""
        self._news.clear()
        heard, self._inbox = self._inbox, []
        hints, self._hints = self._hints, []
        frames = [frame for frame in heard if frame is not None and frame.index > self.index]
        if None in heard:
            self.index = await self._begin_anew([*self.groups], "events were trimmed meanwhile")
            self._recent.clear()
            return Work.FLUSHED
        for frame in frames:
            for group in self.groups.values():
                group.observe(frame)
        self._recent.extend(frames)
        hinted = self._take_hints(hints)
        now = self.now()
        if not frames and self._reading_due is None and not self._asked_for():
            self._untold_at = 0
        # All are asked: to be due is also how a feed that waited begins.
        due = [group.feed.is_due(now) for group in self.groups.values()]
        did = Work.NONE
        if frames or hinted or any(due):
            did = self._flush(frames)
        if lost := [each for each, group in self.groups.items() if group.is_lost]:
            await self._begin_anew(lost, "a change could not be shown")
            did = Work.FLUSHED
        if await self._read_what_is_due():
            did = Work.FLUSHED
        self._beat()
        return did

    def _take_hints(self, hints: Sequence[LifecycleStep]) -> bool:
        """Whether any feed shows a step it did not know."""
        news = [group.feed.observe_step(step) for step in hints for group in self.groups.values()]
        return any(news)

    def _flush(self, frames: Sequence[EventFrame]) -> Work:
        """Tell what needs no reader; where the rest does, that is ahead of the frame."""
        now = self.now()
        if frames:
            self.index, self._untold_at = frames[-1].index, frames[-1].at
        told = False
        for group in self.groups.values():
            is_asking, has_told = group.feed.needs_reader, False
            if group.feed.is_light:
                group.render(None, now)
                at = _ms(self._untold_at if frames else now)
                has_told = group.send_rendered(self.index, at, is_hint=is_asking or not frames)
            if is_asking:
                self._read_within(READING_DELAY if has_told else 0.0)
            told |= has_told
        return Work.FLUSHED if told else Work.LOOKED

    def _read_within(self, seconds: float) -> None:
        due = asyncio.get_running_loop().time() + seconds
        self._reading_due = due if self._reading_due is None else min(due, self._reading_due)

    async def _read_what_is_due(self) -> bool:
        """Read once for all feeds that ask, when the burst that made them ask is over."""
        due = self._reading_due
        if due is None or asyncio.get_running_loop().time() < due:
            return False
        self._reading_due = None
        asking = [group for group in self.groups.values() if group.feed.needs_reader]
        now = self.now()

        def render_asking(reader: RecordReader) -> None:
            for group in asking:
                group.render(reader, now)

        if asking:
            await self._frames().read(render_asking)
        # What time alone has changed is no older than its reading.
        at = self._untold_at or now
        if not self._asked_for():
            self._untold_at = 0
        for group in asking:
            group.send_rendered(self.index, _ms(at), is_hint=False)
        return bool(asking)

    def _beat(self) -> None:
        loop_time = asyncio.get_running_loop().time()
        # A beat says that everything up to the index was told.
        if loop_time < self._beat_due or self._reading_due is not None:
            return
        if self._asked_for() and loop_time < self._beat_due + BEAT_GRACE:
            return
        self._beat_due = loop_time + BEAT_INTERVAL
        self._tell(UpToDate(index=self.index, at=_ms(self.now())))

    async def _begin_anew(self, lost: Sequence[Subscription], reason: str) -> int:
        """Read these feeds anew, at the index returned; their viewers load again."""
        feeds = {each: self._feed_for(each) for each in lost}

        def load(reader: RecordReader) -> int:
            for feed in feeds.values():
                Group(feed, 0).load(reader)
            return reader.index

        index = await self._frames().read(load)
        for subscription, feed in feeds.items():
            self.groups[subscription] = self.groups[subscription].begun_anew(feed, self.index)
        self._tell(Reload(reason=reason, index=index), [self.groups[each] for each in lost])
        return index

    def _tell(self, message: Message, groups: Collection[Group] = ()) -> None:
        """Tell the viewers of these groups, or of all: once each, in however many they are."""
        text = encoded(message)
        for viewer in self._viewers(groups):
            viewer.deliver(text)

    def _viewers(self, groups: Collection[Group] = ()) -> set[PageSocket]:
        return {viewer for group in groups or self.groups.values() for viewer in group.viewers}

    def _frames(self) -> FrameSource:
        assert self._source is not None, "wire() comes before the first viewer"
        return self._source

    def now(self) -> int:
        """By the clock that `wire` named."""
        assert self._clock is not None, "wire() comes before the first viewer"
        return self._clock.now()


def _ms(instant: int) -> int:
    return instant // 1_000_000


#: The hub of this process.
HUB = Hub()
