"""Real agents that fall silent, die and drain: work moves, comes back, and is never done twice."""

import signal

import pytest

from tests.live.side_process import running, until
from tests.live.sites import SECOND, site

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(600)]

MIGRATE = {
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": SECOND,
    "HealthyDeadline": 30 * SECOND,
}


def test_silent_nodes_lose_their_work_and_come_back_without_it():
    quick = {"BIVOUAC_MIN_HEARTBEAT_TTL": "2", "BIVOUAC_HEARTBEAT_GRACE": "2"}
    with site(3, **quick) as cluster:
        cluster.run("web", Count=3)
        cluster.run("daemon", "system")
        cluster.run("pinned", on="n2", Count=1)
        cluster.run("patient", on="n1", Count=2, MaxClientDisconnect=600 * SECOND)
        for job, count in (("web", 3), ("daemon", 3), ("pinned", 1), ("patient", 2)):
            cluster.until_running(job, count)
        before = {alloc["ID"] for alloc in cluster.allocs("patient")}
        for name in ("n1", "n2"):
            cluster.agents[name].send(signal.SIGSTOP)
        until(lambda: cluster.node("n2")["Status"] == "down", 20, "n2 is down")
        until(lambda: cluster.node("n1")["Status"] == "disconnected", 20, "n1 is disconnected")
        until(lambda: cluster.places("web") == {"n3": 3}, 20, "its work is replaced")
        assert cluster.places("daemon") == {"n3": 1}
        assert [alloc["ClientStatus"] for alloc in cluster.allocs("pinned")] == ["lost"]
        assert {alloc["ClientStatus"] for alloc in cluster.allocs("patient")} == {"unknown"}
        assert "blocked" in {e["Status"] for e in cluster.get("/v1/job/pinned/evaluations")}
        assert cluster.triggers("web")["node-update"] == 2
        for name in ("n1", "n2"):
            cluster.agents[name].send(signal.SIGCONT)
        for name in ("n1", "n2"):
            until(lambda name=name: cluster.node(name)["Status"] == "ready", 20, "it is back")
        for job, count in (("daemon", 3), ("pinned", 1), ("patient", 2)):
            cluster.until_running(job, count)
        assert cluster.places("web") == {"n3": 3}
        assert {alloc["ID"] for alloc in cluster.allocs("patient")} == before
        stopped = [a for a in cluster.allocs("web") if a["DesiredStatus"] == "stop"]
        until(
            lambda: (
                {
                    a["TaskStates"]["task"]["State"]
                    for a in cluster.allocs("web")
                    if a["DesiredStatus"] == "stop"
                }
                == {"dead"}
            ),
            20,
            "what was lost has been stopped there",
        )
        assert stopped


def test_a_killed_agent_finds_its_tasks_again():
    with site(1) as cluster:
        cluster.run("web", Count=2)
        cluster.until_running("web", 2)

        def starts() -> dict[str, int]:
            states = {alloc["ID"]: alloc["TaskStates"]["task"] for alloc in cluster.allocs("web")}
            return {key: state["StartedAt"] for key, state in states.items()}

        before = starts()
        agent = cluster.agents["n1"]
        agent.process.kill()
        agent.process.wait()
        agent.start()
        alloc_id = next(iter(before))

        def usage() -> dict:
            return cluster.get(f"/v1/client/allocation/{alloc_id}/stats")["Tasks"]

        until(lambda: _answers(usage), 40, "the agent knows its tasks")
        assert starts() == before
        assert cluster.places("web") == {"n1": 2}
        # It looked at its drivers anew, and nothing was different.
        assert cluster.triggers("web")["node-update"] == 0


def test_metadata_said_while_a_node_runs_lets_work_in_and_outlives_the_agent():
    wanted = {"LTarget": "${meta.colour}", "RTarget": "green", "Operand": "="}
    with site(1) as cluster:
        cluster.run("web", Count=1, Constraints=[wanted])
        path = "/v1/job/web/evaluations"
        until(lambda: "blocked" in {e["Status"] for e in cluster.get(path)}, 20, "it waits")
        node_id = cluster.node("n1")["ID"]
        said = {"NodeID": node_id, "Meta": {"colour": "green"}}
        cluster.put("/v1/client/metadata", said, "POST")
        # An agent in earnest gathers changes for up to ten seconds before it registers anew.
        cluster.until_running("web", 1, 40)
        assert cluster.node("n1")["Meta"] == {"colour": "green"}

        agent = cluster.agents["n1"]
        agent.process.kill()
        agent.process.wait()
        agent.start()

        def dynamic() -> dict:
            return cluster.get(f"/v1/client/metadata?node_id={node_id}")["Dynamic"]

        until(lambda: _answers(dynamic), 40, "the agent is back")
        assert dynamic() == {"colour": "green"}
        assert cluster.node("n1")["Meta"] == {"colour": "green"}


def test_an_agent_joins_by_an_introduction_and_renews_the_identity_it_is_given():
    quick = {"BIVOUAC_MIN_HEARTBEAT_TTL": "0.5", "BIVOUAC_HEARTBEAT_GRACE": "20"}
    with site(0, **quick) as cluster:
        brief = {"Name": "brief", "NodeIdentityTTL": "4s"}
        with cluster.stack.client() as client:
            assert client.put("/v1/node/pool/brief", json=brief).is_success
        asked = {"NodePool": "brief", "NodeName": "n1"}
        introduce = "/v1/acl/identity/client-introduction-token"
        token = cluster.put(introduce, asked)["JWT"]
        agent = cluster.add("n1", BIVOUAC_JOIN_TOKEN=token, BIVOUAC_NODE_POOL="brief")
        with running(agent):
            listed = lambda: [each["Status"] for each in cluster.get("/v1/nodes")]  # noqa: E731
            until(lambda: listed() == ["ready"], 20, "it has joined")
            node_id = cluster.node("n1")["ID"]

            def identity() -> dict:
                return cluster.get(f"/v1/client/identity?node_id={node_id}")["Claims"]

            until(lambda: _answers(identity), 20, "it has an identity")
            first, old = identity()["jti"], cluster.node("n1")["IdentitySigningKeyID"]
            until(lambda: identity()["jti"] != first, 10, "it renews it in time")
            key = cluster.put("/v1/operator/keyring/rotate", {})["Key"]["KeyID"]
            cluster.put("/v1/client/identity/renew", {"NodeID": node_id})
            until(lambda: cluster.node("n1")["IdentitySigningKeyID"] == key, 10, "by the new key")
            with cluster.stack.client() as client:
                assert client.delete(f"/v1/operator/keyring/key/{old}").is_success
                # Whatever it was signed with is void, and the secret is left.
                second = cluster.put("/v1/operator/keyring/rotate", {})["Key"]["KeyID"]
                forced = client.delete(f"/v1/operator/keyring/key/{key}?force=true")
                assert forced.is_success
            node = lambda: cluster.node("n1")  # noqa: E731 - asked twice
            until(lambda: node()["IdentitySigningKeyID"] == second, 10, "it is given another one")
            assert node()["Status"] == "ready"
            assert identity()["nomad_node_pool"] == "brief"


def test_drains_move_services_a_few_at_a_time_and_spare_what_they_are_told_to():
    with site(3) as cluster:
        cluster.run("web", Count=4, Migrate=MIGRATE)
        cluster.run("daemon", "system")
        cluster.until_running("web", 4)
        cluster.until_running("daemon", 3)
        first = cluster.places("web").most_common(1)[0][0]
        lowest = 4
        cluster.drain(first, Deadline=60 * SECOND)
        while not cluster.is_drained(first):
            lowest = min(lowest, cluster.places("web").total())
        # One at a time may be on its way.
        assert lowest >= 3
        cluster.until_running("web", 4)
        # What runs everywhere leaves last: its end may be a moment away.
        until(lambda: first not in cluster.places("daemon"), 20, "the last one has left it")
        assert first not in cluster.places("web")
        assert cluster.node(first)["SchedulingEligibility"] == "ineligible"
        cluster.open(first)
        cluster.until_running("daemon", 3)

        second = cluster.places("web").most_common(1)[0][0]
        cluster.drain(second, Deadline=60 * SECOND, IgnoreSystemJobs=True)
        until(lambda: cluster.is_drained(second), 40, "it is drained")
        cluster.until_running("web", 4)
        assert (second in cluster.places("web"), second in cluster.places("daemon")) == (
            False,
            True,
        )
        cluster.open(second)

        third = cluster.places("web").most_common(1)[0][0]
        cluster.drain(third, Deadline=60 * SECOND)
        cluster.drain(third, eligible=True)
        node = cluster.node(third)
        assert (node["DrainStrategy"], node["SchedulingEligibility"]) == (None, "eligible")
        assert node["LastDrain"]["Status"] == "canceled"
        cluster.until_running("web", 4)

        forced = cluster.places("web").most_common(1)[0][0]
        cluster.drain(forced, Deadline=-1)
        until(lambda: cluster.is_drained(forced), 10, "it is drained at once")
        cluster.until_running("web", 4)
        until(lambda: forced not in cluster.places("daemon"), 20, "the last one has left it")
        assert forced not in cluster.places("web")


def _answers(question) -> bool:
    try:
        return bool(question())
    except AssertionError:
        return False
