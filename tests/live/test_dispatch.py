"""A parameterized job with real processes: what is dispatched is what the task finds."""

import base64

import pytest

from cluster.bench.stack import Stack
from tests.live.world import World, job, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: The largest one: every byte there is, many times.
PAYLOAD = bytes(range(256)) * 64
TELLS = {
    "Config": {"command": "/bin/sh", "args": ["-c", 'env > "$NOMAD_TASK_DIR/env"']},
    "DispatchPayload": {"File": "input/data.bin"},
}
HOLDS = {"Config": {"command": "/bin/sleep", "args": ["600"]}, "KillTimeout": 1_000_000_000}
RULES = {"Payload": "required", "MetaRequired": ["image"], "MetaOptional": ["width", "height"]}


@pytest.fixture
def world():
    with Stack(agent=True, environment={"BIVOUAC_NODE_NAME": "first"}) as stack:
        world = World(stack)
        try:
            world.node("first")
            yield world
        finally:
            world.api.close()
            kill_tasks_below(str(stack.data_dir))


def dispatch(world, **parameters):
    body = {"Payload": base64.b64encode(PAYLOAD).decode(), "Meta": {"image": "cat.png"}}
    answer = world.api.put("/v1/job/resize/dispatch", json=body, params=parameters)
    assert answer.is_success, answer.text
    return answer.json()["DispatchedJobID"]


def file_of(world, alloc, path):
    answer = world.api.get(f"/v1/client/fs/cat/{alloc['ID']}", params={"path": path})
    assert answer.is_success, answer.text
    return answer.content


def test_a_task_finds_the_bytes_and_the_words_it_was_dispatched_with(world):
    form = job("resize", task=TELLS) | {"Type": "batch", "Update": None}
    assert world.register(form | {"Meta": {"width": "100"}, "ParameterizedJob": RULES}) == ""
    child = dispatch(world)

    (alloc,) = until(lambda: world.allocations(child, "complete"), "the child has run")

    assert file_of(world, alloc, "task/local/input/data.bin") == PAYLOAD
    lines = file_of(world, alloc, "task/local/env").decode().splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (told["NOMAD_JOB_ID"], told["NOMAD_JOB_PARENT_ID"]) == (child, "resize")
    assert told["NOMAD_META_image"] == "cat.png"
    assert (told["NOMAD_META_width"], told["NOMAD_META_height"]) == ("100", "")
    until(lambda: world.get(f"job/{child}")["Status"] == "dead", "the child is done")
    counts = {"Pending": 0, "Running": 0, "Dead": 1}
    until(lambda: world.get("job/resize/summary")["Children"] == counts, "the parent knows")
    assert world.get("job/resize")["Status"] == "running"


def test_children_are_stopped_and_collected_like_any_job(world):
    form = job("resize", task=HOLDS) | {"Type": "batch", "Update": None}
    assert world.register(form | {"ParameterizedJob": RULES}) == ""
    child = dispatch(world, idempotency_token="once")
    world.running(child, 1)
    assert world.get("job/resize/summary")["Children"]["Running"] == 1
    assert dispatch(world, idempotency_token="once") == child

    assert world.api.delete(f"/v1/job/{child}").is_success
    until(lambda: world.allocations(child, "complete", "failed"), "the child has ended")
    until(lambda: world.get(f"job/{child}")["Status"] == "dead", "the child is done")
    assert world.api.put("/v1/system/gc").is_success
    until(lambda: len(world.get("jobs")) == 1, "what ended is collected")

    assert [item["ID"] for item in world.get("jobs")] == ["resize"]
    assert dispatch(world, idempotency_token="once") != child
