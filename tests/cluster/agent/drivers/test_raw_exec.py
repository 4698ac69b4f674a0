"""raw_exec with real processes: exit codes, logs, killing trees, and agents that die."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers.driver import Handle, Launch, StartError
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.drivers.small_process import PROJECT
from cluster.agent.process_identity import start_time_of
from cluster.agent.restarts import Ending
from scheduler.structs.task_group import LogConfig
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until

ENV = {"PATH": os.environ["PATH"], "GREETING": "hello"}


@pytest.fixture
def directories(tmp_path):
    places = AllocDirectories(tmp_path, "alloc-1")
    places.make_shared()
    return places.make_task(make_task(), make_job())


@pytest.fixture
async def driver():
    driver = RawExecDriver(enabled=True)
    started = []
    yield driver, started
    for handle in started:
        await driver.stop(handle, 0, "")


def make_launch(directories, script, run="00000001", **fields):
    config = fields.pop("config", {"command": "/bin/sh", "args": ["-c", script]})
    return Launch(
        task_id=f"alloc-1/web/{run}",
        task_name="web",
        config=config,
        env=ENV,
        directories=directories,
        **fields,
    )


async def run(driver, launch):
    """Start it; the handle, and a list that its ending will be in."""
    driver, started = driver
    endings = []
    handle = driver.prepare(launch)
    await driver.start(launch, handle, endings.append)
    started.append(handle)
    return handle, endings


def read(path):
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        pytest.param("exit 0", Ending(), id="success"),
        pytest.param("exit 7", Ending(exit_code=7), id="code"),
        pytest.param("kill -9 $$", Ending(exit_code=137, signal=9), id="signal"),
    ],
)
async def test_how_it_ended_is_told_once(driver, directories, script, ending):
    _, endings = await run(driver, make_launch(directories, script))
    await until(lambda: endings, "the end")
    assert endings == [ending]


async def test_output_goes_to_the_logs_and_the_environment_is_the_tasks_own(driver, directories):
    script = "echo $GREETING out; echo err >&2; pwd"
    _, endings = await run(driver, make_launch(directories, script))
    await until(lambda: endings)
    logs = directories.logs
    assert read(logs / "web.stdout.0") == f"hello out\n{directories.root}\n"
    assert read(logs / "web.stderr.0") == "err\n"


async def test_disabled_logs_are_not_written(driver, directories):
    launch = make_launch(directories, "echo out", logs=LogConfig(disabled=True))
    _, endings = await run(driver, launch)
    await until(lambda: endings)
    assert list(directories.logs.iterdir()) == []


async def test_the_kill_signal_is_heard(driver, directories):
    script = "trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    handle, endings = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: "ready" in read(log))
    await driver[0].stop(handle, 10, "")
    assert endings == [Ending(exit_code=3)]
    assert read(log) == "ready\nbye\n"


async def test_a_kill_signal_that_is_none_keeps_nobody_from_stopping_it(driver, directories):
    script = "trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    handle, endings = await run(driver, make_launch(directories, script))
    await until(lambda: "ready" in read(directories.logs / "web.stdout.0"))
    await driver[0].stop(handle, 10, "SIGNONE")
    assert endings == [Ending(exit_code=3)]


async def test_what_ignores_the_signal_is_killed_with_everything_it_started(driver, directories):
    script = "trap '' INT TERM; setsid sleep 600 & echo $!; sleep 600 & echo $!; wait; wait"
    handle, endings = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: read(log).count("\n") == 2)
    children = [int(line) for line in read(log).split()]
    await driver[0].stop(handle, 0.1, "SIGINT")
    assert endings == [Ending(exit_code=137, signal=9)]
    await until(lambda: not any(start_time_of(pid) for pid in children), "the end of the tree")


async def test_what_a_task_leaves_behind_ends_with_it(driver, directories):
    script = "setsid sleep 600 & echo $!"
    _, endings = await run(driver, make_launch(directories, script))
    await until(lambda: endings)
    left = int(read(directories.logs / "web.stdout.0"))
    await until(lambda: start_time_of(left) is None, "the end of the orphan")


async def test_signals_reach_the_process(driver, directories):
    script = "trap 'echo got it' USR1; echo ready; while :; do sleep 0.05; done"
    handle, _ = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: "ready" in read(log))
    await driver[0].signal(handle, "SIGUSR1")
    await until(lambda: "got it" in read(log))
    with pytest.raises(ValueError, match='invalid signal "SIGFOO"'):
        await driver[0].signal(handle, "SIGFOO")


@pytest.mark.parametrize(
    ("config", "text"),
    [
        pytest.param({"command": "no-such-thing"}, "could not be found", id="not-found"),
        pytest.param({"args": ["x"]}, "required field", id="no-command"),
        pytest.param({"command": "sh", "work_dir": "x"}, "must be absolute", id="relative-dir"),
        pytest.param({"command": "sh", "work_dir": "/no/where"}, "No such file", id="no-dir"),
    ],
)
async def test_what_cannot_start_says_why(driver, directories, config, text):
    launch = make_launch(directories, "", config=config)
    with pytest.raises(StartError, match=text):
        await run(driver, launch)


async def test_a_command_of_the_tasks_own_directory_comes_first(driver, directories):
    own = directories.local / "sh"
    own.write_text("#!/bin/sh\necho mine\n")
    launch = make_launch(directories, "", config={"command": "sh"})
    _, endings = await run(driver, launch)
    await until(lambda: endings)
    assert read(directories.logs / "web.stdout.0") == "mine\n"


async def test_a_node_that_does_not_want_it_offers_and_starts_nothing(directories):
    driver = RawExecDriver(enabled=False)
    assert driver.describe(1).detected is False
    with pytest.raises(StartError, match="not enabled"):
        driver.prepare(make_launch(directories, "exit 0"))


AGENT = """
    import asyncio, sys
    import msgspec
    from pathlib import Path
    from cluster.agent.drivers.driver import Launch, TaskDirectories
    from cluster.agent.drivers.raw_exec import RawExecDriver

    async def main(root, script):
        places = TaskDirectories(root=root / "web", shared=root / "alloc")
        launch = Launch(task_id="alloc-1/web/00000001", task_name="web", directories=places,
                        config={"command": "/bin/sh", "args": ["-c", script]},
                        env={"PATH": "/usr/bin:/bin"})
        driver = RawExecDriver(enabled=True)
        handle = driver.prepare(launch)
        await driver.start(launch, handle, lambda ending: None)
        sys.stdout.buffer.write(msgspec.json.encode(handle) + b"\\n")
        sys.stdout.flush()
        await asyncio.sleep(600)

    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def start_in_an_agent_that_dies(root: Path, script: str) -> Handle:
    """A task started by another process, which is killed without a word."""
    command = [sys.executable, "-c", textwrap.dedent(AGENT), str(root), script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT) as agent:
        handle = msgspec.json.decode(agent.stdout.readline(), type=Handle)
        agent.send_signal(signal.SIGKILL)
    return handle


async def test_a_task_outlives_its_agent_and_is_found_again(driver, directories):
    root = directories.root.parent
    script = "echo before; while [ ! -e go ]; do sleep 0.02; done; echo after; exit 5"
    handle = await asyncio.to_thread(start_in_an_agent_that_dies, root, script)
    endings = []
    assert await driver[0].recover(handle, endings.append)
    (directories.root / "go").touch()
    await until(lambda: endings)
    assert endings == [Ending(exit_code=5)]
    assert read(directories.logs / "web.stdout.0") == "before\nafter\n"


async def test_a_task_that_ended_while_no_agent_watched_tells_its_code(driver, directories):
    root = directories.root.parent
    handle = await asyncio.to_thread(start_in_an_agent_that_dies, root, "exit 4")
    await until((Path(handle.facts["directory"]) / "exit.json").exists)
    endings = []
    assert await driver[0].recover(handle, endings.append)
    await until(lambda: endings)
    assert endings == [Ending(exit_code=4)]


async def test_a_task_whose_watcher_died_too_is_ended_and_counts_as_gone(driver, directories):
    root = directories.root.parent
    handle = await asyncio.to_thread(start_in_an_agent_that_dies, root, "sleep 600")
    facts = msgspec.json.decode((Path(handle.facts["directory"]) / "process.json").read_bytes())
    os.kill(facts["supervisor_pid"], signal.SIGKILL)
    await until(lambda: start_time_of(facts["supervisor_pid"]) is None)
    assert await driver[0].recover(handle, lambda _ending: None) is False
    await until(lambda: start_time_of(facts["pid"]) is None, "the end of the task")


async def test_a_start_that_never_came_counts_as_gone(driver, directories):
    handle = driver[0].prepare(make_launch(directories, "exit 0"))
    assert await driver[0].recover(handle, lambda _ending: None) is False
