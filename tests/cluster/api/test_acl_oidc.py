"""Signing in through the API by a browser, at a provider in a process beside the tests."""

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from cluster.runtime.clock import SystemClock
from cluster.seals import opened_in_time, sealed_for_a_while
from tests.cluster.api.clients import Client
from tests.oidc_process import fields_of, provider, provider_process
from tests.oidc_provider import CLIENT, SECRET

__all__ = ["provider", "provider_process"]

BACK = "http://localhost:4649/oidc/callback"
NONCE = "of the command line"
LOOK = 'namespace "default" { policy = "read" }'


def asked_method(provider, **config):
    return {
        "Name": "campus",
        "Type": "OIDC",
        "TokenLocality": "local",
        "MaxTokenTTL": "1h",
        "TokenNameFormat": "${auth_method_name} of ${value.who}",
        "Config": {
            "OIDCDiscoveryURL": provider.address,
            "OIDCClientID": CLIENT,
            "OIDCClientSecret": SECRET,
            "OIDCEnablePKCE": True,
            "OIDCScopes": ["groups"],
            "AllowedRedirectURIs": [BACK],
            "ClaimMappings": {"preferred_username": "who"},
            "ListClaimMappings": {"groups": "groups"},
            **config,
        },
    }


async def put_method(api, provider, **config):
    answer = await api.put("/v1/acl/auth-method/campus", asked_method(provider, **config))
    assert answer.status == 200, answer.text
    return answer.json


@pytest.fixture
async def method(api, provider):
    """An auth method for the provider, and a rule for its submitters."""
    await api.put("/v1/acl/policy/look", {"Name": "look", "Rules": LOOK})
    made = await put_method(api, provider)
    rule = {
        "AuthMethod": "campus",
        "BindType": "policy",
        "BindName": "look",
        "Selector": '"submitter" in list.groups',
    }
    assert (await api.put("/v1/acl/binding-rule", rule)).status == 200
    return made


def begin(client, **fields):
    asked = {"AuthMethodName": "campus", "RedirectURI": BACK, "ClientNonce": NONCE, **fields}
    return client.put("/v1/acl/oidc/auth-url", asked)


def complete(client, brought, **fields):
    asked = {
        "AuthMethodName": "campus", "RedirectURI": BACK, "ClientNonce": NONCE,
        "State": brought["state"], "Code": brought["code"], **fields,
    }  # fmt: skip
    return client.put("/v1/acl/oidc/complete-auth", asked)


async def brought_back(client, provider, person="kim"):
    """What the browser of a person brings back to the command line."""
    answer = await begin(client)
    assert answer.status == 200, answer.text
    back = provider.signed_in(answer.json["AuthURL"], person)
    assert back.startswith(f"{BACK}?")
    return fields_of(back)


async def test_who_signs_in_with_a_browser_gets_a_token_of_ours(stranger, provider, method):
    answer = await complete(stranger, await brought_back(stranger, provider))
    assert answer.status == 200, answer.text
    token = answer.json
    assert (token["Name"], token["Policies"]) == ("campus of kim", ["look"])
    bearer = Client(token["SecretID"])
    assert (await bearer.get("/v1/jobs")).status == 200
    assert (await bearer.get("/v1/nodes")).status == 403


async def test_the_address_says_what_the_method_says(api, stranger, provider, method):
    fields = fields_of((await begin(stranger)).json["AuthURL"])
    assert (fields["scope"], fields["redirect_uri"]) == ("openid groups", BACK)
    assert fields["code_challenge_method"] == "S256"
    # What is remembered travels along, and says nothing to who carries it.
    assert NONCE not in fields["state"]
    await put_method(api, provider, OIDCEnablePKCE=False)
    brought = await brought_back(stranger, provider)
    assert (await complete(stranger, brought)).status == 200


async def test_whom_no_rule_matches_gets_nothing(stranger, provider, method):
    refused = await complete(stranger, await brought_back(stranger, provider, "sam"))
    assert (refused.status, refused.text) == (400, "no role or policy bindings matched")


async def test_claims_of_the_user_info_endpoint_can_be_left_out(api, stranger, provider, method):
    await put_method(api, provider, OIDCDisableUserInfo=True)
    refused = await complete(stranger, await brought_back(stranger, provider))
    assert (refused.status, refused.text) == (400, "no role or policy bindings matched")


async def test_a_code_works_once(stranger, provider, method):
    brought = await brought_back(stranger, provider)
    assert (await complete(stranger, brought)).status == 200
    again = await complete(stranger, brought)
    assert again.status == 401
    assert "invalid_grant" in again.text


async def test_what_another_command_line_began_is_not_finished(api, stranger, provider, method):
    brought = await brought_back(stranger, provider)
    unknown = (400, "no OIDC request found for client nonce")
    for fields in (
        {"ClientNonce": "another"},
        {"State": "made up"},
        {"State": brought["state"][:-4] + "AAA="},
        {"RedirectURI": "http://localhost:1/"},
    ):
        refused = await complete(stranger, brought, **fields)
        assert (refused.status, refused.text) == unknown
    other = asked_method(provider) | {"Name": "other"}
    assert (await api.put("/v1/acl/auth-method/other", other)).status == 200
    refused = await complete(stranger, brought, AuthMethodName="other")
    assert (refused.status, refused.text) == unknown
    assert (await complete(stranger, brought)).status == 200


async def test_a_sign_in_is_over_after_a_minute(stranger, provider, method):
    brought = await brought_back(stranger, provider)
    now = SystemClock().now()
    said = opened_in_time(brought["state"], life_s=60, now=now)
    refused = await complete(
        stranger, brought, State=sealed_for_a_while(said, now=now - 62 * 10**9)
    )
    assert refused.status == 400
    assert refused.text == "no OIDC request found for client nonce"


async def test_another_provider_than_the_one_asked_is_refused(stranger, provider, method):
    brought = await brought_back(stranger, provider)
    refused = await complete(stranger, brought, Iss="http://elsewhere")
    assert refused.status == 401
    assert (await complete(stranger, brought, Iss=provider.address)).status == 200


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param({"spoil": {"nonce": "another"}}, id="another-nonce"),
        pytest.param({"spoil": {"aud": "another-client"}}, id="another-audience"),
        pytest.param({"spoil": {"iss": "http://elsewhere"}}, id="another-issuer"),
        pytest.param({"spoil": {"exp": 1000, "iat": 900}}, id="expired"),
        pytest.param({"foreign_key": True}, id="another-key"),
        pytest.param({"other_subject": True}, id="another-persons-user-info"),
    ],
)
async def test_an_id_token_that_proves_nothing_gives_no_token(stranger, provider, method, lie):
    provider.tell(**lie)
    refused = await complete(stranger, await brought_back(stranger, provider))
    assert refused.status == 401
    assert refused.text.startswith("failed to exchange token with provider: ")


async def test_browsers_are_sent_back_to_allowed_addresses_only(stranger, method):
    refused = await begin(stranger, RedirectURI="https://evil.example/")
    assert refused.status == 400
    assert "https://evil.example/ is none of AllowedRedirectURIs" in refused.text


NOTHING_ASKED = (
    "invalid OIDC auth-url request: 3 errors occurred:\n\t* missing auth method name"
    "\n\t* missing client nonce\n\t* missing redirect URI\n\n"
)


async def test_what_is_no_sign_in_is_refused_with_every_problem(api, stranger, provider, method):
    refused = await stranger.put("/v1/acl/oidc/auth-url", {})
    assert (refused.status, refused.text) == (400, NOTHING_ASKED)
    refused = await stranger.put("/v1/acl/oidc/complete-auth", {})
    assert refused.status == 400
    for name in ("auth method name", "client nonce", "state", "code", "redirect URI"):
        assert f"missing {name}" in refused.text
    refused = await begin(stranger, AuthMethodName="nope")
    assert (refused.status, refused.text) == (400, 'auth-method "nope" not found')
    signed = asked_method(provider, JWKSURL=provider.address) | {"Name": "signed", "Type": "JWT"}
    assert (await api.put("/v1/acl/auth-method/signed", signed)).status == 200
    refused = await begin(stranger, AuthMethodName="signed")
    assert (refused.status, refused.text) == (400, "unsupported auth-method type: JWT")


async def test_a_provider_that_is_away_is_named(api, stranger, provider, method):
    brought = await brought_back(stranger, provider)
    await put_method(api, provider, OIDCDiscoveryURL="http://127.0.0.1:9")
    for answer in (await begin(stranger), await complete(stranger, brought)):
        assert answer.status == 502
        assert answer.text.startswith("failed to generate OIDC provider: http://127.0.0.1:9/")


def everything_stored(store):
    with connections[store.alias].cursor() as cursor:
        cursor.execute("SELECT body FROM acl_auth_method")
        rows = [bytes(row[0]) for row in cursor.fetchall()]
        cursor.execute("SELECT body FROM event")
        return b"".join([*rows, *(bytes(row[0] or b"") for row in cursor.fetchall())])


async def test_the_record_does_not_know_the_secret_of_a_client(
    api, store, stranger, method, provider
):
    stored = await sync_to_async(everything_stored)(store)
    assert CLIENT.encode() in stored
    assert SECRET.encode() not in stored
    for answer in (
        method,
        (await api.get("/v1/acl/auth-method/campus")).json,
        (await api.put("/v1/acl/auth-method/campus", method)).json,
    ):
        assert answer["Config"]["OIDCClientSecret"] == "redacted"
    # What is shown was sent back, and the secret is still the one that the provider knows.
    assert (await complete(stranger, await brought_back(stranger, provider))).status == 200


async def test_the_same_secret_written_again_is_no_change(api, method, provider):
    assert (await put_method(api, provider))["Hash"] == method["Hash"]
    changed = await put_method(api, provider, OIDCClientSecret="another one")
    assert changed["Hash"] != method["Hash"]


async def test_another_secret_key_is_told_as_what_it_is(stranger, method, settings):
    settings.SECRET_KEY = "another"
    refused = await begin(stranger)
    assert refused.status == 400
    assert "OIDCClientSecret of campus does not open" in refused.text
