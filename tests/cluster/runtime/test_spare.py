"""The spare process: it becomes what died, once, and ends with whoever could tell it so."""

import asyncio
import sys
from functools import partial

import psutil
import pytest

from cluster.runtime.child_process import ChildProcess, start_process
from cluster.runtime.spare import Spare

pytestmark = pytest.mark.timeout(180)
ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
LINGERS = "import sys, time; print('here', *sys.argv[1:], flush=True); time.sleep(600)"


async def until(holds):
    async with asyncio.timeout(120):
        while not holds():
            await asyncio.sleep(0.05)


class Keeping:
    """A spare that is kept while the block lasts, and a script it can become."""

    def __init__(self, tmp_path):
        self.script = tmp_path / "lingers.py"
        self.script.write_text(LINGERS)
        self.log_file = tmp_path / "one.log"
        start = partial(start_process, orders=True)
        self.spare = Spare(start, tmp_path / "spare.log", ENVIRONMENT)
        self._stopping = asyncio.Event()

    async def __aenter__(self):
        self._task = asyncio.create_task(self.spare.keep(self._stopping))
        await until(lambda: self.pid is not None)
        return self

    async def __aexit__(self, *_error):
        self._stopping.set()
        await self._task

    @property
    def pid(self):
        process = self.spare._process
        return process.pid if process is not None else None

    async def become(self, *command, environment=ENVIRONMENT):
        return await self.spare.become(command, self.log_file, environment)


async def test_it_becomes_a_command_with_its_arguments_and_log_and_another_spare_follows(tmp_path):
    async with Keeping(tmp_path) as kept:
        first = kept.pid
        process = await kept.become(sys.executable, str(kept.script), "a", "b")
        assert process.pid == first
        await until(lambda: kept.log_file.exists() and kept.log_file.read_text() == "here a b\n")
        await until(lambda: kept.pid not in {None, first})
        process.kill()
        await process.wait()


async def test_what_is_no_python_or_wants_another_environment_is_started_from_scratch(tmp_path):
    async with Keeping(tmp_path) as kept:
        assert await kept.become("/bin/sleep", "1") is None
        other = {**ENVIRONMENT, "BIVOUAC_ADDR": "elsewhere"}
        assert await kept.become(sys.executable, str(kept.script), environment=other) is None


async def test_a_dead_spare_is_no_spare(tmp_path):
    async with Keeping(tmp_path) as kept:
        process = kept.spare._process
        process.kill()
        await process.wait()
        assert await kept.become(sys.executable, str(kept.script)) is None


async def test_nothing_is_left_of_it(tmp_path):
    async with Keeping(tmp_path) as kept:
        pid = kept.pid
    assert not psutil.pid_exists(pid)


async def test_a_child_that_was_killed_comes_back_as_the_spare(tmp_path):
    async with Keeping(tmp_path) as kept:
        command = (sys.executable, str(kept.script))
        child = ChildProcess("one", command, kept.log_file, ENVIRONMENT, spare=kept.spare)
        running = asyncio.create_task(child.run())
        await until(lambda: "here" in (kept.log_file.read_text() if child.pid else ""))
        spare, first = kept.pid, child.pid
        assert spare != first
        child.process.kill()
        await until(lambda: child.pid == spare)
        await until(lambda: kept.log_file.read_text().count("here") == 2)
        await child.stop()
        await running
