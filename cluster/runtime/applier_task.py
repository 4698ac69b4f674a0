"""The plan applier: a Celery task on a queue of concurrency one, fenced by a lease of its own."""

from celery.signals import worker_process_init, worker_shutting_down

from cluster.celery import app
from cluster.runtime.ending import note_end
from cluster.runtime.parent_death import end_with_pool
from cluster.runtime.plan_drainer import plan_drainer

worker_process_init.connect(end_with_pool)
worker_shutting_down.connect(note_end)


@app.task(name="cluster.runtime.applier_task.drain_plans")  # type: ignore[untyped-decorator]  # Celery has no types
def drain_plans() -> None:
    """Judge plans until the leader has none."""
    plan_drainer().drain()
