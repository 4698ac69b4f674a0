"""Tokens of a record made before there were policies open what they opened, and nothing more."""

import hashlib

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from cluster.operations.acl_rights import bearer_of
from cluster.operations.errors import OperationRefused
from cluster.store.writer import DjangoStateStore
from scheduler.state.nouns import ACL_BOOTSTRAP, ACL_POLICIES, BOOTSTRAP_KEY
from tests.record_databases import database, sqlite_settings

BEFORE = ("cluster", "0011_audit")
CREATED, EXPIRES, NOW = 1_750_000_000_000_000_000, 1_900_000_000_000_000_000, 1_800_000_000 * 10**9
ROOT, DEPLOYS, EYES, OLD = ("11111111-0000-0000-0000-00000000000" + digit for digit in "1234")


def secret_of(accessor):
    return accessor[::-1]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def moved(request, tmp_path_factory, django_db_blocker):
    """A record with tokens of before, brought up to date; read by all tests of it."""
    with django_db_blocker.unblock():
        if request.param == "sqlite":
            settings = sqlite_settings(tmp_path_factory.mktemp("old") / "old.sqlite3")
        else:
            server = request.getfixturevalue("postgres_database").settings
            with database(server) as alias, connections[alias].cursor() as cursor:
                cursor.execute("DROP DATABASE IF EXISTS old_tokens")
                cursor.execute("CREATE DATABASE old_tokens")
            settings = server | {"NAME": "old_tokens"}
        with database(settings) as alias:
            old = MigrationExecutor(connections[alias])
            old.migrate([BEFORE])
            fill(MigrationExecutor(connections[alias]).loader.project_state([BEFORE]).apps, alias)
            newest = MigrationExecutor(connections[alias])
            newest.migrate(newest.loader.graph.leaf_nodes())
            yield DjangoStateStore(alias)
            connections[alias].close()


def fill(apps, alias):
    rows = apps.get_model("cluster", "ApiTokenRow").objects.using(alias)
    for accessor, name, capabilities, expires in (
        (ROOT, "root", {"*": "write"}, 0),
        (DEPLOYS, "deploys", {"team": "write", "default": "read"}, EXPIRES),
        (EYES, "eyes", {"*": "read"}, 0),
        (OLD, "old", {"*": "write"}, CREATED + 1),
    ):
        rows.create(
            accessor_id=accessor,
            secret_hash=hashlib.sha256(secret_of(accessor).encode()).hexdigest(),
            name=name,
            type="management" if accessor == ROOT else "client",
            capabilities=capabilities,
            created=CREATED,
            expires=expires,
        )


def test_a_managers_token_still_opens_everything_and_nobody_can_start_anew(moved):
    bearer = bearer_of(moved, secret_of(ROOT), now=NOW)
    assert bearer.access.is_management
    assert bearer.token.name == "root"
    assert bearer.token.policies == ()
    assert bearer.token.create_time == CREATED
    assert moved.read(lambda reader: reader.get(ACL_BOOTSTRAP, BOOTSTRAP_KEY)) is not None


def test_a_token_of_namespaces_has_a_policy_with_the_rights_it_had(moved):
    bearer = bearer_of(moved, secret_of(DEPLOYS), now=NOW)
    access = bearer.access
    assert bearer.token.policies == (f"made-for-{DEPLOYS}",)
    assert bearer.token.expiration_time == EXPIRES
    for capability in ("submit-job", "dispatch-job", "alloc-lifecycle", "read-logs", "list-jobs"):
        assert access.allows("team", capability)
    for capability in ("list-jobs", "read-job", "read-logs", "read-fs"):
        assert access.allows("default", capability)
    assert not access.allows("default", "submit-job", "alloc-lifecycle", "scale-job")
    assert not access.knows_namespace("other")
    assert access.reads("node")
    assert access.reads("operator")
    assert access.allows_pool("gpu", "read")
    for block in ("node", "agent", "operator", "quota"):
        assert not access.writes(block)


def test_a_token_of_every_namespace_keeps_every_namespace(moved):
    access = bearer_of(moved, secret_of(EYES), now=NOW).access
    assert access.allows("anything", "read-job")
    assert not access.allows("anything", "submit-job")


def test_an_expired_token_stays_expired(moved):
    assert bearer_of(moved, secret_of(OLD), now=NOW) is None


def test_the_policies_made_can_be_written_again_as_they_are(moved):
    from cluster.operations.acl_policies import put_policy
    from tests.callers import MANAGER

    policies = moved.read(lambda reader: reader.list_all(ACL_POLICIES))
    assert len(policies) == 3
    for policy in policies:
        try:
            put_policy(moved, policy, by=MANAGER, now=NOW)
        except OperationRefused as error:
            pytest.fail(str(error))
