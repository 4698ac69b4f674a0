"""What an agent cannot carry out is named and fails, on a real cluster; none of it is healthy."""

import hashlib
import os
import stat
from pathlib import Path

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.cluster.agent.real_groups import why_no_root
from tests.file_server import tar_of
from tests.live.world import SECOND, SIZE, World, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parents[2] / "examples"
UPDATE = {
    "MaxParallel": 1,
    "MinHealthyTime": SECOND // 2,
    "HealthyDeadline": 10 * SECOND,
    "ProgressDeadline": 60 * SECOND,
}
#: A tcp check on a port that nobody listens on.
CHECK = {"Type": "tcp", "Interval": SECOND, "Timeout": SECOND}
SERVED = {"Name": "s", "Provider": "nomad", "PortLabel": "p", "Checks": [CHECK]}


@pytest.fixture(scope="module")
def world():
    """In a directory of its own: below pytest's no other user comes through."""
    with Stack(agent=True, environment=SIZE) as stack:
        world = World(stack)
        until(lambda: [n for n in world.get("nodes") if n["Status"] == "ready"], "a node")
        yield world
        world.api.close()
        kill_tasks_below(str(stack.data_dir))


def job(job_id, group=None, **task):
    """A service with one task, which is neither started again nor replaced."""
    task = {
        "Name": "task",
        "Driver": "raw_exec",
        "Config": {"command": "/bin/sh", "args": ["-c", "exec sleep 3600"]},
        "Resources": {"CPU": 50, "MemoryMB": 32},
        **task,
    }
    group = {
        "Name": "group",
        "RestartPolicy": {"Attempts": 0, "Mode": "fail"},
        "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
        "Update": UPDATE,
        "Tasks": [task],
        **(group or {}),
    }
    return {"ID": job_id, "Type": "service", "TaskGroups": [group]}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "artifact.source",
            {"Artifacts": [{"GetterSource": "s3::https://127.0.0.1:9/nothing.tgz"}]},
        ),
    ],
)
def test_a_rollout_of_what_cannot_be_carried_out_fails_and_names_it(world, name, fields):
    job_id = name.replace(".", "-")
    world.register(job(job_id, **fields))
    (alloc,) = until(lambda: world.allocations(job_id, "failed"), f"{name} fails")
    events = alloc["TaskStates"]["task"]["Events"]
    # The verdict of its rollout may follow.
    assert [event["Type"] for event in events[:2]] == ["Received", "Setup Failure"]
    assert f"{name} is not carried out: " in events[1]["DisplayMessage"]
    until(lambda: world.get(f"job/{job_id}/deployment")["Status"] == "failed", "its end")


def test_a_service_with_a_check_that_cannot_pass_never_counts_as_healthy(world):
    network = {"DynamicPorts": [{"Label": "p"}]}
    world.register(job("served", {"Services": [SERVED], "Networks": [network]}))
    (alloc,) = world.running("served", 1)
    until(lambda: world.get(f"client/allocation/{alloc['ID']}/checks"), "its check is planned")

    def failing():
        (check,) = world.get(f"client/allocation/{alloc['ID']}/checks").values()
        return check if check["Status"] == "failure" else None

    assert "Connect call failed" in until(failing, "its check fails")["Output"]
    until(lambda: world.get("job/served/deployment")["Status"] == "failed", "its end")
    deployment = world.get("job/served/deployment")
    assert deployment["TaskGroups"]["group"]["HealthyAllocs"] == 0
    world.purge("served")
    until(lambda: world.get("service/s") == [], "its service is not found any more")


def state_of_rollout(world, job_id):
    deployment = world.get(f"job/{job_id}/deployment")
    return deployment and deployment["Status"]


def test_the_example_of_a_service_is_found_and_answers_with_its_own_bytes(world):
    text = (EXAMPLES / "web-service.nomad.hcl").read_text()
    parsed = world.api.put("/v1/jobs/parse", json={"JobHCL": text, "Canonicalize": True})
    world.register(parsed.json())
    until(lambda: state_of_rollout(world, "web-service") == "successful", "both are healthy")
    found = sorted(world.get("service/web-service"), key=lambda each: each["Tags"])
    assert [each["Tags"] for each in found] == [["http", "instance-0"], ["http", "instance-1"]]
    for each in found:
        answer = httpx.get(f"http://{each['Address']}:{each['Port']}/index.html", trust_env=False)
        assert answer.text == f"v1 says hello from {each['AllocID']}\n"
        (check,) = world.get(f"client/allocation/{each['AllocID']}/checks").values()
        assert (check["Status"], check["StatusCode"]) == ("success", 200)
    assert world.get("services") == [
        {
            "Namespace": "default",
            "Services": [
                {"ServiceName": "web-service", "Tags": ["http", "instance-0", "instance-1"]}
            ],
        }
    ]
    chosen = [world.get("service/web-service?choose=1|me") for _ in range(3)]
    assert chosen[0] == chosen[1] == chosen[2]
    gone, stays = found
    world.api.put(f"/v1/allocation/{gone['AllocID']}/stop")

    def replaced():
        left = {each["AllocID"] for each in world.get("service/web-service")}
        return len(left) == 2 and gone["AllocID"] not in left and stays["AllocID"] in left

    until(replaced, "another one is found in its place")
    world.purge("web-service")
    until(lambda: world.get("services") == [], "no service is left")


def test_a_task_works_on_what_was_downloaded_for_it(world, served):
    archive = tar_of(("app/run", b"echo downloaded; exec sleep 60"))
    served.files["/app.tgz"] = archive
    checksum = f"sha256:{hashlib.sha256(archive).hexdigest()}"
    artifact = {"GetterSource": f"{served.url}/app.tgz", "GetterOptions": {"checksum": checksum}}
    config = {"command": "/bin/sh", "args": ["local/app/run"]}
    world.register(job("downloads", Artifacts=[artifact], Config=config))
    (alloc,) = world.running("downloads", 1)
    until(lambda: world.output(alloc["ID"]) == "downloaded\n", "its output")


def test_a_template_waits_for_its_variable_and_follows_it(world):
    path = "nomad/jobs/follows"
    text = f'{{{{ with nomadVar "{path}" }}}}{{{{ .word }}}}{{{{ end }}}}'
    template = {"EmbeddedTmpl": text, "DestPath": "local/word", "Splay": 0}
    template["Wait"] = {"Min": SECOND // 10, "Max": SECOND}
    config = {"command": "/bin/sh", "args": ["-c", "cat local/word; echo; exec sleep 3600"]}
    world.register(job("follows", Templates=[template], Config=config))
    (alloc,) = until(lambda: world.allocations("follows", "pending"), "its allocation")

    def says(word):
        world.api.put(f"/v1/var/{path}", json={"Path": path, "Items": {"word": word}})
        until(lambda: word in world.output(alloc["ID"]).split(), f"{word} in its output")

    says("first")
    says("second")

    def history():
        told = world.get(f"allocation/{alloc['ID']}").get("TaskStates")
        return [each["DisplayMessage"] for each in told["task"]["Events"]] if told else []

    until(lambda: "Template with change_mode restart re-rendered" in history(), "why it restarted")


def test_the_example_of_a_configured_task_greets_as_its_variable_says(world):
    text = (Path(__file__).parents[2] / "examples/configured.nomad.hcl").read_text()
    world.register(world.api.put("/v1/jobs/parse", json={"JobHCL": text}).json())
    (alloc,) = until(lambda: world.allocations("configured", "pending"), "its allocation")
    path = "nomad/jobs/configured"
    world.api.put(f"/v1/var/{path}", json={"Path": path, "Items": {"greeting": "hello"}})
    until(
        lambda: world.output(alloc["ID"], "greeter") == "HELLO\nby greeter of configured\n", "it"
    )


@pytest.mark.skipif(bool(why_no_root()), reason="no isolation on this machine")
def test_the_example_of_an_isolated_task_sees_its_own_and_hears_its_end(world):
    text = (Path(__file__).parents[2] / "examples/isolated.nomad.hcl").read_text()
    world.register(world.api.put("/v1/jobs/parse", json={"JobHCL": text}).json())
    (alloc,) = world.running("isolated", 1)
    told = until(
        lambda: "/alloc.\n" in (text := world.output(alloc["ID"], "looks")) and text, "its output"
    )
    assert told.startswith("uid=65534(nobody) gid=65534(nogroup)")
    assert "My directories are /local, /secrets and /alloc.\n" in told
    (node,) = world.get("nodes")
    drivers = world.get(f"node/{node['ID']}")["Drivers"]
    assert drivers["exec"]["Healthy"]
    assert drivers["java"]["HealthDescription"].startswith("not carried out: ")
    world.api.delete("/v1/job/isolated")
    until(lambda: world.get(f"allocation/{alloc['ID']}")["ClientStatus"] == "complete", "its end")
    assert world.output(alloc["ID"], "looks").endswith("bye\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts tasks as other users")
def test_a_task_of_nobody_is_nobody_and_writes_where_it_may(world):
    script = "id -un; id -gn; for d in $NOMAD_TASK_DIR $NOMAD_SECRETS_DIR $NOMAD_ALLOC_DIR/data"
    script += "; do touch $d/x && echo wrote; done; exec sleep 3600"
    config = {"command": "/bin/sh", "args": ["-c", script]}
    world.register(job("nobody", User="nobody", Config=config))
    (alloc,) = world.running("nobody", 1)
    told = until(
        lambda: (text := world.output(alloc["ID"])).count("wrote") == 3 and text, "what it wrote"
    )
    assert told.split() == ["nobody", "nogroup", "wrote", "wrote", "wrote"]


def test_nothing_but_the_way_to_tasks_is_open_in_the_data_directory(world):
    root = world.stack.data_dir
    tasks = root / "agent" / "alloc"
    way = {root, root / "agent", tasks}
    found = [root, *(path for path in root.rglob("*") if tasks not in path.parents)]
    opened = {}
    for path in found:
        mode = stat.S_IMODE(path.lstat().st_mode)
        allowed = 0o711 if path in way else 0o700
        if not path.is_socket() and mode & ~allowed:
            opened[str(path.relative_to(root))] = oct(mode)
    assert opened == {}
