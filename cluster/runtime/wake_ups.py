"""Wake-ups through Celery: one message wakes one process, which asks the leader for work."""

import logging

from kombu.exceptions import OperationalError

from cluster.celery import app
from cluster.runtime.leader_protocol import (
    APPLIER_WAKE_UPS,
    WAKE_UP_EXPIRY_S,
    WORKER_WAKE_UPS,
)

log = logging.getLogger(__name__)


def wake_workers(count: int) -> None:
    """Wake this many scheduler worker processes. Lost when Redis is away, and sent again."""
    for _ in range(count):
        _send("cluster.runtime.worker_tasks.drain_evaluations", WORKER_WAKE_UPS)


def wake_applier() -> None:
    """Wake the plan applier."""
    _send("cluster.runtime.applier_task.drain_plans", APPLIER_WAKE_UPS)


def _send(task: str, queue: str) -> None:
    try:
        app.send_task(task, queue=queue, ignore_result=True, retry=False, expires=WAKE_UP_EXPIRY_S)
    except OperationalError as error:
        log.warning("action=wake_up task=%s not sent: %s", task, error)
