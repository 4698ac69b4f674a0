"""What a node may ask for its tasks: their own variables, services, and nothing of others."""

import asyncio

import pytest

from cluster.agent.protocol import Lookup
from cluster.operations.acl_policies import put_policy
from cluster.operations.services import ServiceReport, report_services
from cluster.operations.variables import put_variable
from scheduler.access.caller import CLUSTER
from scheduler.structs.acl_policy import AclPolicy, JobAcl
from scheduler.structs.service_registration import ServiceRegistration
from tests.cluster.agent.callers import NOW, AgentCaller, place
from tests.root_keys import put_keys, root_key

SECOND = 1_000_000_000


@pytest.fixture
async def alloc(store, agent):
    await store.awrite_call(put_keys, root_key())
    return await store.acall(lambda: place(store, agent.node.id))


async def put(store, path, **items):
    await store.awrite_call(put_variable, "default", path, items, by=CLUSTER, now=NOW)


def question(alloc, *paths, **fields):
    return Lookup(alloc_id=alloc.id, task="web", variables=paths, **fields)


async def test_a_task_reads_its_own_paths_and_no_others(store, agent, alloc):
    own = ["nomad/jobs", f"nomad/jobs/{alloc.job_id}"]
    own += [f"{own[1]}/{alloc.task_group}", f"{own[1]}/{alloc.task_group}/web"]
    for path in (*own[:-1], "other"):
        await put(store, path, at=path)
    answer = await agent.call("POST", "lookups", question(alloc, *own, "other", "none"))
    assert answer.json["Variables"] == {
        **{path: {"at": path} for path in own[:-1]},
        own[-1]: None,
    }
    assert answer.json["Refused"] == {
        "other": "nomad.var.get(other@default): Permission denied",
        "none": "nomad.var.get(none@default): Permission denied",
    }


@pytest.mark.parametrize(
    ("bound", "reads"),
    [
        pytest.param({}, True, id="namespace"),
        pytest.param({"task": "web"}, True, id="its task"),
        pytest.param({"task": "other"}, False, id="another task"),
        pytest.param({"namespace": "prod"}, False, id="another namespace"),
    ],
)
async def test_a_policy_bound_to_the_job_gives_more(store, agent, alloc, bound, reads):
    job = {"namespace": "default", "job_id": alloc.job_id, "group": alloc.task_group}
    policy = AclPolicy(
        name="shared",
        rules='namespace "default" { variables { path "shared/*" { capabilities = ["read"] } } }',
        job_acl=JobAcl(**job | bound),
    )
    await store.awrite_call(put_policy, policy, by=CLUSTER, now=NOW)
    await put(store, "shared/db", user="kim")
    answer = await agent.call("POST", "lookups", question(alloc, "shared/db"))
    assert ("shared/db" in answer.json["Variables"]) is reads
    assert ("shared/db" in answer.json["Refused"]) is not reads


async def test_services_of_the_namespace_are_told(store, agent, alloc):
    row = ServiceRegistration(
        id=f"_nomad-task-{alloc.id}-web-x",
        service_name="web",
        namespace="default",
        node_id=agent.node.id,
        alloc_id=alloc.id,
        job_id=alloc.job_id,
        address="10.0.0.1",
        port=80,
        tags=("a",),
    )
    report = ServiceReport(node_id=agent.node.id, secret=agent.secret, registered=(row,))
    await store.awrite_call(report_services, report, by=CLUSTER, now=NOW)
    asked = question(alloc, services=("web", "none"), all_services=True)
    told = (await agent.call("POST", "lookups", asked)).json
    assert [each["Address"] for each in told["Services"]["web"]] == ["10.0.0.1"]
    assert told["Services"]["none"] == []
    assert told["AllServices"] == {"web": ["a"]}


async def test_another_node_s_allocation_is_not_spoken_of(store, agent, alloc):
    other = AgentCaller(2)
    await other.join()
    answer = await other.call("POST", "lookups", question(alloc, "nomad/jobs"))
    assert answer.status == 404
    assert "is not on this node" in answer.json["Error"]


async def test_a_node_that_proves_nothing_learns_nothing(store, agent, alloc):
    liar = AgentCaller(1, secret="guess")
    assert (await liar.call("POST", "lookups", question(alloc, "nomad/jobs"))).status == 403


async def test_too_many_names_are_refused(agent, alloc):
    asked = question(alloc, *(f"v{number}" for number in range(501)))
    answer = await agent.call("POST", "lookups", asked)
    assert (answer.status, answer.json["Error"]) == (400, "at most 500 names at a time")


async def test_an_answer_comes_once_something_changed(store, agent, alloc):
    path = f"nomad/jobs/{alloc.job_id}"
    await put(store, path, a="1")
    first = (await agent.call("POST", "lookups", question(alloc, path))).json
    asked = question(alloc, path, after=first["Index"], wait_s=30.0)
    waiting = asyncio.ensure_future(agent.call("POST", "lookups", asked))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await put(store, path, a="2")
    told = (await asyncio.wait_for(waiting, 10)).json
    assert told["Variables"][path] == {"a": "2"}
    assert told["Index"] > first["Index"]
