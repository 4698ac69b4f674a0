"""Wake-ups through Celery: one message wakes one process, which asks the leader for work."""

import logging

from kombu.exceptions import OperationalError

from cluster.celery import app

log = logging.getLogger(__name__)

#: A wake-up that nobody took is worthless soon; the leader sends another.
_EXPIRES_S = 30


def wake_workers(count: int) -> None:
    """Wake this many scheduler worker processes. Lost when Redis is away, and sent again."""
    for _ in range(count):
        _send("cluster.runtime.worker_tasks.drain_evaluations", "evaluations")


def wake_applier() -> None:
    """Wake the plan applier."""
    _send("cluster.runtime.applier_task.drain_plans", "plans")


def _send(task: str, queue: str) -> None:
    try:
        app.send_task(task, queue=queue, ignore_result=True, retry=False, expires=_EXPIRES_S)
    except OperationalError as error:
        log.warning("action=wake_up task=%s not sent: %s", task, error)
