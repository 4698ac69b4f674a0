"""Signing in with a token of elsewhere, against a key server that runs in the test."""

import base64
import hashlib
import hmac
import http.server
import json
import threading

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cluster.runtime.clock import SystemClock
from tests.cluster.api.clients import Client

LOOK = 'namespace "default" { policy = "read" }'
MEMBER = {"sub": "kim", "team": "Deploy", "org": {"groups": ["dev", "ops"]}, "aud": "bivouac"}


def now_s():
    return SystemClock().now() // 10**9


def number(value):
    octets = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


class Issuer:
    """A small provider: its keys, and the addresses that tell them."""

    def __init__(self):
        self.keys = {"one": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        self.asked = []
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                pages = {
                    "/keys": issuer.key_set,
                    "/.well-known/openid-configuration": issuer.description,
                    "/broken": lambda: "no object",
                }
                if self.path not in pages:
                    self.send_error(404)
                    return
                body = json.dumps(pages[self.path]()).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Tests are quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def description(self):
        return {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}

    def key_set(self):
        numbers = {name: key.public_key().public_numbers() for name, key in self.keys.items()}
        return {
            "keys": [
                {"kty": "RSA", "kid": name, "use": "sig", "n": number(each.n), "e": number(each.e)}
                for name, each in numbers.items()
            ]
        }

    def signed(self, key="one", algorithm="RS256", headers=None, **claims):
        """A token of a member, good for five minutes; None takes a claim away."""
        now = now_s()
        said = {**MEMBER, "iss": self.address, "iat": now, "exp": now + 300, **claims}
        said = {name: item for name, item in said.items() if item is not None}
        named = {"kid": key} if headers is None else headers
        return jwt.encode(said, self.keys[key], algorithm=algorithm, headers=named)

    def pem(self):
        public = self.keys["one"].public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer():
    running = Issuer()
    yield running
    running.close()


@pytest.fixture
async def method(api, issuer):
    """An auth method that trusts the issuer's set of keys."""
    for name in ("deploy", "dev"):
        await api.put(f"/v1/acl/policy/{name}", {"Name": name, "Rules": LOOK})
    role = {"Name": "ops", "Policies": [{"Name": "dev"}]}
    assert (await api.put("/v1/acl/role", role)).status == 200
    return await changed_method(api, JWKSURL=f"{issuer.address}/keys")


CLAIMS = {
    "BoundAudiences": ["bivouac"],
    "ClaimMappings": {"team": "team", "sub": "who"},
    "ListClaimMappings": {"/org/groups": "groups"},
}


async def changed_method(api, **config):
    asked = {
        "Name": "sso",
        "Type": "JWT",
        "TokenLocality": "local",
        "MaxTokenTTL": "1h",
        "TokenNameFormat": "${auth_method_name} of ${value.who}",
        "Config": CLAIMS | config,
    }
    answer = await api.put("/v1/acl/auth-method/sso", asked)
    assert answer.status == 200, answer.text
    return answer.json


async def rule(api, **fields):
    asked = {"AuthMethod": "sso", "BindType": "policy", **fields}
    answer = await api.put("/v1/acl/binding-rule", asked)
    assert answer.status == 200, answer.text
    return answer.json


async def login(client, token, method="sso"):
    return await client.put("/v1/acl/login", {"AuthMethodName": method, "LoginToken": token})


async def test_whoever_is_known_elsewhere_gets_a_token_of_ours(api, stranger, issuer, method):
    await rule(api, BindName="${value.team}", Selector='"dev" in list.groups')
    await rule(api, BindType="role", BindName="ops", Selector='value.who == "kim"')
    await rule(api, BindName="gone")
    await rule(api, BindName="dev", Selector='value.who == "ann"')
    answer = await login(stranger, issuer.signed())
    assert answer.status == 200, answer.text
    token = answer.json
    assert (token["Name"], token["Type"], token["Global"]) == ("sso of kim", "client", False)
    assert token["Policies"] == ["deploy"]
    assert [role["Name"] for role in token["Roles"]] == ["ops"]
    assert token["ExpirationTTL"] == "1h0m0s"
    bearer = Client(token["SecretID"])
    assert (await bearer.get("/v1/jobs")).status == 200
    assert (await bearer.get("/v1/nodes")).status == 403


async def test_a_rule_can_make_managers(api, stranger, issuer, method):
    await rule(api, BindType="management", Selector='"ops" in list.groups')
    token = (await login(stranger, issuer.signed())).json
    assert (token["Type"], token["Policies"]) == ("management", None)
    assert (await Client(token["SecretID"]).get("/v1/acl/tokens")).status == 200


async def test_whom_no_rule_matches_gets_nothing(api, stranger, issuer, method):
    await rule(api, BindName="deploy", Selector='value.nothing.deeper == "x"')
    refused = await login(stranger, issuer.signed())
    assert (refused.status, refused.text) == (400, "no role or policy bindings matched")


async def test_keys_come_from_texts_sets_or_discovery(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    for config in (
        {"JWTValidationPubKeys": [issuer.pem()]},
        {"JWKSURL": f"{issuer.address}/keys"},
        {"OIDCDiscoveryURL": issuer.address},
    ):
        await changed_method(api, **config)
        assert (await login(stranger, issuer.signed())).status == 200, config
    assert issuer.asked.count("/.well-known/openid-configuration") == 1


async def test_a_key_that_was_exchanged_counts_at_once(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    old = issuer.signed()
    issuer.keys["two"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    del issuer.keys["one"]
    assert (await login(stranger, issuer.signed(key="two"))).status == 200
    assert (await login(stranger, issuer.signed(key="two", headers={}))).status == 200
    assert (await login(stranger, old)).status == 401


PROOF = "unable to validate provided token: "
SIGNATURE = f"{PROOF}unable to verify signature of JWT token: "


async def test_tokens_that_prove_nothing(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    now = now_s()
    no_times = {"iat": None, "exp": None}
    for token, said in (
        (issuer.signed(exp=now - 3600, iat=now - 7200), "token is expired"),
        (issuer.signed(nbf=now + 3600), "token not yet valid"),
        (issuer.signed(iat=now + 3600, nbf=now), "token issued in the future"),
        (issuer.signed(aud="others"), "does not match any expected audience"),
        (issuer.signed(aud=None), "does not match any expected audience"),
        (issuer.signed(**no_times), "no issued at (iat), not before (nbf), or expiration"),
        (issuer.signed(exp="soon"), "the claim exp is no number of seconds"),
        (issuer.signed(algorithm="RS512"), "error verifying token signature"),
        (issuer.signed()[:-8] + "AAAAAAAA", "error verifying token signature"),
        ("not.a.token", "error verifying token signature"),
        ("x" * 100_000, "longer than"),
    ):
        refused = await login(stranger, token)
        assert refused.status == 401, said
        assert refused.text.startswith(SIGNATURE)
        assert said in refused.text
    assert len((await api.get("/v1/acl/tokens")).json) == 1


async def test_nobody_signs_with_the_public_key_or_with_none(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    await changed_method(api, JWTValidationPubKeys=[issuer.pem()])
    now = now_s()
    said = {**MEMBER, "exp": now + 300}
    unsigned = jwt.encode(said, None, algorithm="none")
    head, body = unsigned.split(".")[:2]
    forged_head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=").decode()
    mac = hmac.new(issuer.pem().encode(), f"{forged_head}.{body}".encode(), hashlib.sha256)
    forged = f"{forged_head}.{body}.{base64.urlsafe_b64encode(mac.digest()).rstrip(b'=').decode()}"
    for token in (unsigned, forged, f"{head}.{body}."):
        assert (await login(stranger, token)).status == 401


async def test_the_issuer_is_bound(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    keys = f"{issuer.address}/keys"
    await changed_method(api, JWKSURL=keys, BoundIssuer=["https://sso.example"])
    refused = await login(stranger, issuer.signed())
    assert (refused.status, refused.text) == (
        401,
        f"{PROOF}invalid JWT issuer: {issuer.address}",
    )
    assert (await login(stranger, issuer.signed(iss="https://sso.example"))).status == 200


async def test_leeways_are_those_of_the_method(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    ended = {"exp": now_s() - 40, "iat": now_s() - 400}
    assert (await login(stranger, issuer.signed(**ended))).status == 200
    await changed_method(api, JWKSURL=f"{issuer.address}/keys", ClockSkewLeeway="1s")
    assert (await login(stranger, issuer.signed(**ended))).status == 401


async def test_keys_that_cannot_be_had_are_named(api, stranger, issuer, method):
    await rule(api, BindName="deploy")
    for config, said in (
        ({"JWKSURL": f"{issuer.address}/nothing"}, "/nothing"),
        ({"JWKSURL": f"{issuer.address}/broken"}, "no JSON object"),
        ({"OIDCDiscoveryURL": f"{issuer.address}/else"}, "/else/.well-known"),
        ({"JWKSURL": "file:///etc/passwd"}, "no http address"),
        ({"JWTValidationPubKeys": ["nonsense"]}, "no public key"),
    ):
        await changed_method(api, **config)
        refused = await login(stranger, issuer.signed())
        assert refused.status == 401
        assert refused.text.startswith(PROOF)
        assert said in refused.text


async def test_claims_that_cannot_be_used_are_named(api, stranger, issuer, method):
    await rule(api, BindName="${value.team}")
    for claims, said in (
        ({"team": ["a"]}, "error converting claim 'team' to string from unknown type"),
        ({"org": {"groups": [{}]}}, '"/org/groups" list claim could not be converted'),
        ({"team": "a b"}, 'computed "policy" bind name for bind target is invalid: "a b"'),
        ({"team": None}, 'cannot compute "policy" bind name'),
        ({"sub": None}, "failed to generate token name"),
    ):
        team = {"team": "deploy"} if "sub" in claims else {}
        refused = await login(stranger, issuer.signed(**(team | claims)))
        assert refused.status == 400
        assert said in refused.text


async def test_numbers_and_truths_are_texts_too(api, stranger, issuer, method):
    await rule(api, BindName="deploy", Selector='value.team == "true" and "7" in list.groups')
    token = issuer.signed(team=True, org={"groups": 7})
    assert (await login(stranger, token)).status == 200


NOTHING_SENT = (
    "invalid login request: 2 errors occurred:\n\t* missing auth method name"
    "\n\t* missing login token\n\n"
)


async def test_what_is_no_login(stranger, method):
    for body, text in (
        ({}, NOTHING_SENT),
        ({"AuthMethodName": "no", "LoginToken": "x"}, 'auth-method "no" not found'),
    ):
        refused = await stranger.put("/v1/acl/login", body)
        assert (refused.status, refused.text) == (400, text)


async def test_everybody_may_ask_how_to_sign_in(api, stranger, method):
    stub = {name: method[name] for name in ("Name", "Type", "Default", "Hash", "CreateIndex")}
    for caller in (api, stranger, Client("00000000-0000-4000-8000-000000000000")):
        (listed,) = (await caller.get("/v1/acl/auth-methods")).json
        assert listed == stub | {"ModifyIndex": method["ModifyIndex"]}
    assert (await stranger.get("/v1/acl/auth-method/sso")).status == 403
    read = (await api.get("/v1/acl/auth-method/sso")).json
    assert read == method
    assert (read["MaxTokenTTL"], read["Config"]["ExpirationLeeway"]) == ("1h0m0s", "")


async def test_an_update_of_a_method_keeps_what_is_left_out(api, method):
    answer = await api.put("/v1/acl/auth-method", {"Name": "sso", "Default": True})
    kept = ("Type", "TokenLocality", "TokenNameFormat", "MaxTokenTTL", "Config", "CreateTime")
    assert {name: answer.json[name] for name in kept} == {name: method[name] for name in kept}
    assert answer.json["Default"] is True
    other = {**method, "Name": "other", "Default": True}
    refused = await api.put("/v1/acl/auth-method/other", other)
    assert (refused.status, refused.text) == (400, "default method already exists: sso")


NOTHING_RIGHT = (
    "auth method 0 invalid: 5 errors occurred:"
    "\n\t* invalid name 'j 1'"
    "\n\t* invalid token locality ''"
    "\n\t* invalid token type 'x'"
    "\n\t* invalid MaxTokenTTL value '48h0m0s' (should be between 1m0s and 24h0m0s)"
    "\n\t* invalid config: missing auth method Config\n\n"
)
NO_KEYS = (
    "auth method 0 invalid: 1 error occurred:\n\t* invalid config: JWT auth method requires"
    " either OIDCDiscoveryURL, or JWKS URL, or JWTValidationPubKeys set\n\n"
)
JWT = {"Name": "j", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h"}
WRONG_METHODS = [
    ({"Name": "j 1", "Type": "x", "MaxTokenTTL": "48h"}, NOTHING_RIGHT),
    (JWT | {"Config": {}}, NO_KEYS),
]


@pytest.mark.parametrize(("body", "text"), WRONG_METHODS)
async def test_a_wrong_method_is_refused_with_every_problem(api, body, text):
    refused = await api.put("/v1/acl/auth-method", body)
    assert (refused.status, refused.text) == (400, text)
    assert (await api.get("/v1/acl/auth-methods")).json == []


async def test_the_secret_of_a_client_is_told_nobody(api):
    config = {
        "OIDCDiscoveryURL": "https://sso.example",
        "OIDCClientID": "bivouac",
        "OIDCClientSecret": "hush",
    }
    asked = {
        "Name": "web", "Type": "OIDC", "TokenLocality": "local", "MaxTokenTTL": "1h",
        "Config": config,
    }  # fmt: skip
    written = await api.put("/v1/acl/auth-method/web", asked)
    assert written.json["Config"]["OIDCClientSecret"] == "redacted"
    assert "hush" not in (await api.get("/v1/acl/auth-method/web")).text
    refused = await login(api, "x", method="web")
    assert (refused.status, refused.text) == (400, "unsupported auth-method type: OIDC")


async def test_rules_are_shown_changed_and_deleted(api, method):
    first = await rule(
        api, BindName="deploy", Description="Deployers", Selector="value.a is empty"
    )
    path = f"/v1/acl/binding-rule/{first['ID']}"
    assert (await api.get(path)).json == first
    stub = ("ID", "Description", "AuthMethod", "Hash", "CreateIndex", "ModifyIndex")
    listed = (await api.get("/v1/acl/binding-rules")).json
    assert listed == [{name: first[name] for name in stub}]
    changed = (await api.put(path, {"ID": first["ID"]})).json
    assert (changed["BindName"], changed["AuthMethod"]) == ("deploy", "sso")
    assert (changed["Description"], changed["Selector"]) == ("", "")
    other = await api.put(path, {"ID": first["ID"], "AuthMethod": "other"})
    assert other.text == ("cannot update auth method for binding rule, create a new rule instead")
    assert (await api.delete(path)).status == 200
    assert (await api.get(path)).status == 404
    gone = await api.delete(path)
    assert (gone.status, gone.text) == (400, "ACL binding rule not found")


WRONG_RULES = [
    (
        {"Description": "x" * 257},
        ["auth method is missing", "bind type is missing", "description longer than 256"],
    ),
    ({"AuthMethod": "sso", "BindType": "bogus"}, ['unsupported bind type: "bogus"']),
    ({"AuthMethod": "sso", "BindType": "role"}, ["bind name is missing"]),
    (
        {"AuthMethod": "sso", "BindType": "management", "BindName": "x"},
        ["bind name should be empty"],
    ),
    (
        {"AuthMethod": "sso", "BindType": "role", "BindName": "x", "Selector": "a ="},
        ["selector is invalid: 1:3 (2): no match found, expected: "],
    ),
]


@pytest.mark.parametrize(("body", "problems"), WRONG_RULES)
async def test_a_wrong_rule_is_refused_with_every_problem(api, method, body, problems):
    refused = await api.put("/v1/acl/binding-rule", body)
    assert refused.status == 400
    assert refused.text.startswith("binding rule 0 invalid: ")
    assert refused.text.count("\n\t* ") == len(problems)
    for problem in problems:
        assert f"\n\t* {problem}" in refused.text
    unknown = await api.put(
        "/v1/acl/binding-rule", {"AuthMethod": "nope", "BindType": "management"}
    )
    assert (unknown.status, unknown.text) == (400, "ACL auth method nope not found")


async def test_only_managers_write_methods_and_rules(tenant, stranger, method):
    for caller in (tenant, stranger):
        for kind, path, body in (
            ("PUT", "auth-method", {"Name": "x"}),
            ("DELETE", "auth-method/sso", None),
            ("PUT", "binding-rule", {"AuthMethod": "sso"}),
            ("GET", "binding-rules", None),
            ("GET", "binding-rule/x", None),
            ("DELETE", "binding-rule/x", None),
        ):
            refused = await caller.send(kind, f"/v1/acl/{path}", body)
            assert (refused.status, refused.text) == (403, "Permission denied"), path
