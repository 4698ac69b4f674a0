"""Further job files of `examples/`, from submission to their bytes on the wire, or the refusal."""

import re
from pathlib import Path

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.cluster.agent.devices.nvml_library import built
from tests.live.world import SIZE, AgentProcess, World, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def world():
    with Stack(agent=True, environment=SIZE) as stack:
        world = World(stack)
        until(lambda: [n for n in world.get("nodes") if n["Status"] == "ready"], "a node")
        yield world
        world.api.close()
        kill_tasks_below(str(stack.data_dir))


def job_of(world, name, variables=""):
    text = (EXAMPLES / f"{name}.nomad.hcl").read_text()
    parsed = world.api.put("/v1/jobs/parse", json={"JobHCL": text, "Variables": variables})
    assert parsed.is_success, parsed.text
    return parsed.json()


def places(world, service):
    """Where its instances listen."""
    return sorted(f"{each['Address']}:{each['Port']}" for each in world.get(f"service/{service}"))


def page(place):
    """What is served there, or nothing."""
    try:
        answer = httpx.get(f"http://{place}/index.html", trust_env=False, timeout=2)
    except httpx.TransportError:
        return ""
    return answer.text if answer.is_success else ""


def test_a_sidecar_writes_what_the_server_beside_it_serves(world):
    world.register(job_of(world, "sidecar"))
    (alloc,) = world.running("sidecar", 1)
    (place,) = until(lambda: places(world, "sidecar"), "where it listens")

    def number():
        found = re.fullmatch(rf"page (\d+) by writer of {alloc['ID']}\n", page(place))
        return int(found[1]) if found else 0

    first = until(number, "a page")
    until(lambda: number() > first, "a newer page")
    world.api.put(
        f"/v1/client/allocation/{alloc['ID']}/signal", json={"Signal": "SIGKILL", "Task": "writer"}
    )

    def restarts():
        (found,) = world.allocations("sidecar")
        return {name: state["Restarts"] for name, state in found["TaskStates"].items()}

    until(lambda: restarts()["writer"] == 1, "the sidecar is started again")
    until(number, "and writes")
    assert restarts() == {"writer": 1, "server": 0}
    world.purge("sidecar")
    until(lambda: not page(place), "both are gone")


def test_a_cron_launches_jobs_that_report(world):
    def children():
        return [each["ID"] for each in world.get("jobs") if each["ParentID"] == "cron"]

    def report(child):
        return until(
            lambda: "".join(
                world.output(alloc["ID"], "disk") for alloc in world.allocations(child, "complete")
            ),
            "its report",
        )

    assert world.register(job_of(world, "cron")) == ""
    assert children() == []
    answer = world.api.put("/v1/job/cron/periodic/force")
    forced = world.get(f"evaluation/{answer.json()['EvalID']}")["JobID"]
    world.register(job_of(world, "cron", 'when = "*/2 * * * * * *"'))
    until(lambda: len(children()) >= 3, "two more by the clock")
    assert world.api.delete("/v1/job/cron").is_success
    for child in {forced, *children()}:
        assert re.fullmatch(r"cron/periodic-\d+", child)
        head, columns, *_ = report(child).splitlines()
        assert head == f"report of {child} below cron"
        assert columns.startswith("Filesystem ")
        world.purge(child)
    world.purge("cron")


def test_a_device_that_no_node_has_is_named_in_the_plan_and_in_the_evaluation(world):
    job = job_of(world, "needs-gpu")
    planned = world.api.put("/v1/job/needs-gpu/plan", json={"Job": job}).json()
    assert "resources.device" not in planned["Warnings"]
    failed = planned["FailedTGAllocs"]["training"]
    assert failed["ConstraintFiltered"] == {"missing devices": 1}
    eval_id = world.register(job)
    until(lambda: world.get(f"evaluation/{eval_id}")["Status"] == "complete", "its decision")
    (found,) = world.get(f"evaluation/{eval_id}/explanation")
    assert found["NearestMiss"] == "1 node: missing devices"
    blocked = world.evaluation("needs-gpu", "queued-allocs", "blocked")
    assert blocked["PreviousEval"] == eval_id
    assert world.allocations("needs-gpu") == []
    world.purge("needs-gpu")


def test_graphics_cards_are_granted_to_one_task_each(world, tmp_path):
    """Of a stand-in for the driver's library, with two cards: no such hardware is here."""
    folder = built(tmp_path)
    world.register(job_of(world, "needs-gpu"))
    world.evaluation("needs-gpu", "queued-allocs", "blocked")
    agent = AgentProcess(world.stack, "carded")
    agent.environment["LD_LIBRARY_PATH"] = str(folder)
    agent.start()
    try:
        node = world.get(f"node/{world.node('carded')['ID']}")
        (group,) = node["NodeResources"]["Devices"]
        cards = {each["ID"] for each in group["Instances"]}
        assert len(cards) == 2
        # What waited for a card begins when one is there.
        (alloc,) = until(lambda: world.allocations("needs-gpu", "complete"), "its end")
        assert len(cards & set(world.output(alloc["ID"], "train").split())) == 1
        world.purge("needs-gpu")

        three = job_of(world, "needs-gpu")
        (trio,) = three["TaskGroups"]
        (task,) = trio["Tasks"]
        three["Type"], three["ID"], three["Name"], trio["Count"] = "service", "three", "three", 3
        task["Config"]["args"] = ["-c", "echo $NVIDIA_VISIBLE_DEVICES; exec sleep 3600"]
        world.register(three)
        two = world.running("three", 2)
        until(lambda: all(world.output(each["ID"], "train") for each in two), "their cards")
        assert {world.output(each["ID"], "train").strip() for each in two} == cards
        failed = world.evaluation("three", "job-register")["FailedTGAllocs"]["training"]
        assert failed["DimensionExhausted"] == {"devices: no devices match request": 1}

        used = world.get(f"client/allocation/{two[0]['ID']}/stats")["ResourceUsage"]
        (told,) = used["DeviceStats"]
        (reading,) = told["InstanceStats"].values()
        assert reading["Stats"]["Attributes"]["Temperature"]["IntNumeratorVal"] == 61
        (every,) = world.get(f"client/stats?node_id={node['ID']}")["DeviceStats"]
        assert set(every["InstanceStats"]) == cards
        world.purge("three")
        until(lambda: not world.allocations("three", "running"), "their end")
    finally:
        world.close(node)
        agent.kill()


def test_a_page_follows_its_variable_and_the_services_it_lists(world):
    job = job_of(world, "directory")
    world.register(job)
    until(lambda: len(places(world, "directory-worker")) == 2, "two workers")
    path = "nomad/jobs/directory"

    def says(title):
        world.api.put(f"/v1/var/{path}", json={"Path": path, "Items": {"title": title}})

    def tells(title, count):
        def find():
            workers = places(world, "directory-worker")
            lines = page(place).splitlines()
            fits = lines[:1] == [title] and sorted(lines[1:]) == workers
            return fits and len(workers) == count

        until(find, f"{title} and {count} workers")

    (place,) = until(lambda: places(world, "directory"), "where the page will be served")
    assert page(place) == ""
    says("Workers")
    tells("Workers", 2)
    says("Staff")
    job["TaskGroups"][0]["Count"] = 3
    world.register(job)
    tells("Staff", 3)
    (alloc,) = [each for each in world.running("directory", 4) if each["TaskGroup"] == "page"]
    assert alloc["TaskStates"]["server"]["Restarts"] == 0
    world.purge("directory")


def test_a_web_service_is_rolled_to_its_next_version_and_answers_all_the_while(world):
    def rolled():
        found = world.get("job/web-service/deployment") or {}
        return (found.get("JobVersion"), found.get("Status"))

    def answers():
        return {text.partition(" ")[0] for text in map(page, places(world, "web-service")) if text}

    world.register(job_of(world, "web-service"))
    until(lambda: rolled() == (0, "successful"), "v1 is healthy")
    assert answers() == {"v1"}
    old = places(world, "web-service")
    world.register(job_of(world, "web-service", 'version = "v2"'))
    seen = []
    until(lambda: seen.append(answers()) or rolled() == (1, "successful"), "v2 is healthy")
    assert set() not in seen
    assert {"v1", "v2"} in seen
    assert answers() == {"v2"}
    # The ports of v1 may be those of v2 by now.
    until(lambda: not any(page(each).startswith("v1") for each in old), "nothing of v1 answers")
    world.purge("web-service")
