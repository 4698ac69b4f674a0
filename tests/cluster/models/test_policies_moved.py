"""Jobs registered before scaling policies had rows get them, with the ids they have."""

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.scaling_policies import with_policy_ids
from cluster.store.timestamps import timestamp
from cluster.store.writer import DjangoStateStore
from scheduler.state.nouns import JOBS
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.structs.identity import JobKey
from tests.builders import SOME_MOMENT, CountingIDs
from tests.callers import MANAGER
from tests.record_databases import database, sqlite_settings

BEFORE = ("cluster", "0012_tokens_have_policies")
KEY = JobKey("default", "elastic")


def elastic(**fields):
    policy = {"Min": 1, "Max": 4, "Policy": {"cooldown": "1m"}}
    tasks = [{"Name": "main", "Driver": "mock_driver"}]
    groups = [
        {"Name": "api", "Count": 2, "Scaling": policy, "Tasks": tasks},
        {"Name": "db", "Count": 1, "Tasks": tasks},
    ]
    return parse_job({"ID": "elastic", "Type": "service", "TaskGroups": groups, **fields})


def fill(cursor):
    """Rows as a store of then wrote them."""
    ids = CountingIDs()
    stopped = elastic(ID="off", Stop=True)
    group = stopped.task_groups[0]
    off = replace(group, scaling=replace(group.scaling, enabled=False, max=3))
    for job in (
        elastic(),
        replace(stopped, task_groups=(off,)),
        elastic(ID="plain", TaskGroups=[]),
    ):
        named = replace(with_policy_ids(job, None, ids), job_modify_index=7)
        cursor.execute("SELECT * FROM job LIMIT 0")
        columns = [name for name, *_ in cursor.description if name in JOBS.column_names]
        cells = dict(zip(JOBS.column_names, JOBS.row(named, timestamp), strict=True))
        marks = ", ".join(["%s"] * len(columns))
        cursor.execute(
            f"INSERT INTO job ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608 - ours
            [cells[name] for name in columns],
        )
    cursor.execute("UPDATE state_index SET value = 20")


@pytest.fixture(params=["sqlite", "postgres"])
def moved(request, tmp_path, django_db_blocker):
    """A record with jobs of before, brought up to date."""
    with django_db_blocker.unblock():
        if request.param == "sqlite":
            settings = sqlite_settings(tmp_path / "old.sqlite3")
        else:
            server = request.getfixturevalue("postgres_database").settings
            with database(server) as alias, connections[alias].cursor() as cursor:
                cursor.execute("DROP DATABASE IF EXISTS old_policies")
                cursor.execute("CREATE DATABASE old_policies")
            settings = server | {"NAME": "old_policies"}
        with database(settings) as alias:
            MigrationExecutor(connections[alias]).migrate([BEFORE])
            with connections[alias].cursor() as cursor:
                fill(cursor)
            newest = MigrationExecutor(connections[alias])
            newest.migrate(newest.loader.graph.leaf_nodes())
            yield DjangoStateStore(alias)
            connections[alias].close()


def test_each_policy_of_a_job_has_its_row_and_goes_on_with_its_id(moved):
    def read(reader):
        policies = reader.list_all(SCALING_POLICIES)
        return {policy.id: policy for policy in policies}, reader.table_index("scaling_policies")

    policies, index = moved.read(read)
    named = {policy.job_key.job_id: policy for policy in policies.values()}
    assert sorted(named) == ["elastic", "off"]
    assert index == 20
    policy = named["elastic"]
    assert (policy.min, policy.max, policy.enabled) == (1, 4, True)
    assert (policy.policy, policy.type) == ({"cooldown": "1m"}, "horizontal")
    assert policy.target == {"Namespace": "default", "Job": "elastic", "Group": "api"}
    assert (policy.create_index, policy.modify_index) == (7, 7)
    assert (named["off"].enabled, named["off"].max) == (False, 3)

    request = JobRegistration(job=elastic(Priority=60))
    written = register_job(moved, request, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    assert moved.read(lambda reader: reader.job(KEY)).task_groups[0].scaling == policy
    assert moved.read(read) == (policies, 20)
    assert written.index == 21
