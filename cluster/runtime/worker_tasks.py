"""The scheduler worker: a Celery task that takes batches from the leader until none is left."""

from celery.signals import worker_process_init, worker_shutting_down

from cluster.celery import app
from cluster.runtime.drainer import drainer
from cluster.runtime.ending import note_end
from cluster.runtime.parent_death import end_with_pool

worker_process_init.connect(end_with_pool)
worker_shutting_down.connect(note_end)


@app.task(name="cluster.runtime.worker_tasks.drain_evaluations")  # type: ignore[untyped-decorator]  # Celery has no types
def drain_evaluations() -> None:
    """Work until the leader has nothing to hand out."""
    drainer().drain()
