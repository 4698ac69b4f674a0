"""python-nomad, another project's client, unchanged: every call it has, against running processes.

What it expects of an answer is what these tests look at: here of what runs, beside of the cluster
itself. `test_every_call_is_made` compares both files with the client, so that none is forgotten.
"""

import base64
import inspect
import re
from pathlib import Path

import nomad
import pytest
from nomad.api import base
from nomad.api.exceptions import (
    BadRequestNomadException,
    BaseNomadException,
    InvalidParameters,
    URLNotFoundNomadException,
)

from tests.live.world import AgentProcess, job, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: Of a thing that is not there.
NOBODY = "11111111-2222-3333-4444-555555555555"
SCRIPT = "echo begun; echo kept > local/kept; trap 'echo told' USR1; while :; do sleep 0.2; done"
SHELL = {"Config": {"command": "/bin/sh", "args": ["-c", SCRIPT]}}
ON_FIRST = [{"LTarget": "${node.unique.name}", "RTarget": "first", "Operand": "="}]
ROLLING = {"MaxParallel": 1, "Canary": 1, "MinHealthyTime": 10**8, "HealthyDeadline": 10**11}
HCL = """
job "parsed" {
  group "one" {
    task "only" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
"""


def service(name, *, update=None, **task):
    made = job(name, task={**SHELL, **task}, Constraints=ON_FIRST)
    return {"Job": made | ({"Update": update} if update else {})}


@pytest.fixture(scope="module")
def client(world):
    return nomad.Nomad(address=world.stack.address, token=world.stack.token, timeout=20)


@pytest.fixture(scope="module")
def running(world, client):
    """An allocation of a service that was registered by the client."""
    told = client.job.register_job("courier", service("courier"))
    assert {"EvalID", "EvalCreateIndex", "JobModifyIndex", "Warnings"} <= told.keys()
    found = world.running("courier", 1)[0]["ID"]
    until(lambda: "begun" in world.output(found), "its first line")
    yield found
    world.purge("courier")


def test_every_call_is_made():
    sources = Path(__file__).parent.glob("test_python_nomad*.py")
    text = "".join(source.read_text() for source in sources)
    made = {each.strip(".") for each in re.findall(r"client((?:\.\w+)+)\(", text)}
    client = nomad.Nomad(address="http://127.0.0.1:1")
    missing = []
    for name, area in areas_of(client):
        calls = [
            call
            for call, _ in inspect.getmembers(type(area), inspect.isfunction)
            if not call.startswith("_") and call != "request"
        ]
        missing += [f"{name}.{call}" for call in calls if f"{name}.{call}" not in made]
    assert missing == []


def areas_of(client):
    """Every object of the client that asks, by the name it is reached by."""
    for name, _ in inspect.getmembers(type(client), lambda each: isinstance(each, property)):
        area = getattr(client, name)
        if isinstance(area, base.Requester):
            yield name, area
        for inner, asking in vars(area).items():
            if isinstance(asking, base.Requester):
                yield f"{name}.{inner}", asking


def test_a_job_from_its_text_to_its_end(world, client):
    parsed = client.jobs.parse(HCL)
    assert (parsed["ID"], parsed["TaskGroups"][0]["Name"]) == ("parsed", "one")
    assert client.jobs.parse(HCL, canonicalize=True)["Type"] == "service"
    valid = client.validate.validate_job({"Job": parsed | {"Datacenters": ["*"]}}).json()
    assert valid["ValidationErrors"] is None
    told = client.jobs.register_job(service("post"))
    assert told["EvalID"] in client.evaluation
    world.running("post", 1)
    assert "post" in client.job
    assert "post" in client.jobs
    assert client.jobs["post"]["Status"] == client.job["post"]["Status"] == "running"
    assert len(client.jobs) == len(list(client.jobs)) >= 1
    listed = client.jobs.get_jobs(prefix="po", filter_='Type == "service"', meta=True)
    assert [each["ID"] for each in listed] == ["post"]
    changed = service("post", KillTimeout=2 * 10**9)
    planned = client.job.plan_job("post", changed, diff=True)
    assert planned["Diff"]["Type"] == "Edited"
    assert planned["JobModifyIndex"] == told["JobModifyIndex"]
    client.job.register_job("post", changed)
    assert client.job.get_job("post")["Version"] == 1
    assert [each["Version"] for each in client.job.get_versions("post")["Versions"]] == [1, 0]
    assert client.job.stable_job("post", 0, True)["Index"] > 0
    reverted = client.job.revert_job("post", 0, enforce_prior_version=1)
    assert reverted["EvalID"] in client.evaluation
    assert "EvalID" in client.job.evaluate_job("post")
    assert client.job.get_allocations("post", all_=True)
    assert client.job.get_evaluations("post", namespace="default")
    assert client.job.get_summary("post")["Summary"].keys() == {"group"}
    assert "EvalID" in client.job.deregister_job("post", eval_priority=80, global_=False)
    assert client.job["post"]["Stop"]
    client.job.deregister_job("post", purge=True)
    assert "post" not in client.job
    with pytest.raises(URLNotFoundNomadException):
        client.job.get_job("post")


def test_what_waits_for_its_time_or_a_dispatch(client):
    task = {"Config": {"command": "/bin/true"}}
    parts = {"Type": "batch", "Update": None}
    hourly = {**job("hourly", task=task), **parts, "Periodic": {"Spec": "0 0 1 1 *"}}
    client.job.register_job("hourly", {"Job": hourly})
    assert "EvalID" in client.job.periodic_job("hourly")
    wants = {"Payload": "optional", "MetaRequired": ["time"]}
    client.jobs.register_job(
        {"Job": {**job("sent", task=task), **parts, "ParameterizedJob": wants}}
    )
    payload = base64.b64encode(b"hello").decode()
    first = client.job.dispatch_job(
        "sent", payload=payload, meta={"time": "500"}, id_prefix_template="run1",
        idempotency_token=NOBODY,
    )  # fmt: skip
    again = client.job.dispatch_job("sent", meta={"time": "500"}, idempotency_token=NOBODY)
    assert first["DispatchedJobID"].startswith("sent/")
    assert again["DispatchedJobID"] == first["DispatchedJobID"]
    with pytest.raises(BadRequestNomadException, match="time"):
        client.job.dispatch_job("sent")
    for name in ("hourly", "sent"):
        for child in client.jobs.get_jobs(prefix=f"{name}/", namespace="*"):
            client.job.deregister_job(child["ID"], purge=True)
        client.job.deregister_job(name, purge=True)


def test_a_rollout_is_paused_promoted_and_failed(world, client):
    def newest(version):
        def find():
            found = client.job.get_deployment("roll")
            return found if found and found["JobVersion"] == version else None

        return until(find, f"the rollout of version {version}")

    def healthy(deployment):
        group = client.deployment.get_deployment(deployment)["TaskGroups"]["group"]
        return group["HealthyAllocs"] >= 1

    client.job.register_job("roll", service("roll", update=ROLLING))
    first = newest(0)["ID"]
    until(lambda: client.deployment[first]["Status"] == "successful", "the first rollout", 60)
    assert first in client.deployment
    assert first in client.deployments
    assert client.deployments[first]["JobID"] == "roll"
    assert [each["ID"] for each in client.deployments.get_deployments(prefix=first[:8])] == [first]
    assert len(client.deployments) == len(list(client.deployments))
    assert NOBODY not in client.deployment
    client.job.register_job("roll", service("roll", update=ROLLING, Env={"A": "1"}))
    second = newest(1)["ID"]
    assert client.deployment.pause_deployment(second, True)["DeploymentModifyIndex"] > 0
    assert client.deployment.get_deployment(second)["Status"] == "paused"
    client.deployment.pause_deployment(second, False)
    canary = until(lambda: client.deployment.get_deployment_allocations(second), "its canary")
    until(lambda: healthy(second), "a healthy canary", 60)
    told = client.deployment.deployment_allocation_health(
        second, healthy_allocations=[canary[0]["ID"]]
    )
    assert "EvalID" in told
    assert "EvalID" in client.deployment.promote_deployment_all(second)
    until(lambda: client.deployment[second]["Status"] == "successful", "the second rollout", 60)
    client.job.register_job("roll", service("roll", update=ROLLING, Env={"A": "2"}))
    third = newest(2)["ID"]
    until(lambda: healthy(third), "a healthy canary", 60)
    assert "EvalID" in client.deployment.promote_deployment_groups(third, groups=["group"])
    client.job.register_job("roll", service("roll", update=ROLLING, Env={"A": "3"}))
    last = newest(3)["ID"]
    assert "EvalID" in client.deployment.fail_deployment(last)
    assert client.deployment[last]["Status"] == "failed"
    assert len(client.job.get_deployments("roll")) == 4
    with pytest.raises(BaseNomadException, match="terminal"):
        client.deployment.fail_deployment(last)
    client.job.deregister_job("roll", purge=True)


def test_allocations_and_evaluations_are_read(client, running):
    alloc = client.allocation.get_allocation(running)
    assert (alloc["Name"], alloc["NodeName"]) == ("courier.group[0]", "first")
    assert running in client.allocation
    assert client.allocation[running]["TaskStates"]["task"]["State"] == "running"
    assert NOBODY not in client.allocation
    listed = client.allocations.get_allocations(
        prefix=running[:8], per_page=1, filter_='ClientStatus == "running"', namespace="*",
        resources=True, task_states=True, reverse=True,
    )  # fmt: skip
    assert [each["ID"] for each in listed] == [running]
    assert listed[0]["AllocatedResources"]["Tasks"]["task"]["Memory"]["MemoryMB"] == 32
    assert len(client.allocations) == len(list(client.allocations))
    evaluation = alloc["EvalID"]
    assert client.evaluation[evaluation]["Status"] == "complete"
    assert client.evaluation.get_evaluation(evaluation)["JobID"] == "courier"
    assert [each["ID"] for each in client.evaluation.get_allocations(evaluation)] == [running]
    assert evaluation in client.evaluations
    assert client.evaluations[evaluation]["Type"] == "service"
    assert len(client.evaluations) == len(list(client.evaluations))
    assert [each["ID"] for each in client.evaluations.get_evaluations(prefix=evaluation)] == [
        evaluation
    ]
    with pytest.raises(URLNotFoundNomadException):
        client.evaluation.get_evaluation(NOBODY)


def test_files_output_and_usage_of_an_allocation(world, client, running):
    inside = "task/local/kept"
    names = {each["Name"] for each in client.client.ls.list_files(running, "/task/local")}
    assert names == {"kept"}
    assert client.client.stat.stat_file(running, inside)["Size"] == 5
    assert client.client.cat.read_file(running, inside) == "kept\n"
    assert client.client.read_at.read_file_offset(running, 1, 3, inside) == "ept"
    frame = client.client.stream_logs.stream(running, "task", "stdout")
    assert base64.b64encode(b"begun\n").decode() in frame
    assert client.client.stream_logs.stream(running, "task", "stdout", plain=True) == "begun\n"
    usage = client.client.allocation.read_allocation_stats(running)
    assert {"ResourceUsage", "Tasks", "Timestamp"} <= usage.keys()
    node = client.allocation[running]["NodeID"]
    assert client.client.stats.read_stats(node_id=node)["Memory"]["Total"] > 0
    client.client.allocation.signal_allocation(running, "SIGUSR1", task="task")
    until(lambda: "told" in world.output(running), "the signal's line")
    with pytest.raises(BaseNomadException, match="invalid signal"):
        client.client.allocation.signal_allocation(running, "INVALID-SIGNAL")
    client.client.allocation.restart_allocation(running)
    until(lambda: client.allocation[running]["TaskStates"]["task"]["Restarts"] == 1, "a restart")
    with pytest.raises(BaseNomadException):
        client.client.cat.read_file(running, "task/local/nothing")


def test_an_end_of_a_file_is_streamed(client, running):
    with pytest.raises(BaseNomadException):
        client.client.stream_file.stream(NOBODY, 0, "start", "task/local/kept")
    # A file that may grow is told without an end, so the client is given one of its own.
    session = client.client.stream_file.session
    address = f"{client.address}/v1/client/fs/stream/{running}"
    asked = {"path": "task/local/kept", "offset": 0, "origin": "start"}
    with session.get(
        address, params=asked, headers={"X-Nomad-Token": client.token}, stream=True, timeout=20
    ) as answer:
        assert base64.b64encode(b"kept\n") in next(answer.iter_content(None))


def test_a_stopped_allocation_is_replaced_and_collected(world, client):
    client.job.register_job("brief", service("brief"))
    old = world.running("brief", 1)[0]["ID"]
    assert client.allocation.stop_allocation(old)["EvalID"]
    until(lambda: world.allocations("brief", "complete"), "the end of the stopped one")
    world.running("brief", 1)
    client.client.gc_allocation.garbage_collect(old)
    node = client.allocation[old]["NodeID"]
    client.client.gc_all_allocations.garbage_collect(node_id=node)
    client.job.deregister_job("brief", purge=True)


def test_a_node_is_drained_and_purged(world, client):
    agent = AgentProcess(world.stack, "van")
    agent.start()
    try:
        node = world.node("van")["ID"]
        assert "van" in client.nodes
        assert node in client.node
        assert client.nodes["van"]["ID"] == client.node[node]["ID"] == node
        assert len(client.nodes) == len(list(client.nodes))
        listed = client.nodes.get_nodes(
            prefix=node[:8], per_page=5, filter_='Name == "van"', resources=True, os=True
        )
        assert listed[0]["NodeResources"]["Memory"]["MemoryMB"] > 0
        assert client.node.get_node(node)["Status"] == "ready"
        assert client.node.get_allocations(node) == []
        assert "NodeModifyIndex" in client.node.evaluate_node(node)
        client.node.eligible_node(node, ineligible=True)
        assert client.node[node]["SchedulingEligibility"] == "ineligible"
        client.node.eligible_node(node, eligible=True)
        with pytest.raises(InvalidParameters):
            client.node.eligible_node(node)
        spec = {"Deadline": 10**10, "IgnoreSystemJobs": True}
        assert client.node.drain_node_with_spec(node, spec)["NodeModifyIndex"] > 0
        assert client.node[node]["SchedulingEligibility"] == "ineligible"
        client.node.drain_node_with_spec(node, {}, mark_eligible=True)
        assert client.node[node]["SchedulingEligibility"] == "eligible"
        assert client.node.drain_node(node, enable=True)["NodeModifyIndex"] > 0
        assert client.node[node]["LastDrain"]["Status"] in {"draining", "complete"}
        client.node.drain_node(node, enable=False)
        assert client.node[node]["SchedulingEligibility"] == "eligible"
    finally:
        agent.kill()
        kill_tasks_below(str(world.stack.data_dir / "van"))
    world.node("van", status="down")
    assert client.node.purge_node(node)["NodeModifyIndex"] > 0
    assert node not in client.node


def test_scaling_policies_and_searches(client, running):
    scaled = service("scaled")
    scaled["Job"]["TaskGroups"][0] |= {
        "Count": 0,
        "Scaling": {"Min": 0, "Max": 3, "Policy": {"a": 1}},
    }
    client.job.register_job("scaled", scaled)
    (policy,) = client.scaling.get_scaling_policies(job="scaled", type_="horizontal")
    read = client.scaling.get_scaling_policy(policy["ID"])
    assert (read["Min"], read["Max"], read["Policy"]) == (0, 3, {"a": 1})
    with pytest.raises(URLNotFoundNomadException):
        client.scaling.get_scaling_policy(NOBODY)
    client.job.deregister_job("scaled", purge=True)
    assert client.search.search("courier", "jobs")["Matches"]["jobs"] == ["courier"]
    assert client.search.search(running[:8], "all")["Matches"]["allocs"] == [running]
    fuzzy = client.search.fuzzy_search("couri", "jobs")["Matches"]["jobs"]
    assert [each["ID"] for each in fuzzy] == ["courier"]


def test_events_come_as_they_happen(client):
    thread, leave, events = client.event.stream.get_stream(
        index=0, topic="Evaluation:told", namespace="default"
    )
    thread.start()
    told = client.jobs.register_job(service("told"))

    def comes():
        return [each["Payload"]["Evaluation"]["ID"] for each in events.get(timeout=60)["Events"]]

    # What happened shortly before is told first.
    until(lambda: told["EvalID"] in comes(), "the event of its evaluation")
    leave.set()
    client.job.deregister_job("told", purge=True)
    thread.join(60)
    assert not thread.is_alive()
