"""What people do to rollouts."""

from cluster.operations.deployments import (
    fail_deployment,
    pause_deployment,
    promote_deployment,
    set_allocation_health,
)
from cluster.simulation.moves.deed import Deeds, Scene, pick
from scheduler.access.caller import CLUSTER
from scheduler.state.writes.rollouts import MARKED_FAILED

SECOND = 1_000_000_000
DEEDS = Deeds()


@DEEDS.add(5)
def _promote(scene: Scene, first: int, second: int) -> str:
    found, plane = scene.deployment(first), scene.cluster.plane
    promote_deployment(
        plane.store, found.id, by=CLUSTER, every_group=True, now=scene.now, ids=plane.ids
    )
    return f"promote the rollout of {found.job_id}"


@DEEDS.add(1)
def _fail_rollout(scene: Scene, first: int, second: int) -> str:
    found, plane = scene.deployment(first), scene.cluster.plane
    fail_deployment(plane.store, found.id, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"fail the rollout of {found.job_id} ({MARKED_FAILED})"


@DEEDS.add(1)
def _pause_rollout(scene: Scene, first: int, second: int) -> str:
    found, plane, pause = scene.deployment(first), scene.cluster.plane, second % 3 == 0
    pause_deployment(plane.store, found.id, by=CLUSTER, pause=pause, now=scene.now, ids=plane.ids)
    return f"{'pause' if pause else 'resume'} the rollout of {found.job_id}"


@DEEDS.add(1)
def _set_health(scene: Scene, first: int, second: int) -> str:
    found, plane = scene.deployment(first), scene.cluster.plane
    unjudged = [
        alloc.id
        for alloc in plane.store.allocations_by_deployment(found.id)
        if not alloc.is_terminal
        and (alloc.deployment_status is None or alloc.deployment_status.healthy is None)
    ]
    chosen, is_healthy = (pick(unjudged, second),), second % 3 > 0
    set_allocation_health(
        plane.store,
        found.id,
        by=CLUSTER,
        healthy=chosen if is_healthy else (),
        unhealthy=() if is_healthy else chosen,
        now=scene.now,
        ids=plane.ids,
    )
    return f"call allocation {chosen[0][-4:]} {'healthy' if is_healthy else 'unhealthy'}"
