"""The routes of access policies: what a manager reads and writes, and that nobody else does."""

import base64
import hashlib

import pytest

from scheduler.access.capabilities import OF_LEVEL
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy
from tests.cluster.api.clients import put

RULES = 'namespace "default" { policy = "read" }'
DEPLOYERS = AclPolicy(
    name="deployers", description="May deploy", rules=RULES, create_index=2, modify_index=2
)
#: Over name, description and rules, with nothing between them (access.md 3).
HASHED = hashlib.blake2b(f"deployersMay deploy{RULES}".encode(), digest_size=32).digest()
STUB = {
    "Name": "deployers",
    "Description": "May deploy",
    "Hash": base64.b64encode(HASHED).decode(),
    "CreateIndex": 2,
    "ModifyIndex": 2,
}


@pytest.fixture
def policies(store):
    """Two policies."""
    put(store, lambda change: change.put(ACL_POLICIES, DEPLOYERS))
    put(store, lambda change: change.put(ACL_POLICIES, AclPolicy(name="auditors")))


@pytest.mark.usefixtures("policies")
async def test_the_list_has_stubs_without_rules_by_name(api):
    listed = await api.get("/v1/acl/policies")
    assert [policy["Name"] for policy in listed.json] == ["auditors", "deployers"]
    assert listed.json[1] == STUB
    assert listed.headers["X-Nomad-Index"] == "3"


@pytest.mark.usefixtures("policies")
async def test_the_list_can_be_asked_for_by_prefix_and_in_pages(api):
    assert (await api.get("/v1/acl/policies", prefix="dep")).json == [STUB]
    first = await api.get("/v1/acl/policies", per_page=1)
    assert [policy["Name"] for policy in first.json] == ["auditors"]
    token = first.headers["X-Nomad-NextToken"]
    assert (await api.get("/v1/acl/policies", per_page=1, next_token=token)).json == [STUB]


@pytest.mark.usefixtures("policies")
async def test_a_policy_is_read_whole(api):
    read = await api.get("/v1/acl/policy/deployers")
    assert read.json == STUB | {
        "Rules": RULES,
        "JobACL": None,
        "RulesJSON": {
            "Namespaces": [
                {
                    "Name": "default",
                    "Policy": "read",
                    "Capabilities": [*OF_LEVEL["namespace"]["read"]],
                    "Variables": None,
                }
            ],
            "Raw": RULES,
            **dict.fromkeys(
                ("Agent", "ExtraKeysHCL", "HostVolumes", "Node", "NodePools", "Operator", "Plugin",
                 "Quota", "Sentinel")
            ),
        },
    }  # fmt: skip
    assert read.headers["X-Nomad-Index"] == "2"


async def test_a_policy_that_is_not_there(api):
    read = await api.get("/v1/acl/policy/nobody")
    assert (read.status, read.text) == (404, "ACL policy not found")


@pytest.mark.usefixtures("policies")
async def test_nobody_but_a_manager_reads_those_of_others(reader, tenant, stranger):
    for caller in (reader, tenant, stranger):
        assert (await caller.get("/v1/acl/policy/deployers")).status == 403
        listed = (await caller.get("/v1/acl/policies")).json
        assert "deployers" not in [policy["Name"] for policy in listed]


async def test_a_policy_is_written_read_back_and_replaced(api):
    job = {"Namespace": "team", "JobID": "web", "Group": "front", "Task": "serve"}
    sent = {"Name": "deployers", "Description": "May deploy", "Rules": RULES, "JobACL": job}
    written = await api.put("/v1/acl/policy/deployers", sent)
    assert (written.status, written.content) == (200, b"")
    read = await api.get("/v1/acl/policy/deployers")
    assert {name: read.json[name] for name in sent} == sent
    assert read.headers["X-Nomad-Index"] == written.headers["X-Nomad-Index"]
    again = await api.put("/v1/acl/policy/deployers", {"name": "deployers"})
    replaced = (await api.get("/v1/acl/policy/deployers")).json
    assert (replaced["Rules"], replaced["Description"], replaced["JobACL"]) == ("", "", None)
    assert replaced["CreateIndex"] == read.json["CreateIndex"]
    assert replaced["ModifyIndex"] == int(again.headers["X-Nomad-Index"])
    assert replaced["ModifyIndex"] > replaced["CreateIndex"]


async def test_the_hash_moves_with_the_content_alone(api):
    async def written(**fields):
        await api.put("/v1/acl/policy/p", {"Name": "p", **fields})
        return (await api.get("/v1/acl/policy/p")).json["Hash"]

    first = await written(Rules=RULES)
    assert await written(Rules=RULES) == first
    hashes = {
        first,
        await written(Rules=RULES, Description="d"),
        await written(Rules=RULES, JobACL={"Namespace": "team"}),
        await written(),
    }
    assert len(hashes) == 4


@pytest.mark.usefixtures("policies")
async def test_a_deleted_policy_is_gone_and_deleting_it_again_is_no_error(api):
    assert (await api.delete("/v1/acl/policy/deployers")).status == 200
    assert (await api.get("/v1/acl/policy/deployers")).status == 404
    again = await api.delete("/v1/acl/policy/deployers")
    assert (again.status, again.content) == (200, b"")


WRONG = [
    pytest.param("p", None, "Request body is empty", id="no-body"),
    pytest.param("p", b"{", "unexpected EOF", id="half-a-body"),
    pytest.param(
        "p", {"Name": "q"}, "ACL policy name does not match request path", id="other-name"
    ),
    pytest.param("", {"Name": ""}, "Missing Policy Name", id="no-name"),
    pytest.param(
        "a_b",
        {"Name": "a_b"},
        "policy 0 invalid: 1 error occurred:\n\t* invalid name 'a_b'\n\n",
        id="name",
    ),
    pytest.param(
        "p",
        {
            "Name": "p",
            "Description": "x" * 257,
            "Rules": "bogus {}",
            "JobACL": {"JobID": "web", "Task": "serve"},
        },
        "policy 0 invalid: 5 errors occurred:"
        "\n\t* failed to parse rules: Invalid policy: bogus {}"
        "\n\t* failed to parse rules: Invalid or duplicate policy keys: bogus"
        "\n\t* description longer than 256"
        "\n\t* namespace must be set to set job ID"
        "\n\t* group must be set to set task\n\n",
        id="everything-at-once",
    ),
]


@pytest.mark.parametrize(("name", "body", "text"), WRONG)
async def test_a_wrong_policy_is_refused_with_every_problem(api, name, body, text):
    refused = await api.put(f"/v1/acl/policy/{name}", body)
    assert (refused.status, refused.text) == (400, text)
    assert (await api.get("/v1/acl/policies")).json == []


async def test_a_capability_nobody_knows_is_named_with_its_line(api):
    rules = 'namespace "a" {\n  capabilities = ["fly"]\n}'
    refused = await api.put("/v1/acl/policy/p", {"Name": "p", "Rules": rules})
    assert refused.status == 400
    assert "Invalid namespace capability 'fly' for 'a' (at 1:15)" in refused.text


async def test_nobody_but_a_manager_writes_them(reader, tenant, stranger):
    for caller in (reader, tenant, stranger):
        written = await caller.put("/v1/acl/policy/p", {"Name": "p"})
        assert (written.status, written.text) == (403, "Permission denied")
        assert (await caller.delete("/v1/acl/policy/p")).status == 403
