"""Periodic jobs of before this version have nothing decided: the leader begins with them."""

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from cluster.store.writer import DjangoStateStore
from scheduler.state.noun import encode
from scheduler.state.nouns import JOBS
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.job import Periodic
from scheduler.structs.periodic_launch import PeriodicLaunch
from tests.builders import make_job
from tests.record_databases import database, sqlite_settings

BEFORE = ("cluster", "0017_dispatch_tokens")
CRON = make_job(id="cron", type="batch", periodic=Periodic(specs=("@daily",)))
JOBS_OF_BEFORE = (make_job(), make_job(id="once", type="batch"), CRON)


@pytest.fixture
def moved(tmp_path, django_db_blocker):
    """A record with jobs of before, brought up to date."""
    with django_db_blocker.unblock(), database(sqlite_settings(tmp_path / "old.sqlite3")) as alias:
        MigrationExecutor(connections[alias]).migrate([BEFORE])
        apps = MigrationExecutor(connections[alias]).loader.project_state([BEFORE]).apps
        for job in JOBS_OF_BEFORE:
            cells = dict(zip(JOBS.column_names, JOBS.row(job, lambda _: None), strict=True))
            apps.get_model("cluster", "JobRow").objects.using(alias).create(
                **cells | {"body": encode(job)}
            )
        newest = MigrationExecutor(connections[alias])
        newest.migrate(newest.loader.graph.leaf_nodes())
        yield DjangoStateStore(alias)
        connections[alias].close()


def test_each_periodic_job_gets_a_row_that_says_nothing_yet(moved):
    found = moved.read(lambda reader: reader.list_all(PERIODIC_LAUNCHES))
    assert found == [PeriodicLaunch(job_id="cron", create_index=10, modify_index=10)]
