"""`up` as a process: one per data directory, its port named when taken, gone within 10 s."""

import os
import re
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest
from django.conf import settings

from cluster.bench.job_forms import job_form
from cluster.bench.stack import Stack
from cluster.runtime.clock import SystemClock
from tests.live.side_process import until

CLOCK = SystemClock()
pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


def up(data_dir, port):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "BIVOUAC_DATA_DIR": str(data_dir),
        "BIVOUAC_PORT": str(port),
    }
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "up", "--no-agent"]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=180, check=False
    )


def decided(client, job_id):
    """Seconds until a new job has been decided about."""
    began = CLOCK.monotonic()
    answer = client.put("/v1/jobs", json={"Job": job_form(job_id)})
    eval_id = answer.json()["EvalID"]
    while client.get(f"/v1/evaluation/{eval_id}").json()["Status"] == "pending":
        assert CLOCK.monotonic() - began < 120, "no decision"
        time.sleep(0.02)
    return CLOCK.monotonic() - began


def test_a_taken_port_is_named_with_the_variable_that_changes_it(tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        ended = up(tmp_path, port)
    assert ended.returncode == 1
    assert f"Port {port} on 127.0.0.1 is taken. Set BIVOUAC_PORT" in ended.stderr


def test_one_up_at_a_time_and_nothing_is_left_of_it():
    with Stack() as stack:
        second = up(stack.data_dir, stack.port)
        assert second.returncode == 1
        assert f"already running with this data directory: {stack.address}" in second.stderr
        assert re.search(r"process \d+, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", second.stderr)
        with stack.client() as client:
            assert client.get("/v1/status/leader").status_code == httpx.codes.OK
        pids = [*stack.pids.values()]
        assert len(pids) == 5
        assert stack.stop() < 40
        assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_nothing_outlives_an_up_that_is_killed_and_the_next_one_starts():
    with Stack() as stack:
        _gone, alive = psutil.wait_procs(stack.kill_supervisor(), timeout=30)
        assert alive == []
        stack.start()
        with stack.client() as client:
            assert client.get("/v1/status/leader").status_code == httpx.codes.OK


def test_a_leader_that_is_killed_is_followed_without_waiting_for_its_lease():
    with Stack() as stack, stack.client() as client:
        assert decided(client, "before") < 100
        stack.kill("leader")
        assert decided(client, "after") < 100
        log = stack.log("leader")
    assert "action=lead epoch=2" in log
    # A lease of a process elsewhere would have to stand still for five seconds first.
    assert "action=stand_by" not in log


def test_a_web_server_that_is_killed_comes_back_as_the_spare_process():
    def spares():
        (up,) = {psutil.Process(pid).ppid() for pid in stack.pids.values()}
        family = psutil.Process(up).children()
        return {one.pid for one in family if "cluster.runtime.spare" in one.cmdline()}

    with Stack() as stack, stack.client() as client:
        until(spares, 60, "there is a spare")
        (spare,) = spares()
        stack.kill("web")
        until(lambda: stack.pids["web"] == spare, 60, "the spare is the web server")
        until(lambda: client.get("/v1/status/leader").is_success, 60, "it answers")
        until(lambda: spares() - {spare}, 60, "there is another spare")
