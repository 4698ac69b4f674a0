"""The fork server: what it makes outlives it, shares its memory, and is told apart by `ps`."""

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers import kept_process
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.drivers.fork_line import Forked, ForkLine
from cluster.agent.drivers.raw_exec import RawExecDriver
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until

MIB = 1 << 20
#: Started alone, a process beside a task had 6 MiB of its own.
MOST_MIB_EACH = 4.0


@pytest.fixture
def line(monkeypatch):
    """A line of this test alone, which the driver uses."""
    line = ForkLine()
    monkeypatch.setattr(kept_process, "fork_line", lambda: line)
    yield line
    line.close()


@pytest.fixture
async def start(tmp_path, line):
    """Starts a shell with that text; the process beside it, and a list its ending will be in."""
    places = AllocDirectories(tmp_path, "alloc-1")
    places.make_shared()
    directories = places.make_task(make_task(), make_job())
    driver, handles = RawExecDriver(enabled=True), []

    async def starting(text):
        launch = Launch(
            task_id=f"alloc-1/web/{len(handles):08}",
            task_name="web",
            config={"command": "/bin/sh", "args": ["-c", text]},
            env={"PATH": os.environ["PATH"]},
            directories=directories,
        )
        handle, endings = driver.prepare(launch), []
        handles.append(handle)
        await driver.start(launch, handle, endings.append)
        found = kept_process._noted(Path(str(handle.facts["directory"])))
        return psutil.Process(found.supervisor_pid), endings

    yield starting
    for handle in handles:
        await driver.stop(handle, 0, "")


async def test_what_was_forked_outlives_the_server_and_another_one_takes_over(start, tmp_path):
    first, ended = await start(f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 7")
    server = psutil.Process(first.ppid())
    server.send_signal(signal.SIGKILL)
    # An order that reaches it before it is gone may be lost with it, and is not given twice.
    await until(lambda: server.status() == psutil.STATUS_ZOMBIE)
    second, _ = await start("sleep 60")
    assert not server.is_running()
    assert second.ppid() not in (server.pid, os.getpid())
    (tmp_path / "go").touch()
    await until(lambda: ended)
    assert [ending.exit_code for ending in ended] == [7]


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "USR1"])
async def test_a_command_ignores_no_signal_that_its_agent_ignores(start, tmp_path, name):
    """As an agent does that a script started in its background, or nohup."""
    number = signal.Signals[f"SIG{name}"]
    before = signal.signal(number, signal.SIG_IGN)
    try:
        text = (
            f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; kill -{name} $$; sleep 0.1; exit 3"
        )
        _, ended = await start(text)
    finally:
        signal.signal(number, before)
    (tmp_path / "go").touch()
    await until(lambda: ended)
    assert [each.signal for each in ended] == [number]


async def test_the_server_ends_with_its_line(start, line):
    keeper, ended = await start("sleep 60")
    server = psutil.Process(keeper.ppid())
    line.close()
    assert not server.is_running()
    assert keeper.is_running()
    assert not ended


async def test_the_list_of_processes_says_beside_which_task_each_stands(start, tmp_path):
    keepers = [(await start("sleep 60"))[0] for _ in range(2)]
    told = [[word for word in keeper.cmdline() if word][-1] for keeper in keepers]
    assert len({*told}) == 2
    assert all(each.startswith(str(tmp_path)) for each in told)
    assert [keeper.cmdline()[3] for keeper in keepers] == ["cluster.agent.fork_server"] * 2


async def test_memory_is_shared(start):
    keepers = [(await start("sleep 60"))[0] for _ in range(4)]
    own = sum(keeper.memory_full_info().uss for keeper in keepers) / len(keepers) / MIB
    assert own < MOST_MIB_EACH


async def test_nothing_of_the_server_stays_open_beside_a_task(start):
    keeper, _ = await start("sleep 60")
    server = psutil.Process(keeper.ppid())

    def sockets(process):
        links = [str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()]
        return [each for each in links if each.startswith("socket:")]

    assert sockets(server)
    assert not sockets(keeper)


async def test_a_server_that_ends_before_it_answers_is_not_asked_again(start, line, monkeypatch):
    asked = []

    def broken(*_):
        asked.append(1)
        return Forked()

    monkeypatch.setattr(line, "fork", broken)
    with pytest.raises(StartError) as failed:
        await start("true")
    assert asked == [1]
    # The next attempt finds a server again.
    assert failed.value.recoverable


async def test_many_at_once_are_all_started(start):
    started = await asyncio.gather(*(start("sleep 60") for _ in range(20)))
    assert len({keeper.pid for keeper, _ in started}) == 20
