"""What namespaces hold is kept by every write, on every store, and never counted anew."""

from contextlib import suppress

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.engine.plan.quota import plan_exceeds_quota
from scheduler.engine.quota import open_account
from scheduler.errors import IllegalTransition
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.job import Namespace
from scheduler.structs.plan import Plan
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
    TaskLifecycle,
)
from tests.builders import make_allocation, make_job
from tests.namespace_sums import counted_sums, kept_sums

NAMES = ("default", "team", "other")
KIND = "filled"


def resources(cpu, memory, disk, *, with_prestart):
    """Of a main task, perhaps with one before it, so that phases count."""

    def task(share):
        return AllocatedTaskResources(
            cpu=AllocatedCpu(cpu_shares=cpu * share),
            memory=AllocatedMemory(memory_mb=memory * share),
        )

    tasks = {"main": task(2)} | ({"early": task(3)} if with_prestart else {})
    return AllocatedResources(
        tasks=tasks,
        task_lifecycles={"main": None, "early": TaskLifecycle(hook="prestart")},
        shared=AllocatedSharedResources(disk_mb=disk),
    )


RESOURCES = st.builds(
    resources, st.integers(0, 500), st.integers(0, 500), st.integers(0, 9),
    with_prestart=st.booleans(),
)  # fmt: skip
#: What befalls one allocation: it is written so, moved to another node, or collected.
STEPS = st.tuples(
    st.integers(1, 6),
    st.sampled_from(["put", "put", "put", "delete"]),
    st.sampled_from(list(ClientStatus)),
    st.sampled_from(list(DesiredStatus)),
    RESOURCES,
)
HISTORIES = st.lists(st.lists(STEPS, min_size=1, max_size=4), max_size=8)


def carry_out(change, step):
    number, verb, client, desired, given_resources = step
    job = make_job(id=f"job-{number}", namespace=NAMES[number % len(NAMES)])
    row = make_allocation(
        job,
        number,
        create_index=number,
        client_status=client,
        desired_status=desired,
        allocated_resources=given_resources,
    )
    if verb == "delete":
        change.delete_allocation(row.id)
    else:
        put_found(change, row)


def live_through(store, history):
    """Each write of a history; one that breaks the law of statuses comes to nothing."""
    for steps in history:

        def work(change, steps=steps):
            for step in steps:
                carry_out(change, step)
            assert kept_sums(change) == counted_sums(change.allocations())

        with suppress(IllegalTransition):
            store.write(KIND, work, now=1)
        assert store.read(kept_sums) == store.read(
            lambda reader: counted_sums(reader.allocations())
        )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(histories=HISTORIES)
def test_the_kept_sums_are_the_counted_ones_whatever_happens(histories):
    live_through(MemoryStateStore(), histories)


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_the_kept_sums_are_the_counted_ones_in_databases(request, name):
    """One store lives through all histories, so that each begins where the last one ended."""
    store = request.getfixturevalue(f"{name}_store")

    @settings(max_examples=25, deadline=None, database=None)
    @given(history=HISTORIES)
    def live(history):
        live_through(store, history)

    live()


QUOTA = QuotaSpec(name="small", limits=QuotaAmounts(cpu=1))


def fill(store, count):
    def work(change):
        change.put(QUOTAS, QUOTA)
        change.put(NAMESPACES, Namespace(name="team", quota="small"))
        job = make_job(namespace="team")
        for number in range(count):
            put_found(
                change,
                make_allocation(job, number, create_index=1, client_status=ClientStatus.RUNNING),
            )

    store.write(KIND, work, now=1)


def rows_read(store, count):
    """Statements and the rows of allocations that judging one plan takes among so many."""
    fill(store, count)
    wanted = make_allocation(make_job(namespace="team"), 999)
    plan = Plan(id="p", namespace="team", node_allocation={"n": (wanted,)})
    with CaptureQueriesContext(connections[store.alias]) as asked:
        assert store.read(lambda reader: plan_exceeds_quota(reader, plan))
        store.read(lambda reader: open_account(reader, "team"))
    return len(asked), [query["sql"] for query in asked if " allocation " in query["sql"]]


def test_judging_a_plan_reads_as_much_among_many_allocations_as_among_few(sqlite_store):
    few, of_few = rows_read(sqlite_store, 2)
    many, of_many = rows_read(sqlite_store, 300)

    assert few == many
    # The plan's own, by its id.
    assert len(of_few) == len(of_many) == 1
    assert "id = " in of_many[0]
