"""Roles over the API: several policies under one name, for tokens that shall have all of them."""

import pytest

from tests.cluster.api.clients import Client

EVERYTHING_WRONG = (
    "role 0 invalid: 3 errors occurred:\n\t* invalid name 'r 1'"
    "\n\t* description longer than 256\n\t* at least one policy should be specified\n\n"
)
UNKNOWN = "00000000-0000-4000-8000-000000000000"
JOBS = 'namespace "default" { policy = "read" }'
NODES = 'node { policy = "read" }'


@pytest.fixture
async def role(api):
    """A role with two policies."""
    for name, rules in (("jobs", JOBS), ("nodes", NODES)):
        await api.put(f"/v1/acl/policy/{name}", {"Name": name, "Rules": rules})
    asked = {"Name": "eyes", "Description": "Look", "Policies": links("jobs", "nodes", "jobs")}
    answer = await api.put("/v1/acl/role", asked)
    assert answer.status == 200, answer.text
    return answer.json


def links(*names):
    return [{"Name": name} for name in names]


async def bearer_of(api, *roles):
    asked = {"Type": "client", "Roles": list(roles)}
    answer = await api.put("/v1/acl/token", asked)
    assert answer.status == 200, answer.text
    return answer.json, Client(answer.json["SecretID"])


async def test_a_role_is_shown_the_same_in_lists_by_id_and_by_name(api, role):
    assert role["Policies"] == links("jobs", "nodes")
    assert (role["Name"], role["Description"]) == ("eyes", "Look")
    assert role["Hash"]
    assert (await api.get("/v1/acl/roles")).json == [role]
    assert (await api.get("/v1/acl/roles", prefix=role["ID"][:3])).json == [role]
    assert (await api.get("/v1/acl/roles", prefix="x")).json == []
    by_id = await api.get(f"/v1/acl/role/{role['ID']}")
    assert by_id.json == role
    assert by_id.headers["X-Nomad-Index"] == str(role["ModifyIndex"])
    assert (await api.get("/v1/acl/role/name/eyes")).json == role


async def test_a_token_has_what_its_roles_say_now(api, role):
    token, bearer = await bearer_of(api, {"Name": "eyes"}, {"ID": role["ID"], "Name": "other"})
    assert token["Roles"] == [{"ID": role["ID"], "Name": "eyes"}]
    assert (await bearer.get("/v1/jobs")).status == 200
    assert (await bearer.get("/v1/nodes")).status == 200
    changed = role | {"Policies": links("nodes"), "Name": "node-eyes"}
    await api.put(f"/v1/acl/role/{role['ID']}", changed)
    assert (await bearer.get("/v1/jobs")).status == 403
    shown = (await bearer.get("/v1/acl/token/self")).json
    assert shown["Roles"] == [{"ID": role["ID"], "Name": "node-eyes"}]
    await api.delete(f"/v1/acl/role/{role['ID']}")
    assert (await bearer.get("/v1/nodes")).status == 403
    left = (await bearer.get("/v1/acl/token/self")).json
    assert (left["Roles"], left["ModifyIndex"]) == ([], token["ModifyIndex"])


async def test_an_unknown_role_makes_no_token(api, role):
    refused = await api.put("/v1/acl/token", {"Type": "client", "Roles": [{"Name": "nope"}]})
    assert (refused.status, refused.text) == (400, "cannot find role nope")
    refused = await api.put("/v1/acl/token", {"Type": "client", "Roles": [{"ID": UNKNOWN}]})
    assert (refused.status, refused.text) == (400, f"cannot find role {UNKNOWN}")


async def test_an_update_replaces_everything_of_a_role(api, role):
    path = f"/v1/acl/role/{role['ID']}"
    answer = await api.put(path, {"ID": role["ID"], "Name": "looks", "Policies": links("jobs")})
    assert answer.json["Description"] == ""
    assert answer.json["CreateIndex"] == role["CreateIndex"]
    assert answer.json["ModifyIndex"] > role["ModifyIndex"]
    assert (await api.get(path)).json == answer.json
    assert (await api.get("/v1/acl/role/name/eyes")).status == 404


async def test_wrong_roles_are_refused(api, role):
    for body, text in (
        (
            {"Name": "r 1", "Description": "x" * 257},
            EVERYTHING_WRONG,
        ),
        ({"Name": "eyes", "Policies": links("jobs")}, "role with name eyes already exists"),
        ({"Name": "r1", "Policies": links("nope")}, "cannot find policy nope"),
        (
            {"ID": UNKNOWN, "Name": "r1", "Policies": links("jobs")},
            f"cannot find role {UNKNOWN}",
        ),
    ):
        refused = await api.put("/v1/acl/role", body)
        assert (refused.status, refused.text) == (400, text)
    other = await api.put(f"/v1/acl/role/{UNKNOWN}", role)
    assert (other.status, other.text) == (400, "ACL role ID does not match request path")
    assert (await api.get("/v1/acl/roles")).json == [role]


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "role/", 400, "missing ACL role ID"),
        ("GET", "role/name/", 400, "missing ACL role name"),
        ("GET", "role/a/b", 400, "invalid URI"),
        ("GET", "role/name/a/b", 400, "invalid URI"),
        ("PUT", "role/name/eyes", 405, "Invalid method"),
        ("GET", f"role/{UNKNOWN}", 404, "ACL role not found"),
        ("GET", "role/name/nobody", 404, "ACL role not found"),
        ("DELETE", f"role/{UNKNOWN}", 400, "ACL role not found"),
    ],
)
async def test_what_is_no_role(api, method, path, status, text):
    refused = await api.send(method, f"/v1/acl/{path}")
    assert (refused.status, refused.text) == (status, text)


async def test_holders_see_their_roles_and_nobody_elses(api, role, stranger):
    other = await api.put("/v1/acl/role", {"Name": "other", "Policies": links("jobs")})
    _, bearer = await bearer_of(api, {"Name": "eyes"})
    assert (await bearer.get("/v1/acl/roles")).json == [role]
    assert (await bearer.get(f"/v1/acl/role/{role['ID']}")).json == role
    assert (await bearer.get("/v1/acl/role/name/eyes")).json == role
    assert (await stranger.get("/v1/acl/roles")).json == []
    for path in (other.json["ID"], UNKNOWN, "name/other", "name/nobody"):
        for caller in (bearer, stranger):
            assert (await caller.get(f"/v1/acl/role/{path}")).status == 403
    for caller in (bearer, stranger):
        written = await caller.put("/v1/acl/role", {"Name": "mine", "Policies": links("jobs")})
        assert (written.status, written.text) == (403, "Permission denied")
        assert (await caller.delete(f"/v1/acl/role/{role['ID']}")).status == 403
