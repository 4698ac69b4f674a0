"""The routes of rehearsals: asked for, read, waited for, canceled; what is told to whom."""

import asyncio
import json

import pytest
from django.core.management import CommandError, call_command

from cluster.operations.rehearsals import begin_rehearsal
from cluster.rehearsal.wire import HIDDEN
from cluster.runtime.rehearsal_process import carry_out
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.job import Namespace
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.cluster.api.clients import Client, make_token

NODE, OTHER = make_node(1, name="one"), make_node(2, name="two")
DRAIN = {"Drain": {"NodeIDs": [NODE.id], "Spec": {"Deadline": "1h"}}}


@pytest.fixture
def running(store):
    """One allocation on the first of two nodes, in a namespace of its own."""

    def work(change):
        change.put(NAMESPACES, Namespace(name="team"))
        for node in (NODE, OTHER):
            put_found(change, node)
        change.put_job(make_job(namespace="team"))
        alloc = make_allocation(namespace="team", node_id=NODE.id, node_name="one")
        put_found(
            change,
            alloc.changed(
                client_status=ClientStatus.RUNNING,
                deployment_status=DeploymentHealth(healthy=True),
            ),
        )

    store.write("JobRegistered", work, now=SOME_MOMENT)
    return store


@pytest.fixture
def outsider(store):
    """A program that may read nodes, and jobs of the default namespace."""
    return Client(make_token(store, "outsider", default="read"))


async def carried_out(store, rehearsal_id):
    """What a web process's desk has done in a process of its own."""

    def work():
        begin_rehearsal(store, rehearsal_id, "web", by=CLUSTER, now=SOME_MOMENT)
        carry_out(rehearsal_id)

    await asyncio.get_running_loop().run_in_executor(None, work)


async def test_a_rehearsal_is_asked_for_and_read(api, running):
    asked = await api.put("/v1/rehearsals", DRAIN)
    rehearsal_id = asked.json["ID"]
    waiting = await api.get(f"/v1/rehearsal/{rehearsal_id}")
    assert (waiting.json["Status"], waiting.json["Result"]) == ("waiting", None)
    assert waiting.json["Scenario"] == DRAIN
    await carried_out(running, rehearsal_id)
    read = await api.get(
        f"/v1/rehearsal/{rehearsal_id}", index=waiting.headers["X-Nomad-Index"], wait="5s"
    )
    assert read.json["Status"] == "complete"
    result = read.json["Result"]
    assert result["Totals"]["NeedPlace"] == result["Totals"]["Placed"] == 1
    (moved,) = result["Allocations"]
    assert (moved["FromNodeName"], moved["ToNodeName"]) == ("one", "two")
    assert result["ReadAt"].endswith("Z")
    (listed,) = (await api.get("/v1/rehearsals")).json
    assert listed["ID"] == rehearsal_id
    assert "Result" not in listed
    assert (await api.delete(f"/v1/rehearsal/{rehearsal_id}")).status == 200
    assert (await api.get(f"/v1/rehearsal/{rehearsal_id}")).status == 404


async def test_names_of_other_namespaces_are_left_out_and_numbers_stay(api, running, outsider):
    rehearsal_id = (await api.put("/v1/rehearsals", DRAIN)).json["ID"]
    await carried_out(running, rehearsal_id)
    read = await outsider.get(f"/v1/rehearsal/{rehearsal_id}")
    result = read.json["Result"]
    (moved,) = result["Allocations"]
    assert (moved["Name"], moved["JobID"], moved["ID"]) == (HIDDEN, HIDDEN, "")
    assert (moved["FromNodeName"], moved["ToNodeName"]) == ("one", "two")
    assert result["Totals"]["Placed"] == 1
    assert result["Groups"][0]["JobID"] == HIDDEN
    assert (result["Evaluations"], result["EvaluationsLeftOut"]) == (None, 1)
    assert "team" not in read.text
    assert "web" not in str(result)


async def test_a_scenario_with_a_job_is_told_to_its_readers_only(api, running, outsider):
    stop = {"Stop": {"JobID": "web", "Namespace": "team"}}
    rehearsal_id = (await api.put("/v1/rehearsals", stop)).json["ID"]
    assert (await outsider.get(f"/v1/rehearsal/{rehearsal_id}")).json["Scenario"] is None
    assert (await outsider.put("/v1/rehearsals", stop)).status == 403


async def test_every_problem_is_named(api, running):
    refused = await api.put(
        "/v1/rehearsals",
        {"Changes": [{"Drain": {"NodeIDs": ["x"]}}, {"Stop": {"JobID": "none"}}]},
    )
    assert refused.status == 400
    assert "Changes[0].Drain.NodeIDs[0]: there is no node x" in refused.text
    assert "Changes[1].Stop.JobID: there is no job none" in refused.text


@pytest.fixture
def rehearse(running, capsys, monkeypatch):
    """The command, without its limits: they would be those of the tests too."""
    monkeypatch.setattr("os.nice", lambda _: 0)
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)

    def said(*arguments):
        call_command("rehearse", *arguments)
        return capsys.readouterr().out

    return said


def test_the_command_says_the_same(rehearse):
    told = rehearse("drain", "one")
    assert "1 of 1 find a place on 1 node;" in told
    assert "two" in told
    found = json.loads(rehearse("drain", "one", "--json"))
    assert found["Allocations"][0]["ToNodeName"] == "two"


def test_the_command_says_what_is_wrong(rehearse):
    with pytest.raises(CommandError, match="three: no node"):
        rehearse("drain", "three")
    with pytest.raises(CommandError, match=r"Changes\[0\].Stop.JobID: there is no job none"):
        rehearse("stop", "none")
