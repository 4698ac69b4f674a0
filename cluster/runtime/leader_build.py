"""Builds one leadership's mind: leader, settings, watchers, and an ear for heartbeats."""

from collections.abc import Callable

from django.conf import settings

from cluster.jobspec.launch_times import next_due
from cluster.operations.garbage import collection_settings
from cluster.runtime.clock import SystemClock
from cluster.store.access import the_store
from cluster.store.beats import BeatsSince, read_signs
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.leader import Leader
from scheduler.ports import IDSource
from scheduler.structs.moment import Moment
from scheduler.watchers.deployments import Deployments
from scheduler.watchers.drains import Drains
from scheduler.watchers.heartbeats import Heartbeats, HeartbeatSettings
from scheduler.watchers.periodic import Launches
from scheduler.watchers.stages import Stages


class Ear:
    """Reads the beats of nodes out of the record and tells the watcher of heartbeats."""

    def __init__(self, heartbeats: Heartbeats) -> None:
        self._heartbeats = heartbeats
        self._clock = SystemClock()
        self._beats = BeatsSince()

    def refresh(self, moment: Moment) -> None:
        """Take in what was written since the last time, if its tick at this moment would look.

        Other watchers are asked after every commit, and there may be thousands of nodes.
        """
        if not self._heartbeats.is_due(moment):
            return
        beats, signs = self._beats.read(the_store()), read_signs(the_store())
        self._heartbeats.hear(beats, signs, monotonic=self._clock.monotonic())


def build_leader(ids: IDSource, chance: Callable[[], float]) -> tuple[Leader, Ear]:
    """A leader that knows nothing yet."""
    heartbeats = Heartbeats(
        HeartbeatSettings(
            min_ttl=settings.BIVOUAC_MIN_HEARTBEAT_TTL,
            grace=settings.BIVOUAC_HEARTBEAT_GRACE,
            failover_ttl=settings.BIVOUAC_FAILOVER_HEARTBEAT_TTL,
        )
    )
    leader = Leader(
        ids,
        chance,
        LeaderSettings(
            nack_timeout=settings.BIVOUAC_NACK_TIMEOUT,
            delivery_limit=settings.BIVOUAC_DELIVERY_LIMIT,
            expected_workers=settings.BIVOUAC_WORKERS,
        ),
        (heartbeats, Drains(), Stages(), Deployments(), Launches(next_due)),
        collection_settings(),
    )
    return leader, Ear(heartbeats)
