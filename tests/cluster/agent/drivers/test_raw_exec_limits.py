"""raw_exec held to its limits by real control groups, of the version that this machine has."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.agent.control_groups import (
    GroupLimits,
    GroupOf1,
    NoControlGroups,
    control_groups,
)
from cluster.agent.drivers.driver import TaskLimits
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.process_identity import start_time_of
from cluster.agent.restarts import Ending
from tests.cluster.agent.deadline import until
from tests.cluster.agent.drivers.test_raw_exec import directories, make_launch, read, run
from tests.cluster.agent.drivers.test_run_inside import told_inside
from tests.cluster.agent.real_groups import PARENT, groups

__all__ = ["directories", "groups"]

LIMITS = TaskLimits(cpu_mhz=200, memory_mb=32, core_mhz=1000)
TAKES_200_MB = f'{sys.executable} -S -c \'x = b"x" * (200 << 20); print("kept")\''
#: Forks for as long as it may, then says so and stays.
FORKS = f"""exec {sys.executable} -S -c '
import os, time
try:
    while os.fork():
        pass
except OSError as problem:
    print(problem, flush=True)
time.sleep(600)
'"""


@pytest.fixture
async def driver(groups):
    driver = RawExecDriver(enabled=True, find_groups=lambda: groups)
    started = []
    yield driver, started
    for handle in started:
        await driver.stop(handle, 0, "")


def limited(directories, script, limits=LIMITS, **config):
    options = {"command": "/bin/sh", "args": ["-c", script], **config}
    return make_launch(directories, "", config=options, limits=limits)


async def test_memory_that_runs_away_ends_the_task_and_is_told(driver, directories):
    _, endings = await run(driver, limited(directories, f"exec {TAKES_200_MB}"))
    await until(lambda: endings)
    assert endings == [Ending(exit_code=137, signal=9, oom_killed=True, message="OOM Killed")]
    assert read(directories.logs / "web.stdout.0") == ""


async def test_memory_max_lets_it_have_more(driver, directories):
    limits = TaskLimits(cpu_mhz=200, memory_mb=32, memory_max_mb=400)
    _, endings = await run(driver, limited(directories, f"exec {TAKES_200_MB}", limits))
    await until(lambda: endings)
    assert endings == [Ending()]


async def test_processes_beyond_the_limit_are_refused_and_the_group_is_gone_afterwards(
    driver, directories, groups
):
    handle, endings = await run(driver, limited(directories, FORKS, pids_limit=10))
    await until(lambda: "unavailable" in read(directories.logs / "web.stdout.0"))
    group = groups.group("alloc-1.web")
    members = group.members()
    assert len(members) == 10
    await driver[0].stop(handle, 0, "")
    assert endings == [Ending(exit_code=137, signal=9)]
    assert not any(start_time_of(pid) for pid in members)
    assert not any(directory.exists() for directory in group.directories)


@pytest.mark.parametrize("has_cores", [False, True])
async def test_a_group_is_gone_whose_agent_died_before_it_noted_it(
    driver, directories, groups, has_cores
):
    handle = driver[0].prepare(limited(directories, "exit 0"))
    group = groups.group("alloc-1.web", has_cores=has_cores)
    group.make(GroupLimits(cpu_shares=200))
    assert await driver[0].recover(handle, lambda _ending: None) is False
    assert not any(directory.exists() for directory in group.directories)


async def test_a_group_is_gone_whose_task_found_no_room_for_its_notes(driver, directories, groups):
    launch = limited(directories, "exit 0")
    handle = driver[0].prepare(launch)
    # As a full disk would, which no test needs.
    Path(str(handle.facts["directory"])).mkdir(parents=True)
    with pytest.raises(OSError, match="exists"):
        await driver[0].start(launch, handle, lambda _ending: None)
    assert not any(each.exists() for each in groups.group("alloc-1.web").directories)


async def test_a_hard_limit_holds_the_processor_back_and_is_counted(driver, directories):
    handle, _ = await run(driver, limited(directories, "while :; do :; done", cpu_hard_limit=True))
    await until(lambda: _throttled(driver[0], handle) > 2, "throttled periods")
    reading = driver[0].measure(handle, ProcessTable()).cgroup
    # 200 of 1000 MHz: a fifth of a processor.
    assert reading.user_s + reading.system_s < 0.6 * reading.periods * 0.1
    assert 0 < reading.usage <= reading.max_usage <= 32 << 20


def _throttled(driver, handle):
    reading = driver.measure(handle, ProcessTable())
    return reading.cgroup.throttled_periods if reading and reading.cgroup else 0


async def test_without_a_hard_limit_it_may_have_what_nobody_wants(driver, directories, groups):
    await run(driver, limited(directories, "sleep 600"))
    group = groups.group("alloc-1.web")
    if isinstance(group, GroupOf1):
        cpu = group.places["cpu"]
        assert (cpu / "cpu.shares").read_text() == "200\n"
        assert (cpu / "cpu.cfs_quota_us").read_text() == "-1\n"
    else:
        assert (group.directories[0] / "cpu.max").read_text().startswith("max ")


async def test_a_command_beside_the_task_is_held_to_its_limits(driver, directories, groups):
    handle, _ = await run(driver, limited(directories, "sleep 600"))
    script = f"cat /proc/self/cgroup; exec {TAKES_200_MB}"
    told, code = await told_inside(driver[0], handle, "sh", "-c", script)
    assert "/alloc-1.web" in told
    assert code == 137


async def test_a_task_in_the_group_of_others_is_not_limited(driver, directories, groups):
    other = groups.group("others")
    other.make(GroupLimits())
    # By its path below /sys/fs/cgroup, as the reference wants it.
    path = str(other.directories[0]).removeprefix("/sys/fs/cgroup/")
    if groups.version == 1:
        controller, _, rest = path.partition("/")
        config = {"cgroup_v1_override": [{controller: rest}]}
    else:
        config = {"cgroup_v2_override": path}
    handle, endings = await run(driver, limited(directories, "sleep 600", **config))
    assert other.members()
    assert not any(each.exists() for each in groups.group("alloc-1.web").directories)
    await driver[0].stop(handle, 0, "")
    assert endings
    other.remove()


async def test_without_control_groups_a_node_says_so_and_runs_tasks_all_the_same(directories):
    def none():
        raise NoControlGroups("no control group of memory is mounted")

    driver = RawExecDriver(enabled=True, find_groups=none)
    told = driver.describe(1)
    assert told.healthy
    assert told.health_description == (
        "Healthy, but memory and processor of its tasks are not limited: "
        "no control group of memory is mounted"
    )
    _, endings = await run((driver, []), limited(directories, "exit 3"))
    await until(lambda: endings)
    assert endings == [Ending(exit_code=3)]


def _cpus(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))


async def test_cores_of_a_task_are_left_by_all_others_as_long_as_it_runs(
    driver, directories, groups
):
    cores = sorted(os.sched_getaffinity(0))
    if (groups.version == 1 and "cpuset" not in groups.parents) or len(cores) < 2:
        pytest.skip("a machine with cpusets and two cores is needed")
    own, rest = cores[-1], _as_list(cores[:-1])
    shared, _ = await run(driver, limited(directories, "exec sleep 600"))
    pid = groups.group("alloc-1.web").members()[0]
    assert _cpus(pid) == _as_list(cores)
    limits = TaskLimits(cpu_mhz=1000, memory_mb=32, core_mhz=1000, cores=(own,))
    launch = replace(limited(directories, "exec sleep 600", limits), task_id="alloc-2/web/2")
    alone, _ = await run(driver, launch)
    (alone_pid,) = groups.group("alloc-2.web", has_cores=True).members()
    assert (_cpus(alone_pid), _cpus(pid)) == (str(own), rest)
    launch = replace(limited(directories, "exec sleep 600"), task_id="alloc-3/web/3")
    later, _ = await run(driver, launch)
    assert _cpus(groups.group("alloc-3.web").members()[0]) == rest
    # Its end is the process's beside it, with or without an agent.
    await driver[0].stop(alone, 0, "")
    assert _cpus(pid) == _as_list(cores)
    for handle in (shared, later):
        await driver[0].stop(handle, 0, "")


def _as_list(cores):
    """As the kernel writes a run of cores."""
    return f"{cores[0]}-{cores[-1]}" if len(cores) > 1 else str(cores[0])


async def test_no_task_runs_on_cores_that_the_node_keeps_for_itself(driver, directories, groups):
    cores = sorted(os.sched_getaffinity(0))
    if (groups.version == 1 and "cpuset" not in groups.parents) or len(cores) < 2:
        pytest.skip("a machine with cpusets and two cores is needed")
    handle, _ = await run(driver, limited(directories, "exec sleep 600"))
    (pid,) = groups.group("alloc-1.web").members()
    control_groups(parent=PARENT, kept=(cores[0],))
    assert _cpus(pid) == _as_list(cores[1:])
    control_groups(parent=PARENT)
    assert _cpus(pid) == _as_list(cores)
    await driver[0].stop(handle, 0, "")
