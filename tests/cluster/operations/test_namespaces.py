"""Creating and deleting namespaces, on the store in memory."""

import pytest

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.namespaces import delete_namespace, put_namespace
from cluster.operations.node_pools import put_node_pool
from cluster.operations.quotas import put_quota
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES
from scheduler.state.writes.jobs import purge_job, stop_job, write_job
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.job import Namespace, NamespacePoolRules
from scheduler.structs.node import NodePool
from scheduler.structs.quota import QuotaSpec
from tests.builders import CountingIDs, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000_000_000_000


@pytest.fixture
def store():
    return MemoryStateStore()


def test_a_namespace_keeps_its_first_index_when_it_changes(store):
    first = put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)
    second = put_namespace(store, Namespace(name="team", description="x"), by=MANAGER, now=NOW)

    assert store.get(NAMESPACES, "team") == Namespace(
        name="team", description="x", create_index=first, modify_index=second
    )


@pytest.mark.parametrize(
    ("namespace", "text"),
    [
        pytest.param(
            Namespace(name="a b"),
            'Invalid namespace "a b": 1 error occurred:\n\t* invalid name "a b".'
            " Must match regex ^[a-zA-Z0-9-]{1,128}$\n\n",
            id="name",
        ),
        pytest.param(
            Namespace(name="team", description="x" * 257),
            'Invalid namespace "team": 1 error occurred:\n\t* description longer than 256\n\n',
            id="description",
        ),
        pytest.param(
            Namespace(name="team", quota="q"),
            'namespace "team" using non-existent quota "q"',
            id="quota",
        ),
    ],
)
def test_a_namespace_that_breaks_a_rule_is_refused(store, namespace, text):
    with pytest.raises(OperationRefused) as refused:
        put_namespace(store, namespace, by=MANAGER, now=NOW)

    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("default", "can not delete default namespace", id="default"),
        pytest.param("team", "namespace not found", id="unknown"),
    ],
)
def test_what_cannot_be_deleted(store, name, text):
    with pytest.raises(OperationRefused) as refused:
        delete_namespace(store, name, by=MANAGER, now=NOW)

    assert str(refused.value) == text


def live(store, **fields):
    """A job of the namespace that has an allocation which runs."""
    job = make_job(namespace="team", **fields)

    def fill(change):
        write_job(change, job)
        put_found(change, make_allocation(job, client_status=ClientStatus.RUNNING))

    store.write("filled", fill, now=NOW)
    return job.key


def what_keeps(store):
    with pytest.raises(OperationRefused) as refused:
        delete_namespace(store, "team", by=MANAGER, now=NOW)
    lines = str(refused.value).strip().split("\n")
    return [line.removeprefix('\t* namespace "team" has ') for line in lines[1:]]


JOBS = "non-terminal jobs in regions: [global]"
ALLOCATIONS = "non-terminal allocations in regions: [global]"
QUOTA = "quotas associated with it: q"


def test_everything_that_keeps_a_namespace_is_told_in_its_order(store):
    put_quota(store, QuotaSpec(name="q"), by=MANAGER, now=NOW)
    put_namespace(store, Namespace(name="team", quota="q"), by=MANAGER, now=NOW)
    assert what_keeps(store) == [QUOTA]
    key = live(store)
    assert what_keeps(store) == [JOBS, ALLOCATIONS, QUOTA]

    store.write("purged", lambda change: purge_job(change, key), now=NOW)
    assert what_keeps(store) == [QUOTA]
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)
    delete_namespace(store, "team", by=MANAGER, now=NOW)
    assert store.get(NAMESPACES, "team") is None


def test_what_was_told_to_stop_keeps_no_namespace(store):
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)
    key = live(store)

    def stop(change):
        (alloc,) = change.allocations_by_job(key)
        put_found(change, alloc.changed(desired_status=DesiredStatus.STOP))
        stop_job(change, key)

    store.write("stopped", stop, now=NOW)
    assert store.namespace_use("team").allocations == 1

    delete_namespace(store, "team", by=MANAGER, now=NOW)

    assert store.get(NAMESPACES, "team") is None


def rules(default="", allowed=None, denied=None):
    return NamespacePoolRules(default=default, allowed=allowed, denied=denied)


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        pytest.param(
            rules(allowed=("a",), denied=("b",)),
            ["allowed and denied node pools exclude each other"],
            id="both-lists",
        ),
        pytest.param(
            rules("cpu", allowed=("gpu*",)),
            ['default node pool "cpu" is not allowed'],
            id="default-is-not-among-the-allowed",
        ),
        pytest.param(
            rules("gpu-1", denied=("gpu*",)),
            ['default node pool "gpu-1" is not allowed'],
            id="default-is-denied",
        ),
        pytest.param(
            rules("a*", denied=("b c",)),
            [
                'invalid name "b c", must match regex ^[a-zA-Z0-9-_*]{1,128}$',
                'invalid name "a*", must match regex ^[a-zA-Z0-9-_]{1,128}$',
            ],
            id="names",
        ),
    ],
)
def test_rules_of_pools_that_contradict_themselves_are_refused(store, given, problems):
    with pytest.raises(OperationRefused) as refused:
        put_namespace(
            store, Namespace(name="team", node_pool_configuration=given), by=MANAGER, now=NOW
        )
    told = [f"invalid node pool configuration: {problem}." for problem in problems]
    assert str(refused.value) == f'Invalid namespace "team": {error_text(told)}'


@pytest.mark.parametrize(
    ("given", "pool", "lands"),
    [
        pytest.param(None, "", "default", id="without-rules"),
        pytest.param(rules(), "gpu", "gpu", id="rules-without-lists-allow-every-pool"),
        pytest.param(rules("gpu"), "", "gpu", id="default-of-the-namespace"),
        pytest.param(rules("gpu"), "default", "default", id="a-named-pool-wins"),
        pytest.param(rules(allowed=("g*",)), "gpu", "gpu", id="allowed-by-a-pattern"),
        pytest.param(rules(allowed=("gpu",)), "", "default", id="the-default-is-always-allowed"),
        pytest.param(rules(allowed=("gpu",)), "all", None, id="all-is-a-pool-like-others"),
        pytest.param(rules("gpu", allowed=("gpu",)), "default", None, id="not-among-the-allowed"),
        pytest.param(
            rules("gpu", allowed=()), "gpu", "gpu", id="an-empty-list-leaves-the-default"
        ),
        pytest.param(rules("gpu", allowed=()), "default", None, id="and-nothing-else"),
        pytest.param(rules(denied=("default",)), "", None, id="denied-for-jobs-that-name-none"),
        pytest.param(rules(denied=("g*",)), "gpu", None, id="denied-by-a-pattern"),
        pytest.param(rules(denied=("g*",)), "default", "default", id="not-among-the-denied"),
    ],
)
def test_jobs_go_to_the_pools_that_their_namespace_allows(store, given, pool, lands):
    put_node_pool(store, NodePool(name="gpu"), by=MANAGER, now=NOW)
    put_namespace(
        store, Namespace(name="team", node_pool_configuration=given), by=MANAGER, now=NOW
    )
    request = JobRegistration(job=plain_job(namespace="team", node_pool=pool))

    if lands is None:
        with pytest.raises(OperationRefused) as refused:
            register_job(store, request, by=MANAGER, now=NOW, ids=CountingIDs())
        named = pool or "default"
        line = f'job "web" is not allowed to use node pool "{named}" in namespace "team"'
        assert str(refused.value) == error_text([line])
        assert list(store.jobs()) == []
    else:
        register_job(store, request, by=MANAGER, now=NOW, ids=CountingIDs())
        assert [job.node_pool for job in store.jobs()] == [lands]


def test_a_job_that_names_no_pool_is_planned_where_its_namespace_says(store):
    put_node_pool(store, NodePool(name="gpu"), by=MANAGER, now=NOW)
    own = NamespacePoolRules(default="gpu")
    put_namespace(store, Namespace(name="team", node_pool_configuration=own), by=MANAGER, now=NOW)
    job = plain_job(namespace="team", node_pool="")

    def fill(change):
        put_found(change, make_node(1, node_pool="gpu"))
        put_found(change, make_node(2))

    store.write("filled", fill, now=NOW)
    means = {"by": MANAGER, "now": NOW, "ids": CountingIDs()}
    planned = plan_job(store.snapshot(), job, **means)

    assert [item.node_id for item in planned.placements] == [make_node(1).id]


def test_an_empty_namespace_goes(store):
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)

    delete_namespace(store, "team", by=MANAGER, now=NOW)

    assert store.get(NAMESPACES, "team") is None
