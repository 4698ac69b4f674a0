"""The leader process: hold the lease, follow the event log, serve requests, perform commands.

One active, any number standing by. Everything in its memory is rebuilt from the record by the next
holder of the lease; every transaction it writes checks the lease's epoch.
"""

import logging
import threading

from django.conf import settings
from django.db import DatabaseError

from cluster.operations.leader_commands import CommandRunner, Hands
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from cluster.runtime.housekeeping import Housekeeping
from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_build import build_leader
from cluster.runtime.leader_desk import LeaderDesk
from cluster.runtime.leader_protocol import STEP_HINTS, encoded
from cluster.runtime.notifier import Notifier
from cluster.runtime.trace_process import TraceChild
from cluster.runtime.wake_ups import wake_applier, wake_workers
from cluster.store import leader_news
from cluster.store.leader_news import LeaderNews
from cluster.store.leases import HeldLease, LeaseKeeper
from scheduler.errors import Fenced, StaleSnapshot
from scheduler.ports import StateStore
from scheduler.state.events import EventFrame

log = logging.getLogger(__name__)

#: How often everybody looks at the index, whether told to or not.
POLL_S = 0.25
RENEW_S = 1.0
#: Pages are told so often what waits where.
NEWS_S = 1.0
#: A new leader reads so many commits that nobody heard of; of more it knows only that there were.
MOST_UNHEARD = 2000
#: A standby looks at the lease this often.
STANDBY_S = 0.5


class LeaderProcess:
    """Stands by for the lease, then leads until the lease or the process ends."""

    def __init__(self, store: StateStore, keeper: LeaseKeeper, redis_url: str) -> None:
        self.store = store
        self.keeper = keeper
        self.redis_url = redis_url
        self._clock = SystemClock()

    def run(self, stopping: threading.Event) -> None:
        """Lead whenever the lease can be had."""
        is_waiting = False
        while not stopping.is_set():
            lease = self._lease()
            if lease is None:
                if not is_waiting:
                    log.info("action=stand_by")
                is_waiting = True
                stopping.wait(STANDBY_S)
                continue
            is_waiting = False
            self._lead(lease, stopping)
        self._release()

    def _lease(self) -> HeldLease | None:
        try:
            return self.keeper.step(self._clock.monotonic())
        except DatabaseError as error:
            log.warning("action=lease %s", error)
            return None

    def _lead(self, lease: HeldLease, stopping: threading.Event) -> None:
        log.info("action=lead epoch=%d", lease.epoch)
        leadership = Leadership(self.store, self.keeper, lease, self.redis_url)
        try:
            leadership.run(stopping)
        except Fenced:
            log.warning("action=step_down epoch=%d another process leads", lease.epoch)
        except Exception:
            log.exception("action=step_down epoch=%d", lease.epoch)
            # The next leadership starts from the record, and under another epoch: plans that this
            # one has handed out must not be committed beside those of their second delivery.
            self._release()
            stopping.wait(STANDBY_S)
        finally:
            leadership.close()

    def _release(self) -> None:
        try:
            self.keeper.release()
        except DatabaseError as error:
            # It is free when its renewals have stood still for long enough.
            log.warning("action=release_lease %s", error)


class Leadership:
    """One span of leading, under one epoch."""

    def __init__(
        self, store: StateStore, keeper: LeaseKeeper, lease: HeldLease, redis_url: str
    ) -> None:
        self.store = store
        self.keeper = keeper
        self.lease = lease
        self.inbox = Inbox(redis_url, lease.epoch)
        self.leader, self.beats = build_leader(RandomIDs(), chance)
        self.housekeeping = Housekeeping()
        self.notifier = Notifier(lease)
        self.traces = TraceChild() if settings.BIVOUAC_OTLP_ENDPOINT else None
        self.desk = LeaderDesk(self.leader, self.inbox, store, lease)
        self._clock = SystemClock()
        hands = Hands(
            store=store, clock=self._clock, ids=RandomIDs(), fence=lease, wake=wake_workers
        )
        self.commands = CommandRunner(self.leader, hands)
        self._renewed_at = 0.0
        self._told_at = 0.0
        #: The newest commit of which every evaluation that waits has heard.
        self._heard_to = keeper.followed_before

    def run(self, stopping: threading.Event) -> None:
        """Serve until told to stop. Raises Fenced when another process took over."""
        self._restore()
        self.inbox.start()
        self.housekeeping.start()
        self.notifier.start()
        if self.traces is not None:
            self.traces.start()
        while not stopping.is_set():
            self._renew()
            requests = self.inbox.drain(self._patience())
            self._follow()
            with self.inbox.in_one_piece():
                self.desk.serve(requests)
                # Workers and the applier go on while the finishes are committed.
                self.desk.serve_parked()
                self._publish_hints()
            self.desk.commit()
            self.desk.reap()
            self._follow()
            self._tick()
            self.desk.serve_parked()
            self._wake_applier()
            self._publish_hints()
            self._tell_news()

    def close(self) -> None:
        self.housekeeping.stop()
        self.notifier.stop()
        if self.traces is not None:
            self.traces.stop()
        self.inbox.stop()

    def _restore(self) -> None:
        moment = self._clock.moment()
        self.store.read(lambda reader: self.leader.restore(reader, moment))
        self.leader.recall(self._unheard(), moment)
        self._note_heard()

    def _unheard(self) -> list[EventFrame] | None:
        """What was committed before the restore and after all that any leader heard.

        None when the log does not reach back as far, or that would take long to read.
        """
        if self.leader.index - self._heard_to > MOST_UNHEARD:
            return None
        try:
            frames = self.store.frames_since(self._heard_to, MOST_UNHEARD)
        except StaleSnapshot:
            return None
        return [frame for frame in frames if frame.index <= self.leader.index]

    def _note_heard(self) -> None:
        if self.leader.broker.enabled:
            self._heard_to = self.leader.index

    def _patience(self) -> float:
        moment = self._clock.moment()
        deadlines = (
            moment.monotonic + POLL_S,
            self.leader.next_deadline(moment),
            self.leader.watch_deadline(moment),
            self.desk.next_deadline(),
        )
        return max(0.0, min(due for due in deadlines if due is not None) - moment.monotonic)

    def _follow(self) -> None:
        try:
            frames = self.store.frames_since(self.leader.index)
        except StaleSnapshot:
            self._restore()
            return
        moment = self._clock.moment()
        for frame in frames:
            self.leader.observe(frame, moment)
        if self.leader.wants_restore:
            self._restore()
        self._note_heard()

    def _tick(self) -> None:
        moment = self._clock.moment()
        commands = self.leader.tick(moment)
        due = self.leader.watch_deadline(moment)
        if due is not None and due <= moment.monotonic:
            self.beats.refresh(moment)
            commands += self.store.read(lambda reader: self.leader.watch(reader, moment))
        for command in commands:
            self.commands.perform(command)
        if commands:
            self._follow()

    def _renew(self) -> None:
        monotonic = self._clock.monotonic()
        if monotonic - self._renewed_at >= RENEW_S:
            self._renewed_at = monotonic
            if self.keeper.step(monotonic, self._heard_to) != self.lease:
                raise Fenced("another process took the lease")

    def _wake_applier(self) -> None:
        if self.leader.take_applier_wake(self._clock.monotonic()):
            wake_applier()

    def _tell_news(self) -> None:
        """Numbers of this memory, for pages, once a second."""
        moment = self._clock.moment()
        if moment.monotonic - self._told_at < NEWS_S:
            return
        self._told_at = moment.monotonic
        stats = self.leader.stats(moment.monotonic)
        news = LeaderNews(at=moment.now, epoch=self.lease.epoch, stats=stats)
        self.inbox.leave(leader_news.KEY, leader_news.encoded_news(news), leader_news.EXPIRES_S)

    def _publish_hints(self) -> None:
        steps = self.leader.take_hints()
        if steps:
            self.inbox.publish(STEP_HINTS, encoded(steps))
