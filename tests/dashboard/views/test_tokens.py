"""Tokens, roles and join tokens on the pages of managers: made, listed, taken back."""

import pytest

from cluster.models import JoinedNodeRow
from cluster.store.join_tokens import list_join_tokens, use_join_token
from cluster.store.token_uses import PRECISION
from cluster.store.tokens import find_token, forget_expired
from dashboard.queries.tokens import used_told
from scheduler.state.nouns import ACL_ROLES, ACL_TOKENS
from tests.builders import SOME_MOMENT
from tests.dashboard.views.conftest import Browser
from tests.people import account


@pytest.fixture
def manager(store):
    return Browser(account(store, "administrator"))


def tokens(store):
    return {each.name: each for each in store.read(lambda reader: reader.list_all(ACL_TOKENS))}


def test_a_token_is_made_shown_once_and_revoked(manager, store):
    answer = manager.post(
        "/access/make-token/", name="ci", ends="3600", policies=["viewer", "submitter"]
    )
    secret = answer.context["made"].secret
    assert secret in answer.text
    token = tokens(store)["ci"]
    assert token.policies == ("viewer", "submitter")
    page = manager.get("/access/tokens/").text
    assert "viewer, submitter" in page
    assert secret not in page
    manager.post("/access/revoke-token/", token=token.accessor_id)
    assert find_token(store, secret) is None
    assert tokens(store) == {}


def test_what_never_ends_is_worth_a_look_and_stands_first(manager):
    manager.post("/access/make-token/", name="ends", ends="3600", policies=["viewer"])
    manager.post("/access/make-token/", name="endless", ends="0", policies=["viewer"])
    manager.post("/access/make-token/", name="mighty", ends="0", policies=["*"])
    page = manager.get("/access/tokens/")
    assert [line.token.name for line in page.context["tokens"]] == ["mighty", "endless", "ends"]
    assert "3 tokens, 2 of them without an end." in page.text


def test_a_token_that_cannot_be_made_is_refused_with_what_was_typed(manager, store):
    answer = manager.post("/access/make-token/", name="ci", ends="3600")
    assert answer.status == 400
    assert "missing policies or roles" in answer.text
    assert 'value="ci"' in answer.text
    assert tokens(store) == {}


def test_a_role_is_made_given_to_a_token_and_deleted(manager, store):
    manager.post("/access/save-role/", name="scaler", description="", policies=["submitter"])
    (role,) = store.read(lambda reader: reader.list_all(ACL_ROLES))
    manager.post("/access/make-token/", name="autoscaler", ends="3600", roles=[role.id])
    page = manager.get("/access/roles/")
    assert [(each.name, count) for each, count in page.context["roles"]] == [("scaler", 1)]
    assert "role scaler" in manager.get("/access/tokens/").text
    manager.post("/access/delete-role/", id=role.id)
    assert store.read(lambda reader: reader.list_all(ACL_ROLES)) == []


def test_a_policy_says_which_groups_roles_and_tokens_have_it(manager, store):
    manager.post("/access/new-policy/", name="shop", text='namespace "shop" { policy = "read" }')
    assert "No group, role or token has it yet." in manager.get("/access/policies/shop/").text
    manager.post("/access/save-role/", name="selling", description="", policies=["shop"])
    for name in ("a", "b"):
        manager.post("/access/make-token/", name=name, ends="3600", policies=["shop"])
    page = " ".join(manager.get("/access/policies/shop/").text.split())
    assert "Used by 1 role and 2 tokens." in page


def test_a_role_is_changed_and_stays_the_same_role(manager, store):
    manager.post("/access/save-role/", name="scaler", description="", policies=["submitter"])
    (made,) = store.read(lambda reader: reader.list_all(ACL_ROLES))
    page = manager.get("/access/roles/", change=made.id)
    assert 'value="scaler"' in page.text
    assert 'value="submitter" checked' in page.text
    assert 'value="viewer" checked' not in page.text
    changed = {"id": made.id, "name": "looker", "policies": ["viewer"]}
    assert manager.post("/access/save-role/", description="", **changed).status == 302
    (role,) = store.read(lambda reader: reader.list_all(ACL_ROLES))
    assert (role.id, role.name) == (made.id, "looker")
    assert [link.name for link in role.policies] == ["viewer"]


def test_a_role_without_a_policy_is_refused(manager, store):
    answer = manager.post("/access/save-role/", name="scaler", description="")
    assert answer.status == 400
    assert "at least one policy" in answer.text.lower()


def test_a_join_token_is_made_tells_its_nodes_and_is_taken_back(manager, store, node):
    answer = manager.post("/access/make-join-token/", name="rack-7", uses="2", ends="3600")
    secret = answer.context["secret"]
    assert secret in answer.text
    assert use_join_token(secret, node.id, now=SOME_MOMENT)
    page = manager.get("/access/join-tokens/")
    (line,) = page.context["joins"]
    assert (line.uses, line.token.nodes_joined, line.word) == ("1", 1, "open")
    assert f'<a href="/nodes/{node.id}/">{node.name}</a>' in page.text
    assert secret not in page.text
    manager.post("/access/revoke-join-token/", token=line.token.id)
    assert not use_join_token(secret, "n-2", now=SOME_MOMENT)
    assert list_join_tokens() == []


def test_the_one_command_that_joins_a_machine_is_shown_with_the_token(manager, settings):
    page = manager.get("/nodes/").text
    assert 'href="/access/join-tokens/#new-join"' in page
    answer = manager.post("/access/make-join-token/", name="rack-7", ends="0")
    address, secret = settings.BIVOUAC_PUBLIC_URL, answer.context["secret"]
    assert f"bivouac agent --join {address} --token {secret} --install" in answer.text
    assert "plain http" in answer.text


def test_who_may_make_no_join_token_is_not_led_to_them(store):
    operator = Browser(account(store, "operator"))
    page = operator.get("/nodes/")
    assert page.status == 200
    assert "/access/join-tokens/" not in page.text


@pytest.mark.parametrize(
    "fields", [{"name": ""}, {"name": "x", "uses": "-1"}, {"name": "x", "uses": "0"}]
)
def test_a_join_token_without_name_or_uses_is_refused(manager, fields):
    answer = manager.post("/access/make-join-token/", **fields)
    assert answer.status == 400
    assert list_join_tokens() == []


def test_nodes_that_are_gone_are_forgotten_with_the_secrets(manager, store, node):
    secret = manager.post("/access/make-join-token/", name="rack-7", ends="0").context["secret"]
    for node_id in (node.id, "gone"):
        assert use_join_token(secret, node_id, now=SOME_MOMENT)
    (line,) = manager.get("/access/join-tokens/").context["joins"]
    assert line.nodes == ((node.id, node.name),)
    forget_expired(store, now=SOME_MOMENT + 2 * 86_400 * 10**9)
    assert set(JoinedNodeRow.objects.values_list("pk", flat=True)) == {node.id}


def test_the_tabs_tell_how_much_stands_behind_each(manager):
    manager.post("/access/make-token/", name="ci", ends="3600", policies=["viewer"])
    manager.post("/access/save-role/", name="scaler", description="", policies=["submitter"])
    manager.post("/access/make-join-token/", name="rack", uses="1", ends="3600")
    for page in ("policies", "tokens", "roles", "join-tokens"):
        tabs = manager.get(f"/access/{page}/").context["tabs"]
        counts = {tab["word"]: tab["count"] for tab in tabs}
        assert counts == {
            "Policies": 3, "Tokens": 1, "Roles": 1, "Join tokens": 1, "Groups": 4, "Accounts": 1,
        }  # fmt: skip
        assert [tab["url"] for tab in tabs if tab["is_current"]] == [f"/access/{page}/"]


@pytest.mark.parametrize(
    ("hours", "told"),
    [(0.5, "in the last hour"), (1, "1 h ago"), (47.9, "47 h ago"), (48, "2 d ago")],
)
def test_the_last_use_of_a_token_is_told_to_the_hour(hours, told):
    assert used_told(SOME_MOMENT, SOME_MOMENT + round(hours * PRECISION)) == told


def test_a_token_of_which_no_use_was_noted_says_so(manager):
    manager.post("/access/make-token/", name="ci", ends="3600", policies=["viewer"])
    (line,) = manager.get("/access/tokens/").context["tokens"]
    assert line.used == "no use noted"
