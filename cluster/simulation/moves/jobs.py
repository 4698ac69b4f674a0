"""What people do to jobs."""

from cluster.operations.allocations import stop_allocation
from cluster.operations.jobs import (
    deregister_job,
    evaluate_job,
)
from cluster.simulation.moves.deed import Deeds, Scene, pick, submit
from scheduler.access.caller import CLUSTER

SECOND = 1_000_000_000
DEEDS = Deeds()


@DEEDS.add(6)
def _register(scene: Scene, first: int, second: int) -> str:
    kind = pick(scene.kinds, first)
    scene.counts[kind] = second % 7
    return submit(scene, kind)


@DEEDS.add(8)
def _update(scene: Scene, first: int, second: int) -> str:
    kind = pick(scene.kinds, first)
    scene.revisions[kind] = scene.revisions.get(kind, 0) + 1
    return submit(scene, kind)


@DEEDS.add(3)
def _update_badly(scene: Scene, first: int, second: int) -> str:
    kind = pick(scene.kinds, first)
    scene.revisions[kind] = scene.revisions.get(kind, 0) + 1
    return submit(scene, kind, is_bad=True)


@DEEDS.add(2)
def _stop(scene: Scene, first: int, second: int) -> str:
    return _deregister(scene, first, purge=False)


@DEEDS.add(1)
def _purge(scene: Scene, first: int, second: int) -> str:
    return _deregister(scene, first, purge=True)


def _deregister(scene: Scene, number: int, *, purge: bool) -> str:
    key, plane = scene.job(number).key, scene.cluster.plane
    deregister_job(plane.store, key, by=CLUSTER, purge=purge, now=scene.now, ids=plane.ids)
    return f"{'purge' if purge else 'stop'} {key.job_id}"


@DEEDS.add(1)
def _evaluate(scene: Scene, first: int, second: int) -> str:
    key, plane = scene.job(first).key, scene.cluster.plane
    forced = second % 2 == 1
    evaluate_job(
        plane.store, key, by=CLUSTER, force_reschedule=forced, now=scene.now, ids=plane.ids
    )
    return f"evaluate {key.job_id}{', reschedule by force' if forced else ''}"


@DEEDS.add(2)
def _stop_one(scene: Scene, first: int, second: int) -> str:
    alloc, plane = scene.running(first), scene.cluster.plane
    stop_allocation(plane.store, alloc.id, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"stop allocation {alloc.name} ({alloc.id[-4:]}) on {alloc.node_name}"
