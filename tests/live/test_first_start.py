"""`up` as its user meets it: refusals that say what to do, a quick end, starts that carry on."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from cluster.bench.stack import Stack
from tests.live.world import SIZE, World, job, kill_tasks_below, task_process, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

STOP_LIMIT_S = 30


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    data_dir = tmp_path_factory.mktemp("first-start")
    environment = {**SIZE, "BIVOUAC_NODE_NAME": "only"}
    try:
        with Stack(agent=True, data_dir=data_dir, environment=environment) as stack:
            world = World(stack)
            world.node("only")
            yield world
            world.api.close()
    finally:
        kill_tasks_below(str(data_dir))


def another_up(data_dir: Path, port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "cluster.settings"}
    return subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "up"],
        env=environment | {"BIVOUAC_DATA_DIR": str(data_dir), "BIVOUAC_PORT": str(port)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_second_up_on_the_same_data_says_where_the_first_one_runs(world):
    stack = world.stack
    refused = another_up(stack.data_dir, stack.port + 1)
    assert refused.returncode != 0
    assert f"already running with this data directory: {stack.address} (process" in refused.stderr


def test_a_taken_port_is_named_with_the_variable_that_changes_it(world, tmp_path):
    port = world.stack.port
    refused = another_up(tmp_path, port)
    assert refused.returncode != 0
    assert f"Port {port} on 127.0.0.1 is taken. Set BIVOUAC_PORT" in refused.stderr


def test_secrets_are_written_for_their_owner_alone(world):
    file = world.stack.data_dir / "env"
    exported = dict(
        shlex.split(line.removeprefix("export "))[0].split("=", 1)
        for line in file.read_text().splitlines()
    )
    address, token = world.stack.address, world.stack.token
    assert exported == {
        "BIVOUAC_ADDR": address,
        "BIVOUAC_TOKEN": token,
        "NOMAD_ADDR": address,
        "NOMAD_TOKEN": token,
    }
    for name in ("env", "join-token", "secret-key"):
        mode = (world.stack.data_dir / name).stat().st_mode
        assert (name, stat.S_IMODE(mode)) == (name, 0o600)


def test_a_stop_is_quick_and_the_next_up_finds_the_same_process_running(world):
    stack = world.stack
    counting = "n=0; while true; do n=$((n+1)); echo $n; sleep 0.2; done"
    config = {"Config": {"command": "/bin/sh", "args": ["-c", counting]}}
    world.register(job("steady", task=config))
    (before,) = world.running("steady", 1)
    process = task_process(before["ID"])

    written = until(lambda: world.output(before["ID"]), "the first output")

    assert stack.stop() < STOP_LIMIT_S
    assert process.is_running()

    link, token = stack.login_link, stack.token
    stack.start()
    assert stack.token == token
    until(lambda: stack.login_link != link, "a new login link")
    world.node("only")
    (after,) = world.running("steady", 1)
    assert (after["ID"], after["CreateIndex"]) == (before["ID"], before["CreateIndex"])
    assert after["TaskStates"]["task"]["Restarts"] == 0
    assert task_process(before["ID"]).pid == process.pid
    until(lambda: len(world.output(before["ID"])) > len(written), "output goes on")
    assert world.output(before["ID"]).startswith(written)
