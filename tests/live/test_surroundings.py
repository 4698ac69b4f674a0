"""`up` and the fleet where something around them is wrong: one sentence, and no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from cluster.bench.stack import Stack
from cluster.runtime.embedded import free_port
from tests.live.side_process import SideProcess, running, until
from tests.live.world import SIZE, World, job, kill_tasks_below

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

MANAGE = (sys.executable, str(settings.BASE_DIR / "manage.py"))


def told_by(*words: str, **environment: str) -> str:
    """What a command says that cannot do its work."""
    ended = subprocess.run(
        [*MANAGE, *words],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "cluster.settings", **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "Traceback" not in ended.stdout + ended.stderr
    return ended.stderr.strip()


@pytest.mark.parametrize(
    "place",
    [pytest.param("file/data", id="below-a-file"), pytest.param("/proc/x", id="read-only")],
)
def test_a_data_directory_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "file").touch()
    data_dir = tmp_path / place
    told = told_by("up", BIVOUAC_DATA_DIR=str(data_dir))
    assert told.count("\n") == 0
    assert str(data_dir) in told
    assert "BIVOUAC_DATA_DIR" in told


def test_a_damaged_record_is_not_started_on(tmp_path):
    file = tmp_path / "state.sqlite3"
    file.write_bytes(b"no database at all" * 500)
    told = told_by("up", BIVOUAC_DATA_DIR=str(tmp_path), BIVOUAC_PORT=str(free_port()))
    assert f"The record in {file} is damaged" in told
    assert told.count("\n") == 0


def test_a_setting_that_is_wrong_is_one_sentence(tmp_path):
    told = told_by("up", BIVOUAC_DATA_DIR=str(tmp_path), BIVOUAC_PORT="many")
    assert told == "BIVOUAC_PORT must be a number from 1 to 65535; it is 'many'"


def test_up_works_from_any_directory(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    data_dir = tmp_path / "data"
    environment = {**SIZE, "BIVOUAC_NODE_NAME": "only"}
    try:
        with Stack(agent=True, data_dir=data_dir, environment=environment) as stack:
            world = World(stack)
            world.node("only")
            world.register(job("anywhere"))
            world.running("anywhere", 1)
            world.api.close()
    finally:
        kill_tasks_below(str(data_dir))
    assert list(elsewhere.iterdir()) == []


def test_a_fleet_beside_a_closed_door_says_so_once_with_the_address(tmp_path):
    address = f"http://127.0.0.1:{free_port()}"
    fleet = SideProcess(
        (*MANAGE, "runfleet", "--nodes", "50", "--addr", address),
        tmp_path / "fleet.log",
        {
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(tmp_path),
            "BIVOUAC_JOIN_TOKEN": "any",
        },
    )
    with running(fleet):
        until(lambda: "does not answer" in fleet.log, 30, "it says so")
        until(lambda: "silent" in fleet.log, 60, "it has gone on trying")
        fleet.end(signal.SIGTERM)
    lines = [line for line in fleet.log.splitlines() if "nodes 50" not in line]
    assert [address in line for line in lines if "answer" in line] == [True]
    assert "--addr or BIVOUAC_ADDR" in fleet.log
    assert len(lines) <= 2, lines


def test_a_fleet_on_a_machine_without_a_record_asks_for_a_join_token(tmp_path):
    told = told_by("runfleet", "--nodes", "1", BIVOUAC_DATA_DIR=str(tmp_path))
    assert "--join-token" in told


def test_a_benchmark_of_a_cluster_that_is_not_there_says_so(tmp_path):
    address = f"http://127.0.0.1:{free_port()}"
    told = told_by("bench", "latency", "--addr", address, BIVOUAC_DATA_DIR=str(tmp_path))
    assert address in told
    assert Path(tmp_path).exists()
