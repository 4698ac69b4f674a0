"""Dry runs: the real engine over the store in memory, and nothing written."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import OperationRefused
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import JobRegistration, register_job
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.plan_annotations import DesiredUpdates
from tests.builders import CountingIDs, make_allocation, make_node
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000


def make_job(count=2, cpu=100, **fields):
    task = {"Name": "main", "Driver": "mock_driver", "Resources": {"CPU": cpu, "MemoryMB": 64}}
    group = {"Name": "group", "Count": count, "Tasks": [task]}
    return parse_job({"ID": "web", "Type": "service", "TaskGroups": [group], **fields})


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def store():
    store = MemoryStateStore()

    def fill(change):
        for number in (1, 2):
            change.put_node(make_node(number))

    store.write(WriteKind.NODE_REGISTRATION, fill, now=NOW)
    return store


def plan(store, ids, job):
    before = store.index
    planned = store.read(lambda reader: plan_job(reader, job, by=MANAGER, now=NOW, ids=ids))
    assert store.index == before
    return planned


def test_a_new_job_would_be_placed_on_scored_nodes(store, ids):
    planned = plan(store, ids, make_job())

    assert planned.annotations.desired_updates == {"group": DesiredUpdates(place=2)}
    assert [each.name for each in planned.placements] == ["web.group[0]", "web.group[1]"]
    assert {each.node_name for each in planned.placements} <= {"node-1", "node-2"}
    assert all("binpack" in each.scores for each in planned.placements)
    assert planned.failed_task_groups == {}
    assert (planned.job_modify_index, planned.diff.type) == (0, "Added")


def test_what_fits_nowhere_is_named_with_its_reason(store, ids):
    planned = plan(store, ids, make_job(count=1, cpu=100_000))

    metric = planned.failed_task_groups["group"]
    assert metric.dimension_exhausted == {"cpu": 2}
    assert planned.placements == ()
    assert [each.status.value for each in planned.created_evaluations] == ["blocked"]


def test_a_constraint_that_nobody_meets_is_named(store, ids):
    constraint = {"LTarget": "${attr.kernel.name}", "RTarget": "plan9", "Operand": "="}

    planned = plan(store, ids, make_job(count=1, Constraints=[constraint]))

    metric = planned.failed_task_groups["group"]
    assert metric.constraint_filtered == {"${attr.kernel.name} = plan9": 2}


def test_an_unchanged_running_job_would_stay_as_it_is(store, ids):
    written = register_job(store, JobRegistration(job=make_job(1)), by=MANAGER, now=NOW, ids=ids)
    job = store.job(make_job().key)
    running = make_allocation(
        job, job_create_index=job.create_index, create_index=job.create_index
    )
    store.write(WriteKind.PLAN_RESULT, lambda change: change.put_allocation(running), now=NOW)

    planned = plan(store, ids, make_job(1))

    assert planned.annotations.desired_updates == {"group": DesiredUpdates(ignore=1)}
    assert planned.job_modify_index == written.job_modify_index
    assert planned.diff.type == "None"


def test_a_job_of_another_type_is_planned_though_it_could_not_take_the_place_of_the_stored(
    store, ids
):
    register_job(store, JobRegistration(job=make_job(1)), by=MANAGER, now=NOW, ids=ids)

    planned = plan(store, ids, make_job(1, Type="batch"))

    assert [field.name for field in planned.diff.fields] == ["Type"]


def test_a_job_that_could_not_be_registered_cannot_be_planned(store, ids):
    register_job(store, JobRegistration(job=make_job(1)), by=MANAGER, now=NOW, ids=ids)

    with pytest.raises(OperationRefused, match="nonexistent namespace"):
        plan(store, ids, make_job(Namespace="nowhere"))


@pytest.mark.parametrize(
    "kind",
    [{"Periodic": {"Specs": ["* * * * *"]}}, {"ParameterizedJob": {}}],
    ids=lambda kind: next(iter(kind)),
)
def test_of_a_job_that_runs_as_its_children_it_tells_what_one_would_do(store, ids, kind):
    planned = plan(store, ids, make_job(Type="batch", **kind))

    (updates,) = planned.annotations.desired_updates.values()
    assert updates.place == 2
