"""A record made before the columns were there is given them, on both databases, and back again."""

import pytest
from django.core.management import call_command
from django.db import connections
from msgspec.structs import replace

from cluster.store.writer import DjangoStateStore
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.noun import encode
from scheduler.structs.allocation import DeploymentHealth, DesiredTransition, TaskState
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.node import (
    DrainStrategy,
    NodeCpu,
    NodeResources,
    ReservedCpu,
    ReservedResources,
)
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    TaskLifecycle,
)
from tests.builders import (
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)
from tests.cluster.models.expected_columns import differences
from tests.namespace_sums import counted_sums, kept_sums
from tests.record_databases import database, sqlite_settings

BEFORE = "0006_lease_followed"


def task(cpu, memory, *cores):
    return AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=cpu, reserved_cores=cores),
        memory=AllocatedMemory(memory_mb=memory),
    )


PHASES = AllocatedResources(
    tasks={
        "main": task(500, 256), "early": task(700, 100), "beside": task(50, 50),
        "late": task(10, 900), "alone": task(1000, 10, 0, 1),
    },
    task_lifecycles={
        "main": None, "early": TaskLifecycle(hook="prestart"),
        "beside": TaskLifecycle(hook="prestart", sidecar=True),
        "late": TaskLifecycle(hook="poststop"), "alone": TaskLifecycle(hook="poststart"),
    },
)  # fmt: skip
PHASED = make_allocation(
    number=1,
    allocated_resources=replace(PHASES, shared=AllocatedSharedResources(disk_mb=7)),
    create_time=0,
)
VALUES = {
    nouns.ALLOCATIONS: [
        make_allocation(),
        PHASED,
        make_allocation(
            number=2,
            allocated_resources=AllocatedResources(),
            desired_transition=DesiredTransition(migrate=True, force_reschedule=True),
            deployment_status=DeploymentHealth(healthy=False),
            task_states={"a": TaskState(restarts=2), "b": TaskState(restarts=3)},
            modify_time=SOME_MOMENT + 123_456_789,
        ),
        *(make_allocation(number=number) for number in range(3, 2_100)),
    ],
    nouns.EVALUATIONS: [
        make_evaluation(),
        make_evaluation(2, priority=70, wait_until=SOME_MOMENT + 999, modify_time=0),
    ],
    nouns.EVALUATION_STUBS: [make_evaluation(3, priority=20)],
    nouns.DEPLOYMENTS: [
        Deployment(id="d1", task_groups={"web": GroupRollout(desired_canaries=1)}),
        Deployment(id="d2", create_time=SOME_MOMENT, modify_time=SOME_MOMENT + 1_000),
    ],
    nouns.NODES: [
        make_node(),
        make_node(
            2,
            drain_strategy=DrainStrategy(force_deadline=SOME_MOMENT),
            reserved_resources=ReservedResources(cpu=ReservedCpu(cpu_shares=300)),
        ),
        make_node(3, drain_strategy=DrainStrategy(), status_updated_at=0),
        make_node(
            4,
            node_resources=NodeResources(cpu=NodeCpu(cpu_shares=100)),
            reserved_resources=ReservedResources(cpu=ReservedCpu(cpu_shares=300)),
        ),
    ],
    nouns.JOBS: [
        make_job(stop=True),
        make_job(id="two", task_groups=(make_task_group(count=3), make_task_group(count=4))),
        make_job(id="none", task_groups=(), submit_time=0),
    ],
}
#: What the tables of then had and the declarations no longer have.
GONE = {"job": {"submit_time": lambda job: job.submit_time}}


@pytest.fixture(params=["sqlite", "postgres"])
def old_record(request, tmp_path, django_db_blocker):
    """The alias of a record as it was before, without rows."""
    with django_db_blocker.unblock():
        if request.param == "sqlite":
            settings = sqlite_settings(tmp_path / "old.sqlite3")
        else:
            server = request.getfixturevalue("postgres_database").settings
            with database(server) as alias, connections[alias].cursor() as cursor:
                cursor.execute("DROP DATABASE IF EXISTS old")
                cursor.execute("CREATE DATABASE old")
            settings = server | {"NAME": "old"}
        with database(settings) as alias:
            migrate_to(alias, BEFORE)
            yield alias


def migrate_to(alias, *name):
    call_command("migrate", "cluster", *name, database=alias, verbosity=0)


def columns_of_then(cursor, noun):
    """The getter of each column that the table has now, by name; `body` last."""
    names = {name for name, *_ in cursor.description}
    getters = {**noun.columns, **noun.instants, **GONE.get(noun.table, {})}
    return {name: getter for name, getter in getters.items() if name in names}


def fill(alias):
    """Rows as a store of then wrote them, with real bodies."""
    with connections[alias].cursor() as cursor:
        for noun, values in VALUES.items():
            cursor.execute(f"SELECT * FROM {noun.table} LIMIT 0")  # noqa: S608 - ours
            getters = columns_of_then(cursor, noun)
            names = [*noun.key_columns, *getters, "body"]
            marks = ", ".join(["%s"] * len(names))
            cursor.executemany(
                f"INSERT INTO {noun.table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608 - ours
                [
                    (
                        *key(noun, value),
                        *(getter(value) for getter in getters.values()),
                        encode(value),
                    )
                    for value in values
                ],
            )


def key(noun, value):
    found = noun.key(value)
    return (found,) if isinstance(found, str) else tuple(found)


def test_rows_made_before_are_given_their_columns(old_record):
    fill(old_record)
    migrate_to(old_record)
    found, count = differences(old_record)
    assert found == []
    # The namespace and the pools that every record has, what the namespace holds, and a story for
    # each evaluation and for the one version that both rollouts are of.
    assert count == sum(len(values) for values in VALUES.values()) + 4 + 4
    # And the store goes on with it.
    changed = make_evaluation(2, priority=80)
    DjangoStateStore(old_record).write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: change.put_evaluation(changed),
        now=SOME_MOMENT,
    )
    assert differences(old_record)[0] == []


def test_namespaces_are_given_their_sums(old_record):
    fill(old_record)
    with connections[old_record].cursor() as cursor:
        cursor.execute("UPDATE allocation SET namespace = 'team' WHERE id = %s", [PHASED.id])
    migrate_to(old_record)

    allocs = [alloc for alloc in VALUES[nouns.ALLOCATIONS] if alloc is not PHASED]
    team = replace(PHASED, namespace="team")
    assert DjangoStateStore(old_record).read(kept_sums) == counted_sums([*allocs, team])


def test_the_way_back_and_forth_again_loses_nothing(old_record):
    fill(old_record)
    migrate_to(old_record)
    migrate_to(old_record, BEFORE)
    migrate_to(old_record)
    assert differences(old_record)[0] == []
