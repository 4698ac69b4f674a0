"""Creating, changing and deleting node pools."""

import threading

import pytest
from django.db import connections

from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.node_pools import delete_node_pool, put_node_pool
from scheduler.access.caller import ANONYMOUS
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NODE_POOLS
from scheduler.state.writes.jobs import stop_job, write_job
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobStatus
from scheduler.structs.node import (
    DEFAULT_IDENTITY_TTL,
    NodePool,
    NodePoolSchedulerConfiguration,
)
from tests.builders import CountingIDs, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000_000_000_000
RULE = "must match regex ^[a-zA-Z0-9-_]{1,128}$"


@pytest.fixture
def store():
    return MemoryStateStore()


def put(store, **fields):
    return put_node_pool(store, NodePool(**fields), by=MANAGER, now=NOW)


def delete(store, name="gpu"):
    return delete_node_pool(store, name, by=MANAGER, now=NOW)


def refusal_of(act, *arguments, **fields):
    with pytest.raises(OperationRefused) as refused:
        act(*arguments, **fields)
    return str(refused.value)


def test_a_pool_is_replaced_whole_and_keeps_its_first_index(store):
    own = NodePoolSchedulerConfiguration(scheduler_algorithm="spread")
    first = put(store, name="gpu", meta={"a": "b"}, scheduler_configuration=own)
    second = put(store, name="gpu", description="cards", node_identity_ttl=-1)

    assert store.get(NODE_POOLS, "gpu") == NodePool(
        name="gpu",
        description="cards",
        node_identity_ttl=-1,
        create_index=first,
        modify_index=second,
    )


def test_a_pool_that_says_no_life_of_identities_gets_the_usual_day(store):
    put(store, name="gpu", node_identity_ttl=0)

    assert store.get(NODE_POOLS, "gpu").node_identity_ttl == DEFAULT_IDENTITY_TTL


def algorithm(name):
    return NodePoolSchedulerConfiguration(scheduler_algorithm=name)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param(
            {"name": ""},
            f'invalid node pool "": 1 error occurred:\n\t* invalid name "", {RULE}\n\n',
            id="no-name",
        ),
        pytest.param(
            {"name": "a b", "description": "x" * 257, "scheduler_configuration": algorithm("x")},
            f'invalid node pool "a b": 3 errors occurred:\n\t* invalid name "a b", {RULE}\n'
            '\t* description longer than 256\n\t* invalid scheduler algorithm "x"\n\n',
            id="everything",
        ),
        pytest.param(
            {"name": "all"}, 'modifying node pool "all" is not allowed', id="all-is-built-in"
        ),
        pytest.param(
            {"name": "default", "scheduler_configuration": algorithm("spread")},
            'modifying node pool "default" is not allowed',
            id="default-is-built-in",
        ),
    ],
)
def test_what_cannot_be_a_pool(store, fields, text):
    before = store.index
    assert refusal_of(put, store, **fields) == text
    assert store.index == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("nope", "node pool nope not found", id="unknown"),
        pytest.param("all", 'deleting node pool "all" is not allowed', id="built-in"),
        pytest.param(
            "default",
            '1 error occurred:\n\t* node pool "default" has nodes in regions: [global]\n\n',
            id="built-in-with-nodes",
        ),
        pytest.param(
            "gpu",
            '2 errors occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n'
            '\t* node pool "gpu" has nodes in regions: [global]\n\n',
            id="in-use",
        ),
    ],
)
def test_what_cannot_be_deleted(store, name, text):
    put(store, name="gpu")

    def fill(change):
        write_job(change, make_job(node_pool="gpu"))
        put_found(change, make_node(1, node_pool="gpu"))
        put_found(change, make_node(2))

    store.write("filled", fill, now=NOW)
    before = store.index
    assert refusal_of(delete, store, name) == text
    assert store.index == before


def test_dead_jobs_do_not_keep_a_pool(store):
    put(store, name="gpu")
    job = make_job(node_pool="gpu")
    store.write("filled", lambda change: write_job(change, job), now=NOW)
    store.write("stopped", lambda change: stop_job(change, job.key), now=NOW)
    assert store.job(job.key).status == JobStatus.DEAD

    delete(store)

    assert store.get(NODE_POOLS, "gpu") is None


@pytest.mark.parametrize("act", [put, delete], ids=["put", "delete"])
def test_the_right_on_the_pool_is_asked_for_first(store, act):
    operation = {
        put: lambda: put_node_pool(store, NodePool(name="a b"), by=ANONYMOUS, now=NOW),
        delete: lambda: delete_node_pool(store, "nope", by=ANONYMOUS, now=NOW),
    }[act]
    with pytest.raises(NotAllowed) as refused:
        operation()
    assert refused.value.missing == {
        put: "write on node pool a b", delete: "delete on node pool nope"
    }[act]  # fmt: skip


def test_a_pool_goes_or_gets_a_job_never_both(sqlite_store):
    """A deletion and a registration, each in a thread of its own, at once."""
    outcomes = []

    def tried(act, start):
        start.wait()
        try:
            act()
        except OperationRefused as refusal:
            outcomes.append(str(refusal))
        finally:
            connections[sqlite_store.alias].close()

    for number in range(8):
        pool, job = f"pool-{number}", plain_job(id=f"job-{number}", node_pool=f"pool-{number}")
        put(sqlite_store, name=pool)
        acts = (
            lambda pool=pool: delete(sqlite_store, pool),
            lambda job=job: register_job(
                sqlite_store, JobRegistration(job=job), by=MANAGER, now=NOW, ids=CountingIDs()
            ),
        )
        start = threading.Barrier(len(acts))
        threads = [threading.Thread(target=tried, args=(act, start)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        has_pool = sqlite_store.read(lambda reader, name=pool: reader.get(NODE_POOLS, name))
        has_job = sqlite_store.read(
            lambda reader, name=job.id: reader.job(JobKey("default", name))
        )
        assert (has_pool is None) == (has_job is None)
        assert len(outcomes) == number + 1
        kept = f'* node pool "{pool}" has non-terminal jobs in regions: [global]'
        gone = f'* job "{job.id}" is in nonexistent node pool "{pool}"'
        assert (kept if has_pool else gone) in outcomes[-1]
