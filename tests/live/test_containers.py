"""Tasks as containers of a real engine, from a submitted job to the bytes on the wire."""

import asyncio
import json
import os
import platform
import re
import signal
from pathlib import Path

import httpx
import pytest

from cluster.agent.drivers.docker.docker import DockerDriver, _Run
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import Handle, Streams
from cluster.agent.networks.lists import ADMIN_CHAIN, NetworkSettings
from cluster.bench.stack import Stack
from tests.cluster.agent.networks.real_bridge import run, traces, why_no_bridge
from tests.live.container_engine import (
    IMAGE,
    IS_PODMAN,
    containers,
    processes_in,
    real_engine,
    remove_container,
)
from tests.live.world import SIZE, AgentProcess, World, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

_ADDRESS = re.compile(r"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$", re.MULTILINE)
EXAMPLE = Path(__file__).parents[2] / "examples/container.nomad.hcl"


NETWORK = NetworkSettings(
    bridge_name=f"bvpod{os.getpid() % 200:03}", bridge_subnet=f"10.215.{os.getpid() % 200}.0/24"
)
CONFIG = f"""
client {{
  bridge_network_name   = "{NETWORK.bridge_name}"
  bridge_network_subnet = "{NETWORK.bridge_subnet}"

  host_volume "programs" {{
    path      = "/usr"
    read_only = true
  }}
  host_volume "kept" {{
    path = "KEPT"
  }}
}}
"""
#: The image has no program that speaks to a socket; the host's comes with its libraries.
ASK = """
ls -l $NOMAD_SECRETS_DIR; cat $NOMAD_SECRETS_DIR/nomad_token; echo
cat $NOMAD_SECRETS_DIR/nomad_further.jwt; echo; echo "$NOMAD_TOKEN"
cd $NOMAD_SECRETS_DIR
for loader in /programs/lib/LIBRARIES/ld-linux*.so.?; do :; done
ask() {
  $loader --library-path /programs/lib/LIBRARIES /programs/bin/curl -sS -w ' %{http_code}\n' \
    --unix-socket api.sock "$@"
}
ask -H "Authorization: Bearer $NOMAD_TOKEN" http://localhost/v1/var/nomad/jobs/asks-inside
ask http://localhost/v1/jobs
echo kept >/kept/file && echo ended
exec sleep 3600
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with real_engine(tmp_path_factory.mktemp("engine")) as socket:
        yield socket


@pytest.fixture(scope="module")
def world(engine):
    """A cluster with one node, whose agent may die."""
    with Stack(environment=SIZE) as stack:
        world = World(stack)
        agent = AgentProcess(stack, "first")
        config = stack.data_dir / "first.hcl"
        (kept := stack.data_dir / "kept").mkdir()
        config.write_text(CONFIG.replace("KEPT", str(kept)))
        agent.environment |= {"BIVOUAC_DOCKER_SOCKET": str(engine), "BIVOUAC_CONFIG": str(config)}
        agent.start()
        world.agent = agent
        world.node("first")
        yield world
        for each in world.get("jobs"):
            world.purge(each["ID"])
        until(lambda: not containers(engine), "every container gone")
        agent.kill()
        world.api.close()
        if not why_no_bridge():
            rule = ("-o", NETWORK.bridge_name, "-d", NETWORK.bridge_subnet, "-j", "ACCEPT")
            run("iptables", "-w", "-D", ADMIN_CHAIN, *rule)
            run("ip", "link", "del", NETWORK.bridge_name)


def container_job(job_id, script, **task):
    config = {"image": IMAGE, "command": "sh", "args": ["-c", script], **task.pop("config", {})}
    return job(job_id, task={"Driver": "docker", "Config": config, **task})


def container_of(world, engine, job_id):
    """The name of the container of the job's only allocation."""
    (alloc,) = world.running(job_id, 1)
    return until(
        lambda: [name for name in containers(engine) if alloc["ID"] in name], "its container"
    )[0]


def test_the_example_is_reached_on_its_port_with_its_own_bytes(world, engine):
    text = EXAMPLE.read_text()
    world.register(world.api.put("/v1/jobs/parse", json={"JobHCL": text}).json())
    (alloc,) = world.running("container", 1)
    assert containers(engine) == [f"httpd-{alloc['ID']}"]
    (port,) = world.get(f"allocation/{alloc['ID']}")["AllocatedResources"]["Shared"]["Ports"]

    def page():
        address = f"http://{port['HostIP']}:{port['Value']}/"
        try:
            return httpx.get(address, trust_env=False).text
        except httpx.TransportError:
            return ""

    assert until(page, "its page") == f"hello from {alloc['ID']}\n"
    world.purge("container")
    until(lambda: not containers(engine), "the container gone")


def test_output_goes_on_without_loss_when_the_agent_is_killed(world, engine):
    script = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done"
    world.register(container_job("counts", script))
    (alloc,) = world.running("counts", 1)
    until(lambda: "5\n" in world.output(alloc["ID"]), "some output")
    before = containers(engine)
    world.agent.kill(signal.SIGKILL)
    world.agent.start()
    found = until(
        lambda: (lines := world.output(alloc["ID"]).split()) and int(lines[-1]) > 60 and lines,
        "more output",
        30,
    )
    assert containers(engine) == before
    assert [
        state["Restarts"] for state in world.running("counts", 1)[0]["TaskStates"].values()
    ] == [0]
    numbers = [int(line) for line in found]
    # A killed agent may copy its last second twice; nothing is left out.
    assert sorted(set(numbers)) == list(range(1, numbers[-1] + 1))
    assert len(numbers) - len(set(numbers)) <= 20
    world.purge("counts")


def test_memory_has_an_end_and_its_end_is_told(world):
    restart = {"Attempts": 0, "Mode": "fail"}
    world.register(
        job(
            "greedy",
            task={
                "Driver": "docker",
                "Config": {
                    "image": IMAGE,
                    "command": "sh",
                    "args": ["-c", "x=$(yes | head -c 200000000); echo no"],
                },
            },
            RestartPolicy=restart,
            ReschedulePolicy={"Attempts": 0, "Unlimited": False},
        )
    )
    (alloc,) = until(lambda: world.allocations("greedy", "failed"), "it fails", 30)
    events = alloc["TaskStates"]["task"]["Events"]
    (told,) = [event for event in events if event["Type"] == "Terminated"]
    # podman 4.3 under control groups of version 1 tells the end alone.
    assert told["Details"]["exit_code"] == "137"
    assert told["Details"]["oom_killed"] == ("false" if IS_PODMAN else "true")
    assert world.output(alloc["ID"]) == ""


def test_a_container_has_the_processor_address_and_runtime_it_asks_for(world):
    # podman 4.3 heeds an address for networks of a name alone.
    address = "" if IS_PODMAN else "02:42:ac:11:00:77"
    config = {"cpuset_cpus": "0", "runtime": "runc", "mac_address": address}
    script = "cat /proc/self/status /sys/class/net/eth0/address; exec sleep 3600"
    world.register(container_job("asks", script, config=config))
    (alloc,) = world.running("asks", 1)
    told = until(
        lambda: _ADDRESS.search(text := world.output(alloc["ID"])) and text, "its surroundings"
    )
    assert "Cpus_allowed_list:\t0\n" in told
    assert told.endswith(f"{address}\n")
    world.purge("asks")


@pytest.mark.skipif(not Path("/usr/bin/curl").exists(), reason="no curl on this machine")
def test_a_container_has_its_identities_and_asks_the_cluster_by_the_socket_it_is_shown(world):
    path = "nomad/jobs/asks-inside"
    made = world.api.put(f"/v1/var/{path}", json={"Path": path, "Items": {"title": "its own"}})
    assert made.is_success, made.text
    libraries = f"{platform.machine()}-linux-gnu"
    asked = container_job(
        "asks-inside",
        ASK.replace("LIBRARIES", libraries),
        Identity={"Env": True, "File": True},
        Identities=[
            {"Name": "further", "File": True, "Audience": ["somebody"], "TTL": 3600 * 10**9}
        ],
        VolumeMounts=[
            {"Volume": "programs", "Destination": "/programs", "ReadOnly": True},
            # Read by kernels that have labels; the engine takes it everywhere.
            {"Volume": "kept", "Destination": "/kept", "SELinuxLabel": "Z"},
        ],
    )
    asked["TaskGroups"][0]["Volumes"] = {
        name: {"Name": name, "Type": "host", "Source": name, "ReadOnly": name == "programs"}
        for name in ("programs", "kept")
    }
    world.register(asked)
    (alloc,) = world.running("asks-inside", 1)
    said = until(
        lambda: (text := world.output(alloc["ID"])).endswith("ended\n") and text,
        "its answers",
        instead=lambda: world.output(alloc["ID"]) + world.state("asks-inside"),
    )
    *listed, token, further, same, own, nobody, _ = said.splitlines()
    assert token == same
    assert (token.count("."), further.count(".")) == (2, 2)
    assert further != token
    rights = {line.split()[-1]: line[:10] for line in listed if "nomad_" in line}
    # Nobody of the host comes near: the task's directory is closed.
    assert rights == {"nomad_token": "-rw-r--r--", "nomad_further.jwt": "-rw-r--r--"}
    body, _, status = own.rpartition(" ")
    assert (json.loads(body)["Items"], status) == ({"title": "its own"}, "200")
    assert nobody.endswith(" 401")
    assert (world.stack.data_dir / "kept/file").read_text() == "kept\n"
    world.purge("asks-inside")
    world.api.delete(f"/v1/var/{path}")


def test_an_image_that_is_nowhere_fails_the_task_and_says_so(world):
    config = {"image": "127.0.0.1:9/nothing:1"}
    task = job(
        "nowhere",
        task={"Driver": "docker", "Config": config},
        RestartPolicy={"Attempts": 0, "Mode": "fail"},
        ReschedulePolicy={"Attempts": 0, "Unlimited": False},
    )
    world.register(task)
    (alloc,) = until(lambda: world.allocations("nowhere", "failed"), "it fails", 30)
    said = [event["DisplayMessage"] for event in alloc["TaskStates"]["task"]["Events"]]
    assert "Downloading image" in said
    assert any("Failed to pull `127.0.0.1:9/nothing:1`" in line for line in said)


def test_commands_run_inside_with_input_codes_and_a_terminal(world, engine):
    world.register(container_job("inside", "exec sleep 3600", Env={"WORD": "well met"}))
    name = container_of(world, engine, "inside")

    async def inside(*argv, given=b"", has_terminal=False):
        driver = DockerDriver(DockerSettings(socket=str(engine)), "none")
        run_of = driver._runs
        run_of["t"] = _Run(name, Path("/nowhere"), None)
        if has_terminal:
            near, far = os.openpty()
            streams = Streams(far, far, far, is_terminal=True)
            shown = near
        else:
            stdin, near = os.pipe()
            shown, far = os.pipe()
            streams = Streams(stdin, far, far)
        process = await driver.run_inside(Handle(driver="docker", task_id="t"), argv, streams)
        for descriptor in {streams.stdin, streams.stdout}:
            os.close(descriptor)
        os.write(near, given)
        if not has_terminal:
            os.close(near)
        code = await asyncio.wait_for(process.wait(), 20)
        return code, os.read(shown, 65536).replace(b"\r", b"")

    code, said = asyncio.run(inside("sh", "-c", "cat; echo $WORD; exit 7", given=b"typed\n"))
    assert (code, said) == (7, b"typed\nwell met\n")
    code, said = asyncio.run(inside("sh", has_terminal=True, given=b"exit 3\n"))
    assert code == 3
    assert b"exit 3" in said
    code, said = asyncio.run(inside("/no/such"))
    assert code in (126, 127)
    assert b"no such file" in said.lower() or b"not found" in said.lower()
    world.purge("inside")


def test_a_closed_terminal_leaves_nothing_running_inside(world, engine):
    world.register(container_job("closed", "exec sleep 3600"))
    name = container_of(world, engine, "closed")
    # One in the background, and one that belongs to nobody of the session any more.
    script = "sleep 4241 & (setsid sleep 4242 &); exec sleep 4243"

    async def session():
        driver = DockerDriver(DockerSettings(socket=str(engine)), "none")
        driver._runs["t"] = _Run(name, Path("/nowhere"), None)
        near, far = os.openpty()
        streams = Streams(far, far, far, is_terminal=True)
        command = ["sh", "-c", script]
        process = await driver.run_inside(Handle(driver="docker", task_id="t"), command, streams)
        os.close(far)
        shown = ()
        while len(shown) < 3:
            told = await asyncio.to_thread(processes_in, engine, name)
            shown = [number for number in ("4241", "4242", "4243") if number in told]
            await asyncio.sleep(0.1)
        process.kill()
        code = await asyncio.wait_for(process.wait(), 20)
        os.close(near)
        return code

    assert asyncio.run(asyncio.wait_for(session(), 60)) == 137
    told = processes_in(engine, name)
    assert "sleep 3600" in told
    assert "sleep 42" not in told
    world.purge("closed")


def mixed_group():
    """A container that serves, and two tasks beside it that read from it by localhost."""
    serve = (
        "cat /etc/hosts; hostname; mkdir -p /tmp/www; echo hello from $NOMAD_ALLOC_ID at"
        " $NOMAD_ALLOC_ADDR_http > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"
    )
    reads = "while :; do wget -qO- http://127.0.0.1:8080/; sleep 1; done"
    asks = (
        "import time, urllib.request as u\n"
        "while True:\n"
        " try: print(u.urlopen('http://127.0.0.1:8080/').read().decode(), end='', flush=True)\n"
        " except OSError: pass\n"
        " time.sleep(1)"
    )
    mixed = container_job("mixed", serve, Name="server")
    (group,) = mixed["TaskGroups"]
    group["Networks"] = [
        {"Mode": "bridge", "Hostname": "box", "DynamicPorts": [{"Label": "http", "To": 8080}]}
    ]
    check = {"Type": "http", "Path": "/", "Interval": 1_000_000_000, "Timeout": 1_000_000_000}
    group["Services"] = [
        {"Name": "mixed", "Provider": "nomad", "PortLabel": "http", "Checks": [check]}
    ]
    (server,) = group["Tasks"]
    container = {**server, "Name": "reader"}
    container["Config"] = {"image": IMAGE, "command": "sh", "args": ["-c", reads]}
    process = {**server, "Name": "process", "Driver": "exec"}
    process["Config"] = {"command": "/usr/bin/python3", "args": ["-c", asks]}
    group["Tasks"] = [server, container, process]
    return mixed


def take_what_holds_the_network(engine, alloc_id):
    """podman lets nobody do so while others are in it."""
    if not IS_PODMAN:
        remove_container(engine, f"bivouac-pause-{alloc_id}")


def test_tasks_of_a_group_with_a_network_reach_each_other_whatever_runs_them(world, engine):
    if why := why_no_bridge():
        pytest.skip(f"no bridge networks on this machine: {why}")
    world.register(mixed_group())
    (alloc,) = world.running("mixed", 1)
    one = alloc["ID"]
    told = world.get(f"allocation/{one}")
    (port,) = told["AllocatedResources"]["Shared"]["Ports"]
    inside = told["NetworkStatus"]["Address"]
    text = f"hello from {one} at {inside}:8080\n"

    def page():
        address = f"http://{port['HostIP']}:{port['Value']}/"
        try:
            return httpx.get(address, trust_env=False, timeout=2).text
        except httpx.TransportError:
            return ""

    def read_by(task):
        return world.output(one, task).count(text)

    assert until(page, "its page") == text
    until(lambda: read_by("reader") and read_by("process"), "both beside it")
    said = until(lambda: world.output(one, "server"), "its words")
    assert f"{inside} box\n" in said
    # podman shares the network of another container and not its name.
    assert IS_PODMAN or said.endswith("box\n")
    checks = until(lambda: world.get(f"client/allocation/{one}/checks"), "its check")
    until(
        lambda: (
            [each["Status"] for each in world.get(f"client/allocation/{one}/checks").values()]
            == ["success"]
        ),
        f"a check that passes {checks}",
    )
    there = {f"bivouac-pause-{one}", f"server-{one}", f"reader-{one}"}
    assert set(containers(engine)) == there

    # The agent dies and comes back: nobody notices.
    world.agent.kill(signal.SIGKILL)
    assert until(page, "its page again") == text
    world.agent.start()
    before = until(lambda: read_by("reader"), "the agent's answer")
    until(lambda: read_by("reader") > before, "more")
    (again,) = world.running("mixed", 1)
    assert (again["ID"], {s["Restarts"] for s in again["TaskStates"].values()}) == (one, {0})
    assert set(containers(engine)) == there

    # What holds the network is taken from below it; a task that starts anew is let in again.
    take_what_holds_the_network(engine, one)
    assert until(page, "its page again") == text
    remove_container(engine, f"reader-{one}")
    until(lambda: set(containers(engine)) == there, "both made anew", 40)
    before = read_by("reader")
    until(lambda: read_by("reader") > before, "it reads again")

    world.purge("mixed")
    until(lambda: not containers(engine) and traces(NETWORK) == [], "everything gone")
    # The namespace goes last.
    until(lambda: not Path("/run/netns", one).exists(), "its namespace too")
