"""exec with real processes in roots of their own: what they see, keep, and how they end."""

import json
import os
import pwd
from pathlib import Path

import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.control_groups import NoControlGroups
from cluster.agent.drivers import exec as exec_module
from cluster.agent.drivers.driver import InsideFailed, Launch, Mount, StartError, TaskLimits
from cluster.agent.drivers.exec import ExecDriver
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.process_identity import start_time_of
from cluster.agent.restarts import Ending
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.drivers.test_raw_exec import read
from tests.cluster.agent.drivers.test_run_inside import told_inside
from tests.cluster.agent.real_groups import groups, rooted

__all__ = ["groups", "rooted"]

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts tasks as others")
NOBODY = pwd.getpwnam("nobody")
LIMITS = TaskLimits(cpu_mhz=200, memory_mb=64, core_mhz=1000)
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GREETING": "hello"}


@pytest.fixture
def directories(tmp_path):
    places = AllocDirectories(tmp_path, "alloc-1")
    places.make_shared(["nobody"])
    return places.make_task(make_task(), make_job())


@pytest.fixture
async def driver(rooted):
    driver = ExecDriver(lambda: rooted)
    started = []
    yield driver, started
    for handle in started:
        await driver.stop(handle, 0, "")


def make_launch(directories, script, *, run="00000001", user="", mounts=(), devices=(), **config):
    options = {"command": "/bin/sh", "args": ["-c", script], **config}
    return Launch(
        task_id=f"alloc-1/web/{run}",
        task_name="web",
        config=options,
        env=ENV,
        user=user,
        directories=directories,
        limits=LIMITS,
        mounts=mounts,
        devices=devices,
    )


async def run(driver, launch):
    driver, started = driver
    endings = []
    handle = driver.prepare(launch)
    await driver.start(launch, handle, endings.append)
    started.append(handle)
    return handle, endings


async def output_of(driver, directories, script, **fields):
    """What a script prints to its end, errors included."""
    launch = make_launch(directories, f"exec 2>&1\n{script}", **fields)
    _, endings = await run(driver, launch)
    await until(lambda: endings, "the end")
    return read(directories.logs / "web.stdout.0")


async def test_how_it_ended_is_told(driver, directories):
    _, endings = await run(driver, make_launch(directories, "exit 7"))
    await until(lambda: endings)
    assert endings == [Ending(exit_code=7)]


async def test_it_is_nobody_number_one_and_at_the_root(driver, directories):
    told = await output_of(
        driver, directories, "id -u; id -g; id -G; echo $$; pwd; echo $GREETING"
    )
    ids = f"{NOBODY.pw_uid}\n{NOBODY.pw_gid}\n{NOBODY.pw_gid}\n"
    assert told == f"{ids}1\n/\nhello\n"


async def test_its_root_has_its_own_directories_and_what_the_host_shows(driver, directories):
    told = (await output_of(driver, directories, "ls /; ls -A /private")).split()
    assert {"alloc", "local", "secrets", "tmp", "proc", "dev", "sys", "usr", "etc"} <= set(told)
    assert not {"root", "home", "work", "var", "opt", "boot"} & set(told)
    assert "spec.json" not in told


async def test_it_has_the_devices_it_was_granted_and_no_other(driver, directories):
    script = "test -c /dev/kmsg && echo kmsg; test -e /dev/mem || echo no mem; id -G"
    assert (await output_of(driver, directories, script)).startswith("no mem\n")
    told = await output_of(driver, directories, script, devices=("/dev/kmsg",), run="00000002")
    group = Path("/dev/kmsg").stat().st_gid
    groups_of_it = [str(NOBODY.pw_gid), *([str(group)] if group else [])]
    assert told.endswith(f"kmsg\nno mem\n{' '.join(groups_of_it)}\n")


async def test_it_writes_to_its_own_directories_alone(driver, directories):
    own = "/ /local /secrets /tmp /alloc/data /alloc/tmp"
    others = "/alloc/logs /private /usr /etc /dev /proc /sys /sys/fs"
    script = f"for d in {own} {others}; do touch $d/mine && echo $d; done 2>/dev/null; true"
    written = (await output_of(driver, directories, script)).split()
    assert written == own.split()
    assert (directories.local / "mine").stat().st_uid == NOBODY.pw_uid
    assert (directories.shared / "data" / "mine").exists()


async def test_its_output_can_be_opened_by_name(driver, directories):
    told = await output_of(driver, directories, "echo one >/dev/stdout; echo two >/dev/fd/2")
    assert told == "one\ntwo\n"


async def test_devices_and_shared_memory_are_there(driver, directories):
    script = (
        "head -c 4 /dev/urandom | wc -c; echo x >/dev/null; ls /dev | tr '\\n' ' ';"
        " echo y >/dev/shm/s; cat /dev/shm/s; ls /dev/fd/ | head -1; tty"
    )
    told = await output_of(driver, directories, script)
    assert told.splitlines() == [
        "4",
        "core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero y",
        "0",
        "not a tty",
    ]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param("nonexist", "file nonexist not found under path", id="by name"),
        pytest.param("/x", "file /x not found under path /", id="by its way"),
        pytest.param("/etc/passwd", "fork/exec /etc/passwd: permission denied", id="no program"),
    ],
)
async def test_a_command_that_cannot_be_run_says_why(driver, directories, command, text):
    with pytest.raises(StartError, match=text):
        await run(driver, make_launch(directories, "", command=command, args=[]))


async def test_a_command_of_its_own_comes_first(driver, directories):
    (directories.local / "true").write_text("#!/bin/sh\necho mine\n")
    (directories.local / "true").chmod(0o600)
    assert await output_of(driver, directories, "", command="true", args=[]) == "mine\n"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        pytest.param({"work_dir": "x"}, 'got relative path "x"', id="work_dir"),
        pytest.param(
            {"pid_mode": "x"}, 'pid_mode must be "private" or "host", got "x"', id="mode"
        ),
        pytest.param({"pid_mode": "host"}, 'pid_mode "host" is not allowed', id="host's numbers"),
        pytest.param({"ipc_mode": "host"}, 'ipc_mode "host" is not allowed', id="host's memory"),
        pytest.param({"cap_add": ["sys_admin"]}, "not allow the following .* sys_admin", id="cap"),
        pytest.param({"cap_add": ["x"]}, "cap_add configured .* by system: x", id="no cap"),
        pytest.param({"cap_drop": ["x"]}, "cap_drop configured .* by system: x", id="no drop"),
        pytest.param({"pids_limit": 10**6}, "pids_limit must be between 1 and 32768", id="pids"),
        pytest.param({"imgae": "x"}, "imgae: exec has no such option", id="misspelt"),
        pytest.param({"command": ""}, "missing command for exec", id="no command"),
    ],
)
def test_impossible_options_are_named(directories, config, text):
    driver = ExecDriver(lambda: None)
    with pytest.raises(StartError, match=text):
        driver.prepare(make_launch(directories, "true", **config))


@only_root
def test_root_is_nobody_that_a_task_may_be(directories):
    with pytest.raises(StartError, match='validate: running as user "root" is disallowed'):
        ExecDriver(lambda: None).prepare(make_launch(directories, "true", user="root"))


async def test_another_user_has_its_own_numbers(driver, directories):
    told = await output_of(driver, directories, "id -un; id -u", user="daemon")
    assert told == f"daemon\n{pwd.getpwnam('daemon').pw_uid}\n"


CAPABILITIES = "grep -E '^(Cap|NoNew)' /proc/self/status | tr -s '\\t ' ' '"


async def test_it_has_one_capability_and_gets_no_more(driver, directories):
    told = await output_of(driver, directories, CAPABILITIES)
    port, all_it_could = "0" * 13 + "400", "0000000020040520"
    assert told.splitlines() == [
        f"CapInh: {port}", f"CapPrm: {port}", f"CapEff: {port}", f"CapBnd: {all_it_could}",
        f"CapAmb: {port}", "NoNewPrivs: 1",
    ]  # fmt: skip


async def test_capabilities_are_added_and_dropped_by_name(driver, directories):
    config = {"cap_drop": ["all"], "cap_add": ["CAP_KILL"]}
    told = await output_of(driver, directories, CAPABILITIES, **config)
    assert told.count(f"{1 << 5:016x}") == 5


async def test_the_kill_signal_is_heard_and_what_ignores_it_is_killed(driver, directories):
    script = "trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    handle, endings = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: "ready" in read(log))
    await driver[0].stop(handle, 10, "")
    assert endings == [Ending(exit_code=3)]

    deaf = make_launch(directories, "echo deaf; setsid sleep 600 & exec sleep 600", run="00000002")
    handle, endings = await run(driver, deaf)
    await until(lambda: "deaf" in read(log))
    await driver[0].stop(handle, 0.1, "SIGTERM")
    assert endings == [Ending(exit_code=137, signal=9)]


async def test_a_signal_reaches_it(driver, directories):
    script = "trap 'echo got it' USR1; echo ready; while :; do sleep 0.05; done"
    handle, _ = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: "ready" in read(log))
    await driver[0].signal(handle, "SIGUSR1")
    await until(lambda: "got it" in read(log))


async def test_what_it_uses_is_counted_of_its_group(driver, directories):
    handle, _ = await run(driver, make_launch(directories, "while :; do :; done"))
    await until(lambda: _spent(driver[0], handle) > 0.05, "time spent")
    reading = driver[0].measure(handle, ProcessTable())
    assert 0 < reading.cgroup.usage <= reading.cgroup.max_usage <= 64 << 20
    assert len(reading.processes) == 1


def _spent(driver, handle):
    reading = driver.measure(handle, ProcessTable())
    return reading.cgroup.user_s + reading.cgroup.system_s if reading else 0


async def test_another_agent_finds_it_again(driver, directories, groups):
    script = "while [ ! -e /local/go ]; do sleep 0.02; done; exit 5"
    handle, _ = await run(driver, make_launch(directories, script))
    driver[0].forget(handle)
    later, endings = ExecDriver(lambda: groups), []
    assert await later.recover(handle, endings.append)
    (directories.local / "go").touch()
    await until(lambda: endings)
    assert endings == [Ending(exit_code=5)]


async def test_without_the_process_beside_it_nothing_of_it_is_left(driver, directories, groups):
    handle, _ = await run(driver, make_launch(directories, "sleep 600 & sleep 600"))
    facts = json.loads((Path(handle.facts["directory"]) / "process.json").read_bytes())
    driver[0].forget(handle)
    os.kill(facts["supervisor_pid"], 9)
    await until(lambda: start_time_of(facts["supervisor_pid"]) is None)
    assert not await ExecDriver(lambda: groups).recover(handle, lambda _ending: None)
    await until(lambda: start_time_of(facts["pid"]) is None, "the end of the task")
    assert not any(each.exists() for each in groups.group("alloc-1.web").directories)


async def test_a_command_beside_it_is_inside_with_the_same_rights(driver, directories):
    handle, _ = await run(driver, make_launch(directories, "exec sleep 600"))
    script = f"id -u; pwd; echo $GREETING; cat /proc/1/comm; ls -d /work 2>&1; {CAPABILITIES}"
    told, code = await told_inside(driver[0], handle, "sh", "-c", f"{script}; exit 7")
    assert code == 7
    lines = told.splitlines()
    assert lines[:4] == [str(NOBODY.pw_uid), "/", "hello", "sleep"]
    assert "No such file" in lines[4]
    assert lines[-3:] == ["CapBnd: 0000000020040520", f"CapAmb: {1 << 10:016x}", "NoNewPrivs: 1"]
    with pytest.raises(InsideFailed, match="fork/exec /nonexist: no such file or directory"):
        await told_inside(driver[0], handle, "/nonexist")


async def test_volumes_are_bound_and_some_of_them_only_to_be_read(driver, directories, tmp_path):
    volumes = [tmp_path / "open", tmp_path / "fixed"]
    for volume in volumes:
        volume.mkdir(mode=0o777)
        volume.chmod(0o777)
        (volume / "kept").write_text(volume.name)
    mounts = (
        Mount(volume="open", source=volumes[0], target="/srv/deep"),
        Mount(volume="fixed", source=volumes[1], target="fixed", read_only=True),
    )
    script = "cat /srv/deep/kept /fixed/kept; touch /srv/deep/new; touch /fixed/new; ls /fixed"
    told = await output_of(driver, directories, script, mounts=mounts)
    assert told.startswith("openfixedtouch: ")
    assert "Read-only file system\nkept\n" in told
    assert (volumes[0] / "new").exists()


@only_root
def test_volumes_that_cannot_be_had_are_named(directories, tmp_path):
    driver = ExecDriver(lambda: None)
    for fields, text in (
        ({"target": "/x", "propagation": "bidirectional"}, "not passed on to the host"),
        ({"target": "../x"}, "leads out of the root"),
    ):
        mount = Mount(volume="v", source=tmp_path, **fields)
        with pytest.raises(StartError, match=text):
            driver.prepare(make_launch(directories, "true", mounts=(mount,)))


def test_a_node_offers_it_where_all_of_it_works(rooted):
    told = ExecDriver(lambda: rooted).describe(1)
    assert (told.detected, told.healthy, told.health_description) == (True, True, "Healthy")
    assert told.attributes == {"driver.exec": "1"}


def test_where_the_kernel_refuses_something_it_says_which(monkeypatch):
    refuses = (
        "import sys; sys.stdout.write('mount of /proc: Operation not permitted'); sys.exit(1)"
    )
    monkeypatch.setattr(exec_module, "PROBE", ["-c", refuses])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    told = ExecDriver(lambda: None).describe(1)
    assert (told.detected, told.healthy) == (False, False)
    wanted = "no isolation on this machine: mount of /proc: Operation not permitted"
    assert told.health_description == wanted


def test_without_root_it_is_not_there(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    told = ExecDriver(lambda: None).describe(1)
    assert (told.detected, told.health_description) == (False, "Driver must run as root")


def test_without_control_groups_it_is_there_and_not_healthy(rooted):
    def none():
        raise NoControlGroups("no control group of memory is mounted")

    told = ExecDriver(none).describe(1)
    assert (told.detected, told.healthy) == (True, False)
    assert told.health_description == "no control group of memory is mounted"
