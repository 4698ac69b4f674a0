"""One supervised process: ended at whatever moment it is told to."""

import asyncio
import sys

import psutil
import pytest

from cluster.runtime.child_process import ChildProcess

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
