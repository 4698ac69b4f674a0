"""Commands run beside a raw_exec task: variables, directory, streams, terminals, ends."""

import os
import pty

import pytest

from cluster.agent.drivers.driver import Handle, InsideFailed, Streams
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.process_identity import start_time_of
from tests.cluster.agent.deadline import until
from tests.cluster.agent.drivers.test_raw_exec import directories, driver, make_launch, run

__all__ = ["directories", "driver"]


async def told_inside(driver, handle, *argv, given=b""):
    """What a command prints, and its exit code."""
    in_near, in_far = os.pipe()
    out_near, out_far = os.pipe()
    os.write(in_far, given)
    os.close(in_far)
    process = await driver.run_inside(handle, argv, Streams(in_near, out_far, out_far))
    os.close(in_near)
    os.close(out_far)
    code = await process.wait()
    with os.fdopen(out_near) as words:
        return words.read(), code


@pytest.fixture
async def handle(driver, directories):
    handle, _ = await run(driver, make_launch(directories, "sleep 600"))
    return handle


async def test_a_command_has_the_variables_and_the_directory_of_its_task(
    driver, handle, directories
):
    told = await told_inside(
        driver[0], handle, "sh", "-c", "pwd; echo $GREETING; cat; exit 7", given=b"in"
    )
    assert told == (f"{directories.root}\nhello\nin", 7)


async def test_a_signal_is_told_as_a_shell_tells_it(driver, handle):
    assert await told_inside(driver[0], handle, "sh", "-c", "kill -9 $$") == ("", 137)


async def test_a_terminal_controls_the_command(driver, handle):
    near, far = pty.openpty()
    script = "test -t 0 && stty size && tty >/dev/null && echo x >/dev/tty"
    process = await driver[0].run_inside(
        handle, ("sh", "-c", script), Streams(far, far, far, is_terminal=True)
    )
    assert await process.wait() == 0
    assert b"x" in os.read(near, 100)
    os.close(near)
    os.close(far)


async def test_a_command_that_cannot_start_says_why(driver, handle):
    wanted = "failed to start command: fork/exec /nonexist: no such file or directory"
    with pytest.raises(InsideFailed, match=wanted):
        await told_inside(driver[0], handle, "/nonexist")


async def test_killing_it_ends_the_command_itself(driver, handle, directories):
    near, far = os.pipe()
    script = "echo $$ > pid; exec sleep 600"
    process = await driver[0].run_inside(handle, ("sh", "-c", script), Streams(near, far, far))
    await until((directories.root / "pid").exists)
    process.kill()
    assert await process.wait() == 137
    pid = int((directories.root / "pid").read_text())
    await until(lambda: start_time_of(pid) is None, "the end of the command")
    os.close(near)
    os.close(far)


async def test_beside_a_task_that_does_not_run_nothing_does(driver, handle):
    await driver[0].stop(handle, 0, "")
    with pytest.raises(InsideFailed, match="is not running"):
        await told_inside(driver[0], handle, "true")


async def test_a_pretended_task_has_no_inside():
    with pytest.raises(InsideFailed, match="mock_driver pretends its tasks"):
        await told_inside(MockDriver(lambda: 0), Handle(driver="mock_driver", task_id="a"), "true")
