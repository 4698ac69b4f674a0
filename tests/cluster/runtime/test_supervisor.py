"""`up` as a process: one per data directory, its port named when taken, gone within 10 s."""

import os
import socket
import subprocess
import sys

import httpx
import psutil
import pytest
from django.conf import settings

from cluster.bench.stack import Stack

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


def up(data_dir, port):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "BIVOUAC_DATA_DIR": str(data_dir),
        "BIVOUAC_PORT": str(port),
    }
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "up", "--no-agent"]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


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
        with stack.client() as client:
            assert client.get("/v1/status/leader").status_code == httpx.codes.OK
        pids = [*stack.pids.values()]
        assert len(pids) == 5
        assert stack.stop() < 10
        assert [pid for pid in pids if psutil.pid_exists(pid)] == []
