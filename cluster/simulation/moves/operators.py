"""What operators do to the whole."""

from cluster.operations.garbage import demand_collection
from cluster.operations.quotas import put_quota
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.simulation import catalogue
from cluster.simulation.moves.deed import Deeds, Scene
from scheduler.access.caller import CLUSTER
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings

SECOND = 1_000_000_000
DEEDS = Deeds()


@DEEDS.add(0.7)
def _change_settings(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    preempts, algorithm = first % 2 == 0, ("binpack", "spread")[second % 2]
    settings = SchedulerSettings(
        scheduler_algorithm=algorithm,
        preemption_config=PreemptionConfig(
            service_scheduler_enabled=preempts, batch_scheduler_enabled=preempts
        ),
    )
    set_scheduler_settings(plane.store, settings, by=CLUSTER, now=scene.now)
    return f"set algorithm {algorithm}, services preempt: {'yes' if preempts else 'no'}"


@DEEDS.add(0.7)
def _pause_broker(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    before = plane.store.scheduler_settings()
    paused = not before.pause_eval_broker and first % 2 == 0
    settings = SchedulerSettings(
        scheduler_algorithm=before.scheduler_algorithm,
        preemption_config=before.preemption_config,
        pause_eval_broker=paused,
    )
    set_scheduler_settings(plane.store, settings, by=CLUSTER, now=scene.now)
    return f"{'pause' if paused else 'resume'} the broker"


@DEEDS.add(1)
def _set_quota(scene: Scene, first: int, second: int) -> str:
    limits = QuotaAmounts(cpu=(0, 1000, 2000, 3000)[first % 4], allocations=(0, 3, 5)[second % 3])
    put_quota(
        scene.cluster.plane.store,
        QuotaSpec(name=catalogue.TEAM, limits=limits),
        by=CLUSTER,
        now=scene.now,
    )
    return f"quota of {catalogue.TEAM}: {limits.cpu} MHz, {limits.allocations} allocations"


@DEEDS.add(0.7)
def _collect(scene: Scene, first: int, second: int) -> str:
    demand_collection(scene.cluster.plane.store, by=CLUSTER, now=scene.now)
    return "collect garbage"
