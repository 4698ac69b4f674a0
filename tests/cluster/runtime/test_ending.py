"""A drainer that lingers for work hears that its Celery worker is to end."""

import os

import pytest
from celery.signals import worker_shutting_down

from cluster.runtime import applier_task, ending, worker_tasks
from cluster.runtime.drainer import ASK_S, LINGER_S
from cluster.runtime.plan_drainer import ASK_S as APPLIER_ASK_S
from scheduler.broker.leader_settings import LeaderSettings


@pytest.fixture
def fresh():
    yield
    ending._ENDS[0] = 0


@pytest.mark.usefixtures("fresh")
def test_a_pool_process_sees_what_its_worker_was_told():
    assert not ending.is_ending()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.read(read, 1)
        os._exit(42 if ending.is_ending() else 1)
    # What Celery does on SIGTERM, in the process that holds the pool.
    worker_shutting_down.send(sender="worker@here", sig="SIGTERM", how="Warm", exitcode=0)
    os.write(write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    os.close(read)
    os.close(write)


def test_both_tasks_listen_to_it():
    assert worker_tasks.note_end is applier_task.note_end is ending.note_end


def test_who_waits_counts_as_awake_and_is_not_woken():
    settings = LeaderSettings()
    assert ASK_S < settings.awake_after_asking <= LINGER_S
    assert settings.wake_again_after > APPLIER_ASK_S
