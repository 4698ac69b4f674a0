"""Root keys through the API, and what anybody may know of them."""

import jwt
import pytest

from cluster.agent.agent_state import NoStorage
from cluster.agent.answers import Answers
from cluster.agent.node_identity import NodeIdentity
from cluster.keyring.root_keys import public_half
from cluster.keyring.tokens import signed, unproved
from cluster.operations.agent_calls import LINKS
from cluster.runtime.clock import SystemClock
from cluster.store.audit import AuditFilter, read_audit
from scheduler.structs.root_key import RootKeyState
from tests.builders import SOME_MOMENT, make_node
from tests.cluster.api.clients import put
from tests.cluster.api.test_client_metadata import Wire
from tests.root_keys import put_keys, root_key

KEYS, ROTATE, KEY = (f"/v1/operator/keyring/{path}" for path in ("keys", "rotate", "key"))
INTRODUCE = "/v1/acl/identity/client-introduction-token"
NODE = make_node(1).id


@pytest.fixture
def keys(store):
    put_keys(store, root_key("first", create_index=1, modify_index=1))


@pytest.mark.usefixtures("keys")
async def test_keys_are_listed_without_what_they_are_made_of(api):
    listed = await api.get(KEYS)
    assert listed.json == [
        {
            "KeyID": "first",
            "Algorithm": "aes256-gcm",
            "CreateTime": SOME_MOMENT,
            "PublishTime": 0,
            "State": "active",
            "CreateIndex": 1,
            "ModifyIndex": 1,
        }
    ]
    assert listed.headers["X-Nomad-Index"] == "2"


@pytest.mark.usefixtures("keys")
async def test_a_rotation_answers_with_the_new_key(api):
    rotated = await api.put(ROTATE)
    key = rotated.json["Key"]
    listed = {each["KeyID"]: each["State"] for each in (await api.get(KEYS)).json}
    assert (key["State"], key["CreateIndex"], key["ModifyIndex"]) == ("active", 0, 0)
    assert rotated.headers["X-Nomad-Index"] == str(rotated.json["Index"])
    assert listed == {"first": "inactive", key["KeyID"]: "active"}
    full = (await api.send("POST", f"{ROTATE}?full")).json["Key"]["KeyID"]
    listed = {each["KeyID"]: each["State"] for each in (await api.get(KEYS)).json}
    assert listed == {"first": "rekeying", key["KeyID"]: "rekeying", full: "active"}


@pytest.mark.usefixtures("keys")
async def test_a_key_may_be_announced(api):
    key = (await api.put(ROTATE, publish_time="5")).json["Key"]
    assert (key["State"], key["PublishTime"]) == ("prepublished", 5)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"publish_time": "soon"}, 'strconv.ParseInt: parsing "soon": invalid syntax'),
        ({"publish_time": "9" * 40}, "invalid publish_time"),
        ({"publish_time": "5", "full": ""}, "cannot be prepublished and full rotated"),
    ],
)
async def test_bad_rotations_are_refused(api, query, words):
    refused = await api.put(ROTATE, **query)
    assert refused.status == 400
    assert words in refused.text
    assert (await api.get(KEYS)).json == []


@pytest.mark.usefixtures("keys")
async def test_deleting_a_key(api, store):
    node = make_node(1, identity_signing_key_id="first")
    await store.acall(lambda: put(store, lambda change: change.put_node(node)))
    kept = (root_key("first", state=RootKeyState.INACTIVE), root_key("second"))
    await store.acall(lambda: put_keys(store, *kept))
    answers = [
        await api.delete(f"{KEY}/gone"),
        await api.delete(f"{KEY}/second"),
        await api.delete(f"{KEY}/first"),
        await api.delete(f"{KEY}/first", force="perhaps"),
    ]
    assert [(each.status, each.text) for each in answers] == [
        (400, "root key not found"),
        (400, "active root key cannot be deleted - call rotate first"),
        (400, "root key in use, cannot delete"),
        (422, "invalid force parameter"),
    ]
    deleted = await api.delete(f"{KEY}/first", force="true")
    assert deleted.json == {"Index": int(deleted.headers["X-Nomad-Index"])}
    assert [key["KeyID"] for key in (await api.get(KEYS)).json] == ["second"]


@pytest.mark.usefixtures("keys")
async def test_anybody_can_check_what_was_signed(stranger, store):
    old = root_key("old", state=RootKeyState.INACTIVE)
    void = root_key("void", state=RootKeyState.DEPRECATED)
    await store.acall(lambda: put_keys(store, old, void))
    answer = await stranger.get("/.well-known/jwks.json")
    known = jwt.PyJWKSet.from_dict(answer.json)
    token = signed({"sub": "x"}, root_key("first"), now=0, life=10**9, token_id="t")
    claims = jwt.decode(
        token,
        known["first"],
        algorithms=["RS256"],
        options={"verify_exp": False, "verify_aud": False},
    )
    assert claims["sub"] == "x"
    assert {key["kid"]: key["use"] for key in answer.json["keys"]} == {
        "first": "sig",
        "old": "sig",
    }
    assert known["old"].key.public_numbers() == public_half(root_key("old")).public_numbers()
    assert answer.headers["Cache-Control"] == "max-age=60"
    assert set(answer.json["keys"][0]) == {"use", "kty", "kid", "alg", "n", "e"}


async def test_discovery_is_told_where_an_issuer_is_set(stranger, settings):
    path = "/.well-known/openid-configuration"
    unset = await stranger.get(path)
    assert (unset.status, unset.text) == (404, "OIDC Discovery endpoint disabled")
    settings.BIVOUAC_TOKEN_ISSUER = "https://cluster.example/"
    told = (await stranger.get(path)).json
    assert (told["issuer"], told["jwks_uri"]) == (
        "https://cluster.example/",
        "https://cluster.example/.well-known/jwks.json",
    )


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("body", "seconds", "pool", "name"),
    [
        ({}, 300, "default", ""),
        ({"TTL": "1m", "NodeName": "n7", "NodePool": "gpu"}, 60, "gpu", "n7"),
        ({"TTL": 3600 * 10**9}, 1800, "default", ""),
    ],
)
async def test_an_introduction_says_for_whom_and_how_long(api, body, seconds, pool, name):
    claims = unproved((await api.put(INTRODUCE, body)).json["JWT"])
    assert claims["exp"] - claims["iat"] == seconds
    assert claims["sub"] == f"node-introduction:global:{pool}:{name}:default"
    assert (claims["nomad_node_pool"], claims.get("nomad_node_name", "")) == (pool, name)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "Request body is empty"),
        ({"TTL": "1x"}, 'unknown unit "x"'),
        ({"TTL": "-1m"}, "TTL must not be negative"),
        ({}, "keyring has not been initialized yet"),
    ],
)
async def test_an_introduction_that_cannot_be_made(api, body, words):
    refused = await api.put(INTRODUCE, body)
    assert refused.status == 400
    assert words in refused.text


async def audited(store):
    def read():
        store.audit.flush()
        return read_audit(store, AuditFilter(), limit=100).rows

    return [(row.act, row.target_kind, row.target_id) for row in await store.acall(read)][::-1]


@pytest.mark.usefixtures("keys")
async def test_the_audit_tells_who_made_what_opens_doors(api, store):
    new = (await api.put(ROTATE)).json["Key"]["KeyID"]
    await api.delete(f"{KEY}/first")
    await api.put(INTRODUCE, {"NodePool": "gpu"})
    assert await audited(store) == [
        ("rotate root key", "root key", new),
        ("delete root key", "root key", "first"),
        ("introduce node", "node pool", "gpu"),
    ]


@pytest.fixture
def identity(store):
    """Of a node that holds a channel."""
    put(store, lambda change: change.put_node(make_node(1)))
    held = NodeIdentity("secret", NoStorage(), SystemClock().now)
    link = Wire(Answers(None, NoStorage(), None, None, held))
    LINKS.add((NODE,), link)
    yield held
    LINKS.remove(link)


async def test_the_identity_of_a_node_is_read_and_renewed(api, identity):
    none = await api.get("/v1/client/identity", node_id=NODE)
    identity.take(signed({"sub": "node"}, root_key(), now=0, life=10**9, token_id="t"))
    told = await api.get("/v1/client/identity", node_id=NODE)
    renewed = await api.put("/v1/client/identity/renew", {"NodeID": NODE})

    assert (none.status, none.text) == (400, "node does not have a JWT identity token")
    assert told.json["Claims"]["sub"] == "node"
    assert (renewed.json, identity.renewal_asked) == ({}, True)


async def test_whose_identity_must_be_said(api, identity):
    missing = await api.get("/v1/client/identity")
    unknown = await api.put("/v1/client/identity/renew", node_id=make_node(2).id)
    assert (missing.status, missing.text) == (400, "No local Node and node_id not provided")
    assert (unknown.status, unknown.text) == (400, f"Unknown node {make_node(2).id}")
