"""Tokens over the API: made with an expiry and roles, shown once, changed, listed, taken back."""

from datetime import datetime, timedelta

import msgspec
import pytest

from scheduler.state.nouns import ACL_TOKENS
from tests.cluster.api.clients import NOW, Client, accessor_of, make_token
from tests.scheduler.collection.rounds import run_core

UNKNOWN = "00000000-0000-4000-8000-000000000000"
SECRET = "aaaaaaaa-0000-4000-8000-00000000000a"
READ = 'namespace "default" { policy = "read" }'
ONE_PROBLEM = "token 0 invalid: 1 error occurred:\n\t* {}\n\n"


@pytest.fixture
async def policy(api):
    """A policy that lets its bearers read one namespace."""
    assert (await api.put("/v1/acl/policy/look", {"Name": "look", "Rules": READ})).status == 200
    return "look"


async def made(api, **fields):
    answer = await api.put("/v1/acl/token", {"Type": "client", "Policies": ["look"], **fields})
    assert answer.status == 200, answer.text
    return answer.json


async def test_a_new_token_is_shown_with_its_secret_and_opens_what_its_policy_says(api, policy):
    token = await made(api, Name="ci")
    assert token | {"AccessorID": "", "SecretID": "", "CreateTime": "", "Hash": ""} == {
        "AccessorID": "",
        "SecretID": "",
        "Name": "ci",
        "Type": "client",
        "Policies": ["look"],
        "Roles": [],
        "Global": False,
        "Hash": "",
        "CreateTime": "",
        "ExpirationTime": None,
        "ExpirationTTL": "",
        "CreateIndex": token["CreateIndex"],
        "ModifyIndex": token["CreateIndex"],
    }
    bearer = Client(token["SecretID"])
    assert (await bearer.get("/v1/jobs")).status == 200
    assert (await bearer.get("/v1/jobs", namespace="team")).status == 403
    assert (await bearer.get("/v1/nodes")).status == 403


async def test_a_changed_policy_is_felt_by_the_next_request(api, policy):
    bearer = Client((await made(api))["SecretID"])
    assert (await bearer.get("/v1/nodes")).status == 403
    await api.put("/v1/acl/policy/look", {"Name": "look", "Rules": 'node { policy = "read" }'})
    assert (await bearer.get("/v1/nodes")).status == 200
    assert (await bearer.get("/v1/jobs")).status == 403
    await api.delete("/v1/acl/policy/look")
    assert (await bearer.get("/v1/nodes")).status == 403


async def test_the_secret_is_shown_to_its_bearer_and_to_nobody_else(api, policy):
    token = await made(api)
    path = f"/v1/acl/token/{token['AccessorID']}"
    bearer = Client(token["SecretID"])
    for own in ("/v1/acl/token/self", path):
        read = await bearer.get(own)
        assert read.json == token
        assert read.headers["X-Nomad-Index"] == str(token["ModifyIndex"])
    assert (await api.get(path)).json == token | {"SecretID": ""}


async def test_lists_have_stubs_in_order_of_creation_by_prefix_and_in_pages(api, policy):
    tokens = [await made(api, Name=str(number), Global=number == 1) for number in range(3)]
    listed = (await api.get("/v1/acl/tokens")).json
    assert [stub["Name"] for stub in listed] == ["root", "0", "1", "2"]
    assert all("SecretID" not in stub and "ExpirationTTL" not in stub for stub in listed)
    first = await api.get("/v1/acl/tokens", per_page="2")
    token = first.headers["X-Nomad-NextToken"]
    rest = await api.get("/v1/acl/tokens", per_page="2", next_token=token)
    assert [stub["Name"] for stub in (*first.json, *rest.json)] == ["root", "0", "1", "2"]
    reversed_ = await api.get("/v1/acl/tokens", reverse="true")
    assert [stub["Name"] for stub in reversed_.json] == ["2", "1", "0", "root"]
    only = await api.get("/v1/acl/tokens", **{"global": "true"})
    assert [stub["Name"] for stub in only.json] == ["1"]
    filtered = await api.get("/v1/acl/tokens", filter='"look" in Policies and Name != "0"')
    assert [stub["Name"] for stub in filtered.json] == ["1", "2"]
    prefix = tokens[1]["AccessorID"][:8]
    assert [stub["Name"] for stub in (await api.get("/v1/acl/tokens", prefix=prefix)).json] == [
        "1"
    ]
    odd = await api.get("/v1/acl/tokens", prefix="abc")
    assert (odd.status, odd.text) == (
        400,
        "acl token lookup failed: index error: Input (without hyphens) must be even length",
    )


async def test_a_token_lives_as_long_as_it_was_asked_for(api, policy):
    token = await made(api, ExpirationTTL="1h30m")
    assert token["ExpirationTTL"] == "1h30m0s"
    begins, ends = map(datetime.fromisoformat, (token["CreateTime"], token["ExpirationTime"]))
    assert ends - begins == timedelta(minutes=90)
    assert (await made(api, ExpirationTTL=3600 * 10**9))["ExpirationTTL"] == "1h0m0s"


WRONG = [
    pytest.param({"Name": "x" * 257}, "token name too long", id="name"),
    pytest.param({"Type": "boss"}, "token type must be client or management", id="type"),
    pytest.param({"Policies": None}, "client token missing policies or roles", id="nothing"),
    pytest.param(
        {"Type": "management"},
        "management token cannot be associated with policies or roles",
        id="manager",
    ),
    pytest.param(
        {"ExpirationTTL": "10s"},
        "expiration time cannot be less than 1m0s in the future (was 10s)",
        id="short",
    ),
    pytest.param(
        {"ExpirationTTL": "48h"},
        "expiration time cannot be more than 24h0m0s in the future (was 48h0m0s)",
        id="long",
    ),
]


@pytest.mark.parametrize(("fields", "problem"), WRONG)
async def test_a_wrong_token_is_refused_by_what_is_wrong(api, policy, fields, problem):
    asked = {"Type": "client", "Policies": ["look"], **fields}
    refused = await api.put("/v1/acl/token", asked)
    assert (refused.status, refused.text) == (400, ONE_PROBLEM.format(problem))
    assert len((await api.get("/v1/acl/tokens")).json) == 1


async def test_a_negative_life_is_wrong_three_times(api, policy):
    asked = {"Type": "client", "Policies": ["look"], "ExpirationTTL": "-1h"}
    refused = await api.put("/v1/acl/token", asked)
    assert refused.text == (
        "token 0 invalid: 3 errors occurred:"
        "\n\t* token expiration TTL '-1h0m0s' should not be negative"
        "\n\t* expiration time cannot be before create time"
        "\n\t* expiration time cannot be less than 1m0s in the future (was -1h0m0s)\n\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1x", 'time: unknown unit "x" in duration "1x"'),
        ("5", 'time: missing unit in duration "5"'),
        ("soon", 'time: invalid duration "soon"'),
    ],
)
async def test_a_life_that_is_no_span_of_time_is_refused(api, policy, text, said):
    asked = {"Type": "client", "Policies": ["look"], "ExpirationTTL": text}
    refused = await api.put("/v1/acl/token", asked)
    assert (refused.status, refused.text) == (400, said)


async def test_an_update_replaces_rights_and_keeps_secret_and_expiry(api, policy):
    token = await made(api, Name="ci", ExpirationTTL="1h")
    path = f"/v1/acl/token/{token['AccessorID']}"
    changed = token | {"Name": "builds", "Policies": ["other"], "SecretID": UNKNOWN}
    answer = await api.put(path, changed)
    assert answer.status == 200
    kept = ("AccessorID", "CreateTime", "ExpirationTime", "ExpirationTTL", "CreateIndex")
    assert {name: answer.json[name] for name in kept} == {name: token[name] for name in kept}
    assert (answer.json["Name"], answer.json["Policies"]) == ("builds", ["other"])
    assert answer.json["ModifyIndex"] > token["ModifyIndex"]
    assert (await Client(token["SecretID"]).get("/v1/jobs")).status == 403
    assert (await Client(UNKNOWN).get("/v1/acl/token/self")).status == 403
    forgetful = {name: item for name, item in changed.items() if "Time" not in name}
    assert (await api.put(path, forgetful)).json["ExpirationTime"] == token["ExpirationTime"]


async def test_what_an_update_may_not_touch(api, policy):
    token = await made(api, ExpirationTTL="1h")
    path = f"/v1/acl/token/{token['AccessorID']}"
    for change, problem in (
        ({"Global": True}, "cannot toggle global mode"),
        ({"ExpirationTTL": "2h"}, "cannot update expiration TTL"),
        ({"ExpirationTime": "2040-01-01T00:00:00Z"}, "cannot update expiration time"),
    ):
        refused = await api.put(path, token | change)
        assert (refused.status, refused.text) == (400, ONE_PROBLEM.format(problem))
    other = await api.put(path, token | {"AccessorID": UNKNOWN})
    assert other.text == "ACL token accessor does not match request path"
    assert (await api.put(path, {"Name": "x"})).text == other.text
    gone = await api.put("/v1/acl/token", {"AccessorID": UNKNOWN, "Type": "client"})
    assert (gone.status, gone.text) == (400, f"cannot find token {UNKNOWN}")


async def test_a_token_of_elsewhere_keeps_its_ids(api, policy):
    brought = {"AccessorID": UNKNOWN, "SecretID": SECRET, "Type": "client", "Policies": ["look"]}
    token = (await api.put("/v1/acl/token", brought)).json
    assert (token["AccessorID"], token["SecretID"]) == (UNKNOWN, SECRET)
    assert (await Client(SECRET).get("/v1/jobs")).status == 200
    for wrong in ({"SecretID": "short"}, {"Type": "management", "Policies": None}):
        asked = brought | {"AccessorID": SECRET} | wrong
        refused = await api.put("/v1/acl/token", asked)
        assert (refused.status, refused.text) == (400, f"cannot find token {SECRET}")
    taken = await api.put("/v1/acl/token", brought | {"AccessorID": SECRET})
    assert (taken.status, taken.text) == (400, "the SecretID is that of another token")


async def test_a_token_taken_back_opens_nothing_more(api, policy):
    token = await made(api)
    path = f"/v1/acl/token/{token['AccessorID']}"
    deleted = await api.delete(path)
    assert (deleted.status, deleted.content) == (200, b"")
    assert (await Client(token["SecretID"]).get("/v1/acl/token/self")).status == 403
    read = await api.get(path)
    assert (read.status, read.text) == (404, "ACL token not found")
    again = await api.delete(path)
    accessor = token["AccessorID"]
    assert (again.status, again.text) == (400, f"Cannot delete nonexistent tokens: {accessor}")


NOT_IDS = [
    ("GET", "", "Missing Token Accessor"),
    ("DELETE", "", "Missing Token Accessor"),
    ("GET", "x", "acl token lookup failed: index error: UUID must be 36 characters"),
    (
        "DELETE",
        "x",
        "token lookup failed: acl token lookup failed: index error: UUID must be 36 characters",
    ),
]


@pytest.mark.parametrize(("method", "accessor", "text"), NOT_IDS)
async def test_what_is_no_accessor_is_refused(api, method, accessor, text):
    refused = await api.send(method, f"/v1/acl/token/{accessor}")
    assert (refused.status, refused.text) == (400, text)


async def test_without_a_token_one_is_anonymous(stranger):
    own = await stranger.get("/v1/acl/token/self")
    assert own.status == 200
    assert own.json == {
        "AccessorID": "anonymous",
        "SecretID": "",
        "Name": "Anonymous Token",
        "Type": "client",
        "Policies": ["anonymous"],
        "Roles": None,
        "Global": False,
        "Hash": None,
        "CreateTime": "0001-01-01T00:00:00Z",
        "ExpirationTime": None,
        "ExpirationTTL": "",
        "CreateIndex": 0,
        "ModifyIndex": 0,
    }
    assert (await stranger.get("/v1/acl/policy/self")).status == 403


async def test_bad_tokens_look_alike(store, expired):
    for client in (expired, Client(UNKNOWN), Client("abc"), Client("x" * 5_000)):
        refused = await client.get("/v1/acl/token/self")
        assert (refused.status, refused.text) == (403, "Permission denied")


async def test_only_managers_make_list_and_take_back_tokens(reader, tenant, stranger, policy):
    body = {"Type": "client", "Policies": ["look"]}
    root = accessor_of("root")
    for caller in (reader, tenant, stranger):
        for method, path, sent in (
            ("GET", "/v1/acl/tokens", None),
            ("PUT", "/v1/acl/token", body),
            ("GET", f"/v1/acl/token/{root}", None),
            ("GET", f"/v1/acl/token/{UNKNOWN}", None),
            ("PUT", f"/v1/acl/token/{UNKNOWN}", body | {"AccessorID": UNKNOWN}),
            ("DELETE", f"/v1/acl/token/{UNKNOWN}", None),
        ):
            refused = await caller.send(method, path, sent)
            assert (refused.status, refused.text) == (403, "Permission denied"), (method, path)


async def test_bearers_see_their_own_policies_and_no_others(api, policy):
    await api.put("/v1/acl/policy/other", {"Name": "other"})
    role = await api.put("/v1/acl/role", {"Name": "r", "Policies": [{"Name": "other"}]})
    both = Client((await made(api, Roles=[{"ID": role.json["ID"]}]))["SecretID"])
    one = Client((await made(api))["SecretID"])
    for path in ("/v1/acl/policies", "/v1/acl/policy/self"):
        assert [stub["Name"] for stub in (await both.get(path)).json] == ["look", "other"]
        assert [stub["Name"] for stub in (await one.get(path)).json] == ["look"]
        assert [stub["Name"] for stub in (await api.get(path)).json] == ["look", "other"]
    assert (await both.get("/v1/acl/policy/other")).json["Name"] == "other"
    for name in ("other", "nobody-knows"):
        assert (await one.get(f"/v1/acl/policy/{name}")).status == 403
    assert (await one.get("/v1/acl/policy/anonymous")).status == 404


async def test_the_anonymous_policy_is_for_everybody(api, stranger):
    assert (await stranger.get("/v1/jobs")).status == 403
    assert (await stranger.get("/v1/acl/policies")).json == []
    await api.put("/v1/acl/policy/anonymous", {"Name": "anonymous", "Rules": READ})
    assert (await stranger.get("/v1/jobs")).status == 200
    listed = (await stranger.get("/v1/acl/policies")).json
    assert [stub["Name"] for stub in listed] == ["anonymous"]
    await api.delete("/v1/acl/policy/anonymous")
    assert (await stranger.get("/v1/jobs")).status == 403


def test_expired_tokens_are_collected_an_hour_later_or_on_demand(store):
    for name, expires in (
        ("gone", NOW - 3601 * 10**9),
        ("fresh", NOW - 10**9),
        ("lives", NOW + 1),
    ):
        make_token(store, name, expires=expires, team="read")

    def collect(core_job):
        run_core(store, core_job, now=NOW)
        return {token.name for token in store.read(lambda reader: reader.list_all(ACL_TOKENS))}

    assert collect("local-token-expired-gc") == {"fresh", "lives"}
    assert collect("force-gc") == {"lives"}


def test_events_of_tokens_hold_no_secret(store):
    secret = make_token(store, "ci", team="read")
    frames = store.frames_since(0)
    assert b"accessor-ci" in msgspec.json.encode(frames)
    assert secret.encode() not in msgspec.json.encode(frames)


async def uses(store):
    """Once what waits is written."""
    await store.acall(lambda: None)
    return await store.aread(lambda reader: reader.token_uses())


async def test_a_request_notes_that_its_token_was_used_and_a_refused_secret_nothing(api, store):
    made_now = await made(api, Type="management", Policies=None)
    assert (await uses(store)).keys() == {accessor_of("root")}
    before = await store.aread(lambda reader: reader.index)
    await Client(made_now["SecretID"]).get("/v1/jobs")
    await Client(UNKNOWN).get("/v1/jobs")
    assert (await uses(store)).keys() == {accessor_of("root"), made_now["AccessorID"]}
    assert await store.aread(lambda reader: reader.index) == before
