"""The process beside a task when the machine is slow, full or started anew: nobody is orphaned."""

import asyncio
import os
import subprocess
from pathlib import Path

import msgspec
import psutil
import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers import kept_process
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.process_identity import start_time_of
from cluster.agent.restarts import Ending
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.small_disk import fill

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def directories(tmp_path):
    places = AllocDirectories(tmp_path, "alloc-1")
    places.make_shared()
    return places.make_task(make_task(), make_job())


@pytest.fixture
def driver():
    return RawExecDriver(enabled=True)


def make_launch(directories, text, run="00000001", **config):
    return Launch(
        task_id=f"alloc-1/web/{run}",
        task_name="web",
        config={"command": "/bin/sh", "args": ["-c", text], **config},
        env=ENV,
        directories=directories,
    )


async def start(driver, launch, notes=None):
    """Start it, its notes in that directory; the handle, and a list its ending will be in."""
    handle, endings = driver.prepare(launch), []
    if notes is not None:
        handle = msgspec.structs.replace(handle, facts={"directory": str(notes)})
    await driver.start(launch, handle, endings.append)
    return handle, endings


def corpses():
    mine = psutil.Process().children()
    return {each.pid for each in mine if each.status() == psutil.STATUS_ZOMBIE}


def processes_with(word):
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(word in part for part in process.info["cmdline"] or ())
    ]


async def test_starts_that_fail_leave_no_corpse(driver, directories):
    before = corpses()
    for number in range(3):
        with pytest.raises(StartError):
            await start(driver, make_launch(directories, "", f"{number:08}", command="/etc/hosts"))
    assert corpses() <= before


async def test_a_task_that_starts_too_late_is_not_left_running(driver, directories, monkeypatch):
    monkeypatch.setattr(kept_process, "READY_TIMEOUT_S", 0.0)
    word, before = f"late-{os.getpid()}", corpses()
    with pytest.raises(StartError, match="did not start") as problem:
        await start(driver, make_launch(directories, f"sleep 600; : {word}"))
    assert problem.value.recoverable
    await asyncio.sleep(0.5)
    assert processes_with(word) == []
    assert corpses() <= before


async def test_numbers_of_another_boot_are_those_of_strangers(driver, directories):
    handle = driver.prepare(make_launch(directories, "exit 0"))
    place = Path(handle.facts["directory"])
    place.mkdir()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as stranger:
        try:
            noted = {
                "pid": stranger.pid,
                "pid_start": start_time_of(stranger.pid),
                "supervisor_pid": stranger.pid,
                "supervisor_start": start_time_of(stranger.pid),
                "boot_id": "another",
            }
            (place / "process.json").write_bytes(msgspec.json.encode(noted))
            assert await driver.recover(handle, lambda _ending: None) is False
            assert stranger.poll() is None
        finally:
            stranger.kill()


async def test_the_end_of_a_task_is_recorded_on_a_full_disk(driver, directories, small_disk):
    os.mkfifo(directories.root / "go")
    launch = make_launch(directories, "read line < go; exit 7")
    _, endings = await start(driver, launch, small_disk / "run")
    fill(small_disk)
    await asyncio.to_thread((directories.root / "go").write_text, "on\n")
    await until(lambda: endings, "the end")
    assert endings == [Ending(exit_code=7)]


async def test_what_cannot_be_noted_is_not_started(driver, directories, small_disk):
    word = f"unnoted-{os.getpid()}"
    launch = make_launch(directories, f"sleep 600; : {word}")
    refusals = 0
    for room in range(16):
        # Each page of room lets it come a step further.
        fill(small_disk)
        ballast = small_disk / "ballast"
        os.truncate(ballast, ballast.stat().st_size - room * 4096)
        try:
            handle, _ = await start(driver, launch, small_disk / f"run-{room}")
        except (StartError, OSError):
            refusals += 1
            assert processes_with(word) == []
        else:
            await driver.stop(handle, 0, "")
            break
    assert refusals > 2
    assert processes_with(word) == []
