"""What the leader does on the side: everything that grows without end is kept within bounds."""

import threading
from datetime import UTC, datetime

import pytest
from django.contrib.sessions.models import Session
from django.db import connections
from django.db.backends.signals import connection_created

from cluster.runtime import housekeeping
from cluster.runtime.housekeeping import Housekeeping
from scheduler.state.events import WriteKind
from scheduler.state.writes.jobs import write_job
from tests.builders import SOME_MOMENT, make_evaluation, make_job
from tests.patience import PATIENCE_S
from tests.process_store import store

__all__ = ["store"]

GROWING = ("event", "evaluation_stub", "job_stub", "django_session")


def sizes(store):
    found = {}
    with connections[store.alias].cursor() as cursor:
        for table in GROWING:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - names of our own
            found[table] = cursor.fetchone()[0]
    return found


@pytest.fixture
def filled(store):
    """Everything in it is of 2025."""
    evaluation, job = make_evaluation(), make_job()
    for kind, work in (
        (WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(evaluation)),
        (WriteKind.COLLECTED, lambda change: change.delete_evaluation(evaluation.id)),
        (WriteKind.JOB_REGISTERED, lambda change: write_job(change, job)),
        (WriteKind.JOB_DEREGISTERED, lambda change: change.delete_job(job.key)),
    ):
        store.write(kind, work, now=SOME_MOMENT)
    ended = datetime(2025, 1, 1, tzinfo=UTC)
    Session.objects.create(session_key="old", session_data="", expire_date=ended)
    return store


def test_what_is_older_than_the_settings_say_is_forgotten(filled, monkeypatch):
    monkeypatch.setattr(housekeeping, "CHECKPOINT_S", 0.01)
    monkeypatch.setattr(housekeeping, "TRIM_S", 0.0)
    assert sizes(filled) == {"event": 5, "evaluation_stub": 1, "job_stub": 1, "django_session": 1}
    keeper = Housekeeping()
    keeper.start()
    try:
        # The newest frame of the log always stays.
        wanted = {"event": 1, "evaluation_stub": 0, "job_stub": 0, "django_session": 0}
        looks = 0
        while sizes(filled) != wanted and (looks := looks + 1) < 400:
            threading.Event().wait(0.05)
        assert sizes(filled) == wanted
    finally:
        keeper.stop()
        keeper._thread.join(10)


def test_pages_of_whole_tables_are_forgotten_after_each_round(filled, monkeypatch):
    """Sizes of the log are summed up each minute: its pages would fill the whole cache."""
    monkeypatch.setattr(housekeeping, "CHECKPOINT_S", 0.01)
    monkeypatch.setattr(housekeeping, "TRIM_S", 0.0)
    said, enough = [], threading.Event()

    def hear(statement):
        said.append(statement)
        if statement == "PRAGMA shrink_memory":
            enough.set()

    def listen(connection, **_others):
        connection.connection.set_trace_callback(hear)

    connection_created.connect(listen)
    keeper = Housekeeping()
    keeper.start()
    try:
        assert enough.wait(PATIENCE_S)
    finally:
        connection_created.disconnect(listen)
        keeper.stop()
        keeper._thread.join(10)
    sums = [number for number, text in enumerate(said) if "SUM(size)" in text]
    assert sums[0] < said.index("PRAGMA shrink_memory")
