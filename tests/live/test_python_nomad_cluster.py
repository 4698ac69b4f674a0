"""python-nomad, unchanged: its calls about the cluster itself, against running processes."""

import nomad
import pytest
from nomad.api.exceptions import (
    BadRequestNomadException,
    BaseNomadException,
    URLNotAuthorizedNomadException,
    URLNotFoundNomadException,
    VariableConflict,
)

from tests.live.world import job

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def client(world):
    return nomad.Nomad(address=world.stack.address, token=world.stack.token, timeout=20)


def test_variables_with_their_conflicts(client):
    made = client.variable.create_variable("courier/van", {"Items": {"color": "red"}}, cas=0)
    assert made["Items"] == {"color": "red"}
    assert "courier/van" in client.variable
    assert client.variable["courier/van"]["Path"] == "courier/van"
    assert client.variable.get_variable("courier/van", namespace="default") == made
    assert "courier/van" in client.variables
    assert client.variables["courier/van"]["ModifyIndex"] == made["ModifyIndex"]
    assert [each["Path"] for each in client.variables.get_variables("courier")] == ["courier/van"]
    assert "courier/van" in {each["Path"] for each in client.variables}
    with pytest.raises(VariableConflict):
        client.variable.create_variable("courier/van", {"Items": {"color": "blue"}}, cas=1)
    with pytest.raises(VariableConflict):
        client.variable.delete_variable("courier/van", cas=1)
    assert client.variable.delete_variable("courier/van", cas=made["ModifyIndex"]).ok
    with pytest.raises(URLNotFoundNomadException):
        client.variable.get_variable("courier/van")


def test_tokens_policies_and_namespaces(world, client):
    with pytest.raises(BadRequestNomadException, match="ACL bootstrap already done"):
        client.acl.generate_bootstrap()
    assert client.namespace.create_namespace({"Name": "parcels", "Description": "a"}).ok
    assert client.namespace.update_namespace("parcels", {"Name": "parcels"}).ok
    assert "parcels" in client.namespace
    assert "parcels" in client.namespaces
    assert client.namespaces["parcels"]["Description"] == ""
    assert client.namespace.get_namespace("parcels")["Name"] == "parcels"
    assert [each["Name"] for each in client.namespaces.get_namespaces("par")] == ["parcels"]
    assert len(client.namespaces) == len(list(client.namespaces))
    rules = 'namespace "parcels" { policy = "read" }'
    assert client.acl.create_policy("parcels", {"Name": "parcels", "Rules": rules}).ok
    assert client.acl.update_policy("parcels", {"Name": "parcels", "Rules": rules}).ok
    assert client.acl.get_policy("parcels")["Rules"] == rules
    assert "parcels" in {each["Name"] for each in client.acl.get_policies()}
    wanted = {"Name": "porter", "Type": "client", "Policies": ["parcels"], "Global": False}
    made = client.acl.create_token(wanted)
    accessor = made["AccessorID"]
    assert client.acl.get_self_token()["Type"] == "management"
    assert client.acl.get_token(accessor)["Name"] == "porter"
    assert accessor in {each["AccessorID"] for each in client.acl.get_tokens()}
    renamed = client.acl.update_token(
        accessor, {**wanted, "AccessorID": accessor, "Name": "second"}
    )
    assert renamed["Name"] == "second"
    porter = nomad.Nomad(
        address=world.stack.address, token=made["SecretID"], namespace="parcels", region="global"
    )
    assert porter.acl.get_self_token()["Policies"] == ["parcels"]
    assert porter.jobs.get_jobs() == []
    with pytest.raises(URLNotAuthorizedNomadException):
        porter.jobs.register_job({"Job": job("theirs") | {"Namespace": "parcels"}})
    assert client.acl.delete_token(accessor)
    assert client.acl.delete_policy("parcels")
    assert client.namespace.delete_namespace("parcels").ok


def test_what_a_cluster_says_of_itself(client):
    self = client.agent.get_agent()
    assert self["config"]["Region"] == self["member"]["Tags"]["region"] == "global"
    assert client.agent.get_members()["Members"][0]["Status"] == "alive"
    assert client.agent.get_servers()
    leader = client.status.leader.get_leader()
    assert leader in client.status.leader
    assert len(client.status.leader) == len(leader)
    assert leader in client.status.peers
    assert client.status.peers[leader] == leader
    assert list(client.status.peers) == client.status.peers.get_peers() == [leader]
    assert "global" in client.regions
    assert client.regions["global"] == "global"
    assert list(client.regions) == client.regions.get_regions() == ["global"]
    assert {"Gauges", "Counters", "Samples", "Timestamp"} <= client.metrics.get_metrics().keys()
    servers = client.operator.get_configuration(stale=True)["Servers"]
    assert [each["Leader"] for each in servers] == [True]
    assert client.system.initiate_garbage_collection()
    assert client.system.reconcile_summaries()


def test_what_is_no_part_of_this_cluster_is_refused_with_its_reason(client):
    with pytest.raises(BaseNomadException, match="Agents are told the address of their servers"):
        client.agent.update_servers(["127.0.0.1:4647"])
    with pytest.raises(BaseNomadException, match="there is no Raft group"):
        client.operator.delete_peer("127.0.0.1:4647")
    assert client.agent.join_agent("127.0.0.1:4648").keys() >= {"num_joined", "error"}
    client.agent.force_leave("nobody")
    for ask in (
        lambda: [*client.sentinel.get_policies()],
        lambda: client.sentinel.get_policy("p"),
        lambda: client.sentinel.create_policy("p", {"Name": "p"}),
        lambda: client.sentinel.update_policy("p", {"Name": "p"}),
        lambda: client.sentinel.delete_policy("p"),
    ):
        with pytest.raises(BaseNomadException, match="Nomad Enterprise only endpoint"):
            ask()
