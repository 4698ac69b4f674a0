"""What people do to jobs."""

from cluster.operations.allocations import stop_allocation
from cluster.operations.job_dispatch import Dispatch, dispatch_job
from cluster.operations.job_versions import mark_job_stable, revert_job, tag_version
from cluster.operations.jobs import (
    deregister_job,
    evaluate_job,
)
from cluster.operations.periodic import force_launch
from cluster.operations.scaling import ScalingRequest, scale_job
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


@DEEDS.add(4)
def _scale(scene: Scene, first: int, second: int) -> str:
    job, plane, count = scene.own_job(first), scene.cluster.plane, second % 7
    asked = ScalingRequest(task_group=job.task_groups[0].name, count=count)
    scale_job(plane.store, job.key, asked, by=CLUSTER, now=scene.now, ids=plane.ids)
    scene.counts[job.id] = count
    return f"scale {job.id} to {count}"


@DEEDS.add(2)
def _revert(scene: Scene, first: int, second: int) -> str:
    job, plane = scene.own_job(first), scene.cluster.plane
    version = pick(plane.store.job_versions(job.key), second).version
    revert_job(plane.store, job.key, version, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"revert {job.id} to version {version}"


@DEEDS.add(0.5)
def _call_stable(scene: Scene, first: int, second: int) -> str:
    job, plane = scene.own_job(first), scene.cluster.plane
    version = pick(plane.store.job_versions(job.key), second).version
    mark_job_stable(plane.store, job.key, version, by=CLUSTER, now=scene.now)
    return f"call version {version} of {job.id} stable"


@DEEDS.add(0.5)
def _tag(scene: Scene, first: int, second: int) -> str:
    job, plane = scene.own_job(first), scene.cluster.plane
    version = pick(plane.store.job_versions(job.key), second).version
    tag_version(plane.store, job.key, "good", version=version, by=CLUSTER, now=scene.now)
    return f"tag version {version} of {job.id}"


@DEEDS.add(4)
def _dispatch(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    job = pick([job for job in plane.store.jobs() if job.is_parameterized], first)
    # Few tokens, so that the same one comes again.
    token = f"token-{second % 4}" if second % 3 else ""
    asked = Dispatch(meta={"who": f"caller-{second}"}, idempotency_token=token)
    child = dispatch_job(plane.store, job.key, asked, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"dispatch {job.id} as {child.job_id}{f' with {token}' if token else ''}"


@DEEDS.add(2)
def _launch(scene: Scene, first: int, second: int) -> str:
    plane = scene.cluster.plane
    job = pick([job for job in plane.store.jobs() if job.is_periodic], first)
    child = force_launch(plane.store, job.key, by=CLUSTER, now=scene.now, ids=plane.ids)
    return f"launch {job.id} as {child.child_id}"
