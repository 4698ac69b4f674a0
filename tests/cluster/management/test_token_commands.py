"""`manage.py token`, `join-token` and `login-link`: what a shell on the server can do."""

import json
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from cluster.operations.acl_rights import bearer_of
from cluster.runtime.data_lock import alone_in
from cluster.store.join_tokens import add_join_token, list_join_tokens, use_join_token
from cluster.store.tokens import find_token
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy
from tests.cluster.api.clients import NOW, make_token, put
from tests.process_store import store

__all__ = ["store"]

pytestmark = pytest.mark.usefixtures("store")


def said(*words):
    out = StringIO()
    # `manage.py` takes the hyphens; names of files have none.
    call_command(words[0].replace("-", "_"), *words[1:], stdout=out)
    return out.getvalue()


def told(*words):
    return json.loads(said(*words, "--json"))


def test_a_made_token_opens_doors_and_is_listed_without_its_secret(store):
    made = told("token", "create", "--name", "ci", "--policy", "deploy", "--ttl", "8h")
    token = find_token(store, made["SecretID"]).token
    assert (token.name, token.policies, token.expiration_ttl) == (
        "ci",
        ("deploy",),
        8 * 3600 * 10**9,
    )
    listed = said("token", "list")
    assert token.accessor_id in listed
    assert "deploy" in listed
    assert made["SecretID"] not in listed
    assert "SecretID" not in said("token", "list", "--json")
    assert [row["AccessorID"] for row in told("token", "list")] == [token.accessor_id]


def test_a_policy_that_is_not_there_is_named_when_a_token_is_made(store):
    policy = AclPolicy(name="deploy")
    put(store, lambda change: change.put(ACL_POLICIES, policy))
    text = said("token", "create", "--policy", "deploy", "--policy", "deplyo")
    assert "There is no policy deplyo" in text
    assert "no policy deploy:" not in text


def test_a_managers_token_is_made_where_there_is_none_yet(store):
    text = said("token", "create", "--name", "root", "--type", "management")
    secret = next(line.split()[1] for line in text.splitlines() if line.startswith("Secret"))
    assert bearer_of(store, secret, now=NOW).access.is_management
    assert "not shown again" in text
    assert "everything" in said("token", "list")


def test_a_token_is_revoked_by_how_its_accessor_begins(store):
    made = [told("token", "create", "--type", "management") for _ in range(2)]
    first, second = (row["AccessorID"] for row in made)
    assert said("token", "revoke", first[:13]) == f"Revoked {first}\n"
    assert find_token(store, made[0]["SecretID"]) is None
    assert told("token", "revoke", second) == {"Revoked": [second]}
    with pytest.raises(CommandError, match=f"no token has an accessor that begins with {first}"):
        said("token", "revoke", first)


def test_a_beginning_that_several_tokens_have_revokes_none(store):
    for name in ("one", "two"):
        make_token(store, name)
    with pytest.raises(CommandError, match="2 tokens have an accessor that begins with accessor-"):
        said("token", "revoke", "accessor-")
    assert len(told("token", "list")) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--name", "x"), "client token missing policies or roles"),
        (("--policy", "p", "--ttl", "10s"), "cannot be less than 1m0s"),
        (("--policy", "p", "--ttl", "soon"), "no span of time"),
        (("--role", "nope"), "cannot find role nope"),
        (("--type", "boss"), "invalid choice"),
    ],
)
def test_what_cannot_be_made_is_said(words, problem):
    with pytest.raises(CommandError, match=problem):
        said("token", "create", *words)
    assert told("token", "list") == []


def test_a_join_token_tells_its_uses_and_how_many_joined(store):
    made = told("join-token", "create", "--name", "rack", "--uses", "2", "--ttl", "24h")
    assert use_join_token(made["Token"], "n-1", now=NOW)
    (row,) = told("join-token", "list")
    assert (row["ID"], row["Name"], row["UsesLeft"], row["NodesJoined"]) == (
        made["ID"],
        "rack",
        1,
        1,
    )
    assert made["Token"] not in said("join-token", "list")
    assert said("join-token", "revoke", made["ID"]) == f"Revoked {made['ID']}\n"
    assert not use_join_token(made["Token"], "n-1", now=NOW)
    with pytest.raises(CommandError, match="no join token is called"):
        said("join-token", "revoke", made["ID"])


def test_commands_name_the_address_that_the_server_really_has(
    store, settings, tmp_path, monkeypatch
):
    monkeypatch.delenv("BIVOUAC_PUBLIC_URL", raising=False)
    get_user_model().objects.create_user("kim")
    settings.BIVOUAC_DATA_DIR = tmp_path

    def named():
        made = told("join-token", "create")["Command"].split()
        link = told("login-link", "--user", "kim")["Link"].partition("/login/")[0]
        return made[made.index("--join") + 1], link

    usual = settings.BIVOUAC_PUBLIC_URL
    assert named() == (usual, usual)
    with alone_in(tmp_path, "http://127.0.0.1:5646"):
        assert named() == ("http://127.0.0.1:5646", "http://127.0.0.1:5646")
        monkeypatch.setenv("BIVOUAC_PUBLIC_URL", usual)
        assert named() == (usual, usual)
    monkeypatch.delenv("BIVOUAC_PUBLIC_URL")
    with alone_in(tmp_path, "a restore"):
        assert named() == (usual, usual)
    assert named() == (usual, usual)


def test_a_join_token_renewed_keeps_its_count(store):
    add_join_token("secret", name="up", now=NOW)
    assert use_join_token("secret", "n-1", now=NOW)
    add_join_token("secret", name="up", now=NOW + 1)
    (token,) = list_join_tokens()
    assert (token.nodes_joined, token.created) == (1, NOW + 1)
    assert "unlimited" in said("join-token", "list")


def test_the_last_use_of_a_join_token_is_the_last(store):
    add_join_token("secret", name="one", now=NOW, uses=1)
    assert use_join_token("secret", "n-1", now=NOW)
    assert not use_join_token("secret", "n-1", now=NOW)


def test_a_login_link_signs_in_once(store):
    get_user_model().objects.create_user("kim")
    link = told("login-link", "--user", "kim")["Link"]
    path = "/" + link.partition("://")[2].partition("/")[2]
    browser = Client()
    assert browser.get(path).status_code == 302
    assert browser.session["_auth_user_id"] == str(get_user_model().objects.get().pk)
    assert Client().get(path).status_code != 302


def test_nobody_gets_a_link_to_an_account_that_is_not_there(store):
    get_user_model().objects.create_user("ann", is_active=False)
    for name, problem in (("nobody", "there is no account"), ("ann", "is switched off")):
        with pytest.raises(CommandError, match=problem):
            said("login-link", "--user", name)
