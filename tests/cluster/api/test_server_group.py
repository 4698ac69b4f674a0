"""What clients ask of a group of servers."""

import msgspec
import pytest

from cluster.jobspec.parse import parse_job
from cluster.runtime.clock import SystemClock
from cluster.store.health import HEALTH, LEADER
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from tests.builders import make_node
from tests.cluster.api.clients import document, put


@pytest.fixture(autouse=True)
def health():
    yield
    HEALTH.forget()


async def test_the_one_server_is_the_same_wherever_it_is_told(api):
    raft = (await api.get("/v1/operator/raft/configuration")).json
    health = await api.get("/v1/operator/autopilot/health")
    members = (await api.get("/v1/agent/members")).json["Members"]
    (server,), (told,), (member,) = raft["Servers"], health.json["Servers"], members
    name = member["Name"]
    assert (server["ID"], server["Leader"], server["Voter"]) == (name, True, True)
    assert (told["ID"], told["Address"]) == (name, server["Address"])
    assert (health.status, health.json["Leader"], health.json["Voters"]) == (200, name, [name])
    configuration = (await api.get("/v1/operator/autopilot/configuration")).json
    assert configuration["LastContactThreshold"] == "200ms"
    assert (await api.get("/v1/agent/schedulers")).json["server_id"] == name


async def test_without_a_leader_nothing_is_healthy(api):
    HEALTH.note(LEADER, "nobody leads", SystemClock().moment())
    answer = await api.get("/v1/operator/autopilot/health")
    assert (answer.status, msgspec.json.decode(answer.content)["Healthy"]) == (429, False)


async def test_nobody_is_joined_and_everybody_else_has_left(api):
    joined = await api.put("/v1/agent/join?address=a&address=b")
    assert joined.json["num_joined"] == 0
    assert joined.json["error"].startswith("2 errors occurred:\n\t* failed to join a: servers ")
    left = await api.put("/v1/agent/force-leave?node=nope")
    assert (left.status, left.content) == (200, b"")
    itself = await api.put("/v1/agent/force-leave?node=bivouac.global")
    assert (itself.status, "cannot be made to leave" in itself.text) == (400, True)
    for path, sentence in (
        ("join", "missing address to join"), ("force-leave", "missing node to force leave"),
    ):  # fmt: skip
        refused = await api.put(f"/v1/agent/{path}")
        assert (refused.status, refused.text) == (400, sentence)


async def test_what_would_change_such_a_group_is_refused_by_name(api):
    for method, path in (
        ("PUT", "autopilot/configuration"), ("DELETE", "raft/peer"),
        ("PUT", "raft/transfer-leadership"),
    ):  # fmt: skip
        refused = await api.send(method, f"/v1/operator/{path}")
        assert (refused.status, refused.text) == (
            501, "Servers share a database here: there is no Raft group.",
        )  # fmt: skip


@pytest.fixture
def asking_for_vault(store):
    """Two jobs with a `vault` block, one with an identity for it; the id of a node of before."""

    def vaulted(job_id, **task):
        task = {"Name": "t", "Driver": "mock_driver", "Vault": {"Role": "r"}, **task}
        group = {"Name": "g", "Tasks": [task]}
        return parse_job(document(ID=job_id, Name=job_id, TaskGroups=[group]))

    knowing = vaulted("knows", Identities=[{"Name": "vault_default", "Audience": ["v"]}])
    old = msgspec.structs.replace(make_node(2), attributes={"nomad.version": "1.6.9"})
    put(store, lambda change: [write_job(change, each) for each in (vaulted("lacks"), knowing)])
    put(store, lambda change: [put_found(change, each) for each in (make_node(1), old)])
    return old.id


async def test_who_could_not_take_tokens_of_vault_by_identities_is_told(api, asking_for_vault):
    told = await api.get("/v1/operator/upgrade-check/vault-workload-identity")
    assert [job["ID"] for job in told.json["JobsWithoutVaultIdentity"]] == ["lacks"]
    assert [node["ID"] for node in told.json["OutdatedNodes"]] == [asking_for_vault]
    assert (told.json["VaultTokens"], told.json["KnownLeader"]) == (None, True)
    other = await api.get("/v1/operator/upgrade-check/x")
    assert (other.status, other.text) == (404, "Path /v1/operator/upgrade-check/x not found")
    broken = await api.get("/v1/operator/upgrade-check/x%0Ay")
    assert (broken.status, broken.text.splitlines()[-1]) == (404, "y not found")


async def test_there_is_no_license_and_that_is_no_failure(api, stranger):
    for client in (api, stranger):
        none = await client.get("/v1/operator/license")
        assert (none.status, none.content, none.headers.get("Content-Type")) == (204, b"", None)
    refused = await api.put("/v1/operator/license", b"license")
    assert (refused.status, refused.text) == (
        501, "There is no license to install: Bivouac has none.",
    )  # fmt: skip
    assert (await api.delete("/v1/operator/license")).status == 405
