"""Namespaces, quotas and node pools in the admin: made, changed and deleted by operations."""

import html

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS
from scheduler.structs.job import Namespace, NamespaceCapabilities, NamespacePoolRules
from scheduler.structs.node import NodePool, NodePoolSchedulerConfiguration
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import SOME_MOMENT
from tests.people import account

NAMESPACE, QUOTA, POOL = (
    f"/admin/cluster/{table}/edit/" for table in ("namespacerow", "quotarow", "nodepoolrow")
)


@pytest.fixture
def operator(store):
    """The administrator's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


def put(store, noun, value):
    store.write(noun.upserted, lambda change: change.put(noun, value), now=SOME_MOMENT)


def stored(store, noun, name):
    return store.read(lambda reader: reader.get(noun, name))


def said(value):
    """Without the indexes that the record keeps."""
    return type(value)(
        **{
            field: getattr(value, field)
            for field in value.__struct_fields__
            if field not in {"create_index", "modify_index"}
        }
    )


def words(answer):
    return " ".join(html.unescape(answer.content.decode()).split())


def test_a_namespace_is_made_with_its_rules(operator, store):
    put(store, QUOTAS, QuotaSpec(name="small"))
    fields = {
        "name": "team", "description": "Us", "quota": "small", "meta": "owner = kim\nrack=a=b",
        "enabled_task_drivers": "exec, mock_driver,,exec", "seen": "0",
        "default_pool": "gpu", "allowed_pools": "gpu, cpu-*",
    }  # fmt: skip
    answer = operator.post(NAMESPACE, fields)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/namespaces/team/")
    assert said(stored(store, NAMESPACES, "team")) == Namespace(
        name="team",
        description="Us",
        quota="small",
        capabilities=NamespaceCapabilities(enabled_task_drivers=("exec", "mock_driver")),
        node_pool_configuration=NamespacePoolRules(default="gpu", allowed=("gpu", "cpu-*")),
        meta={"owner": "kim", "rack": "a=b"},
    )


def test_a_form_says_what_is_stored_and_keeps_it(operator, store):
    space = Namespace(
        name="team",
        description="Us",
        meta={"a": "1", "b": "2"},
        capabilities=NamespaceCapabilities(disabled_network_modes=("host",)),
        node_pool_configuration=NamespacePoolRules(default="gpu", allowed=()),
    )
    put(store, NAMESPACES, space)
    page = operator.get(NAMESPACE, {"name": "team"})
    form = page.context["form"]
    sent = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    seen = page.context["seen"]
    answer = operator.post(f"{NAMESPACE}?name=team", {**sent, "seen": seen})
    assert answer.status_code == 302
    assert said(stored(store, NAMESPACES, "team")) == space


def test_a_quota_is_changed(operator, store):
    put(store, QUOTAS, QuotaSpec(name="small", limits=QuotaAmounts(cpu=1, disk_mb=7)))
    fields = {
        "description": "", "cpu": "500", "disk_mb": "", "cores": "-1", "memory_max_mb": "9",
        "seen": desk_index(store),
    }  # fmt: skip
    assert operator.post(f"{QUOTA}?name=small", fields).status_code == 302
    assert said(stored(store, QUOTAS, "small")).limits == QuotaAmounts(
        cpu=500, cores=-1, memory_max_mb=9
    )


def desk_index(store):
    return stored(store, QUOTAS, "small").modify_index


def test_a_pool_has_settings_of_its_own_or_those_of_the_cluster(operator, store):
    fields = {"name": "gpu", "scheduler_algorithm": "spread", "memory_oversubscription": "no"}
    operator.post(POOL, fields)
    pool = stored(store, NODE_POOLS, "gpu")
    assert pool.scheduler_configuration == NodePoolSchedulerConfiguration(
        scheduler_algorithm="spread", memory_oversubscription_enabled=False
    )
    operator.post(f"{POOL}?name=gpu", {"seen": pool.modify_index})
    assert stored(store, NODE_POOLS, "gpu").scheduler_configuration is None


@pytest.mark.parametrize(
    ("path", "fields", "told"),
    [
        pytest.param(NAMESPACE, {"name": "a b"}, "Must match regex", id="name"),
        pytest.param(NAMESPACE, {"name": ""}, "This field is required", id="no-name"),
        pytest.param(
            NAMESPACE, {"name": "x", "meta": "a=1\nb"}, "Line 2: write key = value", id="meta"
        ),
        pytest.param(
            NAMESPACE, {"name": "x", "meta": "a=1\na=2"}, "a is there already", id="meta-twice"
        ),
        pytest.param(
            NAMESPACE, {"name": "x", "allowed_pools": "a", "denied_pools": "b"},
            "allowed and denied node pools exclude each other", id="pools",
        ),
        pytest.param(NAMESPACE, {"name": "x", "quota": "no"}, "Select a valid choice", id="quota"),
        pytest.param(
            NAMESPACE, {"name": "default"}, "There is a namespace default already", id="taken"
        ),
        pytest.param(QUOTA, {"name": "x", "cpu": "-" + "9" * 30}, "greater than", id="below"),
        pytest.param(QUOTA, {"name": "x", "cpu": "9" * 30}, "less than or equal", id="huge"),
        pytest.param(QUOTA, {"name": "x", "cpu": "many"}, "Enter a whole number", id="no-number"),
        pytest.param(POOL, {"name": "a/b"}, "invalid name", id="pool-name"),
        pytest.param(POOL, {"name": "x", "scheduler_algorithm": "b"}, "choice", id="alg"),
    ],
)  # fmt: skip
def test_a_wrong_form_is_told_and_keeps_what_was_typed(operator, store, path, fields, told):
    put(store, NAMESPACES, Namespace(name="default"))
    before = store.read(lambda reader: reader.index)
    answer = operator.post(path, {"description": "what <b>I</b> typed", **fields})
    assert answer.status_code == 200
    assert told in words(answer)
    assert 'value="what <b>I</b> typed"' in words(answer)
    assert "<b>I" not in answer.content.decode()
    assert store.read(lambda reader: reader.index) == before


def test_what_was_changed_meanwhile_is_not_overwritten(operator, store):
    put(store, QUOTAS, QuotaSpec(name="small", description="theirs"))
    answer = operator.post(f"{QUOTA}?name=small", {"description": "mine", "seen": "1"})
    assert "It was changed since you opened it" in words(answer)
    assert stored(store, QUOTAS, "small").description == "theirs"


def test_what_is_used_is_not_deleted(operator, store):
    put(store, QUOTAS, QuotaSpec(name="small"))
    put(store, NAMESPACES, Namespace(name="team", quota="small"))
    answer = operator.post(f"{QUOTA}?name=small", {"_delete": "yes", "description": "x"})
    assert 'quota "small" is used by namespaces: team' in words(answer)
    assert stored(store, QUOTAS, "small") is not None


@pytest.mark.parametrize(
    ("path", "noun", "value"),
    [
        (NAMESPACE, NAMESPACES, Namespace(name="gone")),
        (QUOTA, QUOTAS, QuotaSpec(name="gone")),
        (POOL, NODE_POOLS, NodePool(name="gone")),
    ],
    ids=["namespace", "quota", "pool"],
)
def test_what_nothing_uses_is_deleted(operator, store, path, noun, value):
    put(store, noun, value)
    assert operator.post(f"{path}?name=gone", {"_delete": "yes"}).status_code == 302
    assert stored(store, noun, "gone") is None


def test_a_built_in_pool_has_no_form(operator, store):
    answer = operator.get(POOL, {"name": "default"})
    assert answer.status_code == 403
    assert "The node pool default is built in: it has no form." in answer.content.decode()


def test_what_is_not_there_has_no_form(operator, store):
    assert operator.get(QUOTA, {"name": "no"}).status_code == 404
    assert operator.get(QUOTA, {"name": "\x00"}).status_code == 404


@pytest.mark.parametrize(
    ("kind", "path", "opens"),
    [
        ("operator", NAMESPACE, False),
        ("operator", QUOTA, True),
        ("operator", POOL, True),
        ("viewer", QUOTA, False),
        ("submitter", POOL, False),
    ],
)
def test_a_form_opens_for_those_who_may_store_it(store, kind, path, opens):
    client = Client()
    client.force_login(account(store, kind))
    before = store.read(lambda reader: reader.index)
    assert (client.get(path).status_code == 200) == opens
    client.post(path, {"name": "x"})
    assert (store.read(lambda reader: reader.index) > before) == opens
