"""The job files of `examples/` that need nothing but this machine, from submission to their bytes.

Those of a service, a variable, isolation and a container are run by tests of what they show.
"""

import hashlib
from pathlib import Path

import pytest

from cluster.bench.stack import Stack
from tests.live.world import SIZE, World, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parents[2] / "examples"
ELSEWHERE = {
    "web-service": "test_nothing_pretended",
    "configured": "test_nothing_pretended",
    "isolated": "test_nothing_pretended",
    "container": "test_containers",
    "own-network": "test_own_networks",
    "too-big": "test_live",
    **dict.fromkeys(("sidecar", "cron", "needs-gpu", "directory"), "test_examples_more"),
}


@pytest.fixture(scope="module")
def world():
    with Stack(agent=True, environment=SIZE) as stack:
        world = World(stack)
        until(lambda: [n for n in world.get("nodes") if n["Status"] == "ready"], "a node")
        yield world
        world.api.close()
        kill_tasks_below(str(stack.data_dir))


def submit(world, name, variables=""):
    text = (EXAMPLES / f"{name}.nomad.hcl").read_text()
    parsed = world.api.put("/v1/jobs/parse", json={"JobHCL": text, "Variables": variables})
    assert parsed.is_success, parsed.text
    world.register(parsed.json())


def finished(world, name, count):
    return until(
        lambda: len(found := world.allocations(name, "complete")) == count and found,
        f"{count} of {name} are done",
        40,
    )


def test_every_example_is_run():
    here = {"hello", "batch-count", "comes-back", "mock-web", "download"}
    found = {path.name.removesuffix(".nomad.hcl") for path in EXAMPLES.glob("*.nomad.hcl")}
    assert found == here | ELSEWHERE.keys()
    for name, module in ELSEWHERE.items():
        assert name in (Path(__file__).parent / f"{module}.py").read_text()


def test_a_service_greets_from_each_allocation(world):
    submit(world, "hello")
    for alloc in world.running("hello", 2):
        until(
            lambda alloc=alloc: world.output(alloc["ID"], "loop").startswith(
                f"hello 1 from {alloc['Name']}\n"
            ),
            "its greeting",
        )
    world.purge("hello")


def test_a_batch_counts_as_far_as_its_variable_says(world):
    submit(world, "batch-count", "up_to = 3")
    for alloc in finished(world, "batch-count", 5):
        assert world.output(alloc["ID"], "count") == "1\n2\n3\n"
    world.purge("batch-count")


def test_a_task_that_is_killed_comes_back(world):
    submit(world, "comes-back")
    (alloc,) = world.running("comes-back", 1)
    said = until(lambda: world.output(alloc["ID"], "loop"), "its process")
    pid = int(said.rpartition("kill ")[2])
    until(lambda: Path(f"/proc/{pid}").exists(), "it lives")
    world.api.put(
        f"/v1/client/allocation/{alloc['ID']}/signal", json={"Signal": "SIGKILL", "Task": "loop"}
    )
    until(
        lambda: world.allocations("comes-back")[0]["TaskStates"]["loop"]["Restarts"] == 1,
        "it is started again",
    )
    world.purge("comes-back")


def test_a_rollout_that_pretends_is_successful(world):
    submit(world, "mock-web")
    world.running("mock-web", 6)
    until(
        lambda: (world.get("job/mock-web/deployment") or {}).get("Status") == "successful",
        "its rollout",
        40,
    )
    world.purge("mock-web")


def test_a_download_is_worked_on_only_if_it_is_the_one_that_was_meant(world, served):
    content = b"work on this\n" * 1000
    served.files["/input"] = content
    right = hashlib.sha256(content).hexdigest()
    given = f'url = "{served.url}/input"\nsha256 = "{right}"\n'
    submit(world, "download", given)
    (alloc,) = finished(world, "download", 1)
    assert world.output(alloc["ID"], "measure").split() == [str(len(content)), right, "-"]
    world.purge("download")
    served.files["/input"] = content + b"!"
    submit(world, "download", given)

    def why():
        found = world.allocations("download")
        states = [each["TaskStates"]["measure"] for each in found if each["TaskStates"]]
        return [e["DisplayMessage"] for s in states for e in s["Events"] if "hecksum" in str(e)]

    assert until(why, "its history tells why")
    assert world.output(world.allocations("download")[0]["ID"], "measure") == ""
    world.purge("download")
