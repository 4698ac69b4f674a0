"""Creating, changing and deleting quotas, on the store in memory."""

import pytest

from cluster.operations.errors import OperationRefused
from cluster.operations.namespaces import put_namespace
from cluster.operations.quotas import QuotaUsage, delete_quota, put_quota, quota_usage
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import QUOTAS
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000
LIMITS = QuotaAmounts(cpu=100)


@pytest.fixture
def store():
    return MemoryStateStore()


def test_a_quota_keeps_its_first_index_when_it_changes(store):
    first = put_quota(store, QuotaSpec(name="q"), by=MANAGER, now=NOW)
    second = put_quota(store, QuotaSpec(name="q", limits=LIMITS), by=MANAGER, now=NOW)
    assert store.get(QUOTAS, "q") == QuotaSpec(
        name="q", limits=LIMITS, create_index=first, modify_index=second
    )


@pytest.mark.parametrize(
    ("quota", "problem"),
    [
        pytest.param(
            QuotaSpec(name="a b"),
            'invalid name "a b". Must match regex ^[a-zA-Z0-9-]{1,128}$',
            id="name",
        ),
        pytest.param(
            QuotaSpec(name="q", description="x" * 257),
            "description longer than 256",
            id="description",
        ),
        pytest.param(
            QuotaSpec(name="q", limits=QuotaAmounts(memory_mb=-(2**63))),
            "limit of MemoryMB is out of range",
            id="limit",
        ),
    ],
)
def test_a_quota_that_breaks_a_rule_is_refused(store, quota, problem):
    with pytest.raises(OperationRefused) as refused:
        put_quota(store, quota, by=MANAGER, now=NOW)
    assert str(refused.value) == (
        f'Invalid quota "{quota.name}": 1 error occurred:\n\t* {problem}\n\n'
    )


def test_a_namespace_names_a_quota_that_exists_and_keeps_it_from_being_deleted(store):
    put_quota(store, QuotaSpec(name="q", limits=LIMITS), by=MANAGER, now=NOW)
    put_namespace(store, Namespace(name="team", quota="q"), by=MANAGER, now=NOW)
    with pytest.raises(OperationRefused) as refused:
        delete_quota(store, "q", by=MANAGER, now=NOW)
    assert str(refused.value) == 'quota "q" is used by namespaces: team'
    assert store.read(lambda reader: quota_usage(reader, "q")) == QuotaUsage(
        name="q", used=QuotaAmounts(), namespaces=("team",)
    )

    put_namespace(store, Namespace(name="team"), by=MANAGER, now=NOW)
    delete_quota(store, "q", by=MANAGER, now=NOW)
    assert store.get(QUOTAS, "q") is None


def test_an_unknown_quota_is_not_deleted(store):
    with pytest.raises(OperationRefused) as refused:
        delete_quota(store, "q", by=MANAGER, now=NOW)
    assert str(refused.value) == "quota not found"
