"""One supervised process: ended at whatever moment it is told to."""

import asyncio
import contextlib
import subprocess
import sys
import time

import psutil
import pytest

from cluster.runtime.child_process import ChildProcess
from cluster.runtime.clock import SystemClock
from cluster.runtime.parent_death import following

CLOCK = SystemClock()
SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")
STUBBORN = (
    sys.executable, "-c",
    """import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('deaf', flush=True)
time.sleep(60)""",
)  # fmt: skip


def child(tmp_path, command=SLEEP, grace_s=6.0):
    return ChildProcess("one", command, tmp_path / "one.log", {}, grace_s=grace_s)


def log_of(tmp_path):
    log = tmp_path / "one.log"
    return log.read_text() if log.exists() else ""


async def ended(running):
    async with asyncio.timeout(20):
        await running


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 10])
async def test_it_ends_although_told_to_while_it_starts(tmp_path, turns):
    process = child(tmp_path)
    running = asyncio.create_task(process.run())
    for _ in range(turns):
        await asyncio.sleep(0)
    await process.stop()
    await ended(running)
    assert (process.state, process.pid) == ("stopped", None)


SUPERVISOR = """import asyncio, pathlib, sys
from cluster.runtime.child_process import ChildProcess

async def main():
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    child = ChildProcess("one", command, pathlib.Path(sys.argv[1]), {})
    running = asyncio.create_task(child.run())
    while not child.pid:
        await asyncio.sleep(0.01)
    print(child.pid, flush=True)
    await running

asyncio.run(main())
"""


def outlives(pid, seconds):
    with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        psutil.Process(pid).wait(seconds)
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_it_does_not_outlive_a_supervisor_that_is_killed(tmp_path):
    command = [sys.executable, "-c", SUPERVISOR, str(tmp_path / "one.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        pid = int(supervisor.stdout.readline())
        assert psutil.pid_exists(pid)
        supervisor.kill()
    assert not outlives(pid, 5)


def test_where_the_kernel_does_not_help_a_process_between_ends_it(tmp_path):
    told = tmp_path / "pid"
    inner = f"import os, pathlib, time; pathlib.Path({str(told)!r}).write_text(str(os.getpid()));"
    follower = following((sys.executable, "-c", inner + " time.sleep(60)"))
    script = f"import subprocess; subprocess.run({list(follower)!r})"
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        deadline = CLOCK.monotonic() + 20
        while not (told.exists() and told.read_text()):
            assert CLOCK.monotonic() < deadline, "the command was never started"
            time.sleep(0.01)
        parent.kill()
    assert not outlives(int(told.read_text()), 10)


async def test_one_that_does_not_end_is_killed_after_its_grace(tmp_path):
    process = child(tmp_path, STUBBORN, grace_s=0.1)
    running = asyncio.create_task(process.run())
    async with asyncio.timeout(20):
        while "deaf" not in log_of(tmp_path):
            await asyncio.sleep(0.01)
    pid = process.pid
    await process.stop()
    await ended(running)
    assert not psutil.pid_exists(pid)
