"""Creating and deleting namespaces, on the store in memory."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import OperationRefused
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.namespaces import delete_namespace, put_namespace
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.job import Namespace
from tests.builders import CountingIDs
from tests.callers import MANAGER

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


def test_a_namespace_with_live_jobs_stays(store):
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)
    task = {"Name": "main", "Driver": "mock_driver"}
    job = parse_job(
        {
            "ID": "web",
            "Namespace": "team",
            "Type": "batch",
            "TaskGroups": [{"Name": "group", "Tasks": [task]}],
        }
    )
    register_job(store, JobRegistration(job=job), by=MANAGER, now=NOW, ids=CountingIDs())

    with pytest.raises(OperationRefused, match="has non-terminal jobs in regions"):
        delete_namespace(store, "team", by=MANAGER, now=NOW)


def test_an_empty_namespace_goes(store):
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)

    delete_namespace(store, "team", by=MANAGER, now=NOW)

    assert store.get(NAMESPACES, "team") is None
