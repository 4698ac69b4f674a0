"""What tasks of exec try in order to get out, or at their neighbours; none of it works."""

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers.driver import StartError
from cluster.agent.drivers.exec import ExecDriver
from cluster.agent.process_identity import start_time_of
from cluster.agent.restarts import Ending
from cluster.agent.secret_mounts import mounts_below, secret_mounts
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.drivers.test_exec import (
    NOBODY,
    directories,
    driver,
    make_launch,
    output_of,
    run,
)
from tests.cluster.agent.drivers.test_raw_exec import read
from tests.cluster.agent.drivers.test_raw_exec_limits import FORKS, TAKES_200_MB
from tests.cluster.agent.drivers.test_run_inside import told_inside
from tests.cluster.agent.real_groups import groups, rooted

__all__ = ["directories", "driver", "groups", "rooted"]


@pytest.fixture
def bystander():
    """A process of the host that belongs to the very user of the task."""
    process = subprocess.Popen(["sleep", "600"], user=NOBODY.pw_uid)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
async def neighbour(driver, tmp_path):
    """Another allocation's task of the same user, with a secret, and what it was handed."""
    places = AllocDirectories(tmp_path, "alloc-2")
    places.make_shared(["nobody"])
    own = places.make_task(make_task(), make_job())
    script = "echo hush >/secrets/key; echo hush >/dev/shm/key; touch /tmp/ready; exec sleep 600"
    launch = make_launch(own, script)
    launch = replace(launch, task_id="alloc-2/web/1", env={**launch.env, "SECRET": "hush"})
    await run(driver, launch)
    await until((own.root / "tmp" / "ready").exists)
    return own


async def test_no_signal_reaches_anybody_outside(driver, directories, bystander, neighbour):
    told = await output_of(driver, directories, f"kill -9 {bystander.pid}; kill -9 -1; echo on")
    assert "No such process" in told
    assert bystander.poll() is None
    assert (await output_of(driver, neighbour, "true", run="2")) == ""


async def test_no_secret_of_a_neighbour_is_to_be_had(driver, directories, neighbour):
    places = f"{neighbour.secrets}/key /dev/shm/key /proc/*/root/secrets/key /../alloc-2/web/*/key"
    script = (
        f"cat {places}; cat /proc/*/environ | tr '\\0' '\\n' | grep SECRET;"
        " find / -name key -path '*secrets*' 2>/dev/null; echo done"
    )
    told = await output_of(driver, directories, script)
    assert "hush" not in told
    assert "SECRET=" not in told
    assert told.endswith("done\n")
    assert not told.splitlines()[-2].startswith("/")


async def test_what_the_agent_keeps_is_not_seen_even_below_a_shown_directory(rooted, directories):
    hiding = ExecDriver(lambda: rooted, hidden=[Path("/usr/share")])
    told = await output_of((hiding, []), directories, "ls -A /usr/share; cat /etc/shadow")
    assert told.count("Permission denied") == 2


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("mount -t tmpfs none /tmp", id="mount"),
        pytest.param("mount -o remount,rw /usr", id="remount"),
        pytest.param("umount /alloc", id="unmount"),
        pytest.param(
            "unshare -Urm sh -c 'mount -o remount,bind,rw /usr && touch /usr/mine'",
            id="as root of a world of its own",
        ),
        pytest.param("chroot / true", id="chroot"),
        pytest.param("mknod /local/disk b 8 0", id="device"),
        pytest.param("modprobe dummy", id="module"),
        pytest.param("echo 1 >/proc/sys/kernel/panic", id="kernel setting"),
        pytest.param("echo b >/proc/sysrq-trigger", id="sysrq"),
        pytest.param("cat /proc/kcore | head -c 1 | grep .", id="kernel memory"),
        pytest.param("nsenter --mount=/proc/1/ns/mnt true", id="enter"),
        pytest.param("chown root /local", id="give away"),
        pytest.param("nice -n -5 nice | grep -q '^-5'", id="more of the processor"),
        pytest.param("ls /sys/fs/cgroup/*", id="control groups"),
        pytest.param("cat /proc/1/root/../../root/.bashrc /../root/.bashrc", id="dots"),
        pytest.param("cat /etc/shadow", id="passwords"),
    ],
)
async def test_what_only_root_may_do_is_refused(driver, directories, attempt):
    told = await output_of(driver, directories, f"if {attempt}; then echo OUT; fi; echo done")
    assert "OUT" not in told
    assert told.endswith("done\n")


@pytest.mark.parametrize("number", [175, 313])
async def test_no_module_is_loaded_by_the_system_call_either(driver, directories, number):
    if os.uname().machine != "x86_64":
        number = {175: 105, 313: 273}[number]
    load = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True);"
        f" print(c.syscall({number}, 0, 0, 0), ctypes.get_errno())"
    )
    (directories.local / "load.py").write_text(load)
    shown = f"{python_inside()} -S /local/load.py"
    # Not permitted; or not there at all, as this kernel takes no modules.
    assert await output_of(driver, directories, shown) in ("-1 1\n", "-1 38\n")


def python_inside():
    """A Python that lies where tasks see it."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if not found:
        pytest.skip("no Python below /usr")
    return found


async def test_programs_of_root_give_nothing_away(driver, directories):
    for place in (directories.local, directories.shared / "data"):
        program = place / "id"
        shutil.copy(shutil.which("id"), program)
        os.chown(program, 0, 0)
        program.chmod(0o6755)
    told = await output_of(driver, directories, "/local/id -u; /local/id -g; /alloc/data/id -u")
    assert told == f"{NOBODY.pw_uid}\n{NOBODY.pw_gid}\n{NOBODY.pw_uid}\n"


async def test_a_device_that_lies_there_already_is_none(driver, directories):
    device = directories.local / "zero"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    device.chmod(0o666)
    assert "Permission denied" in await output_of(driver, directories, "head -c 1 /local/zero")


@pytest.mark.parametrize("name", ["dev", "proc", "alloc"])
async def test_links_laid_before_a_start_lead_nowhere(driver, directories, tmp_path, name):
    target = tmp_path / "of-the-host"
    target.mkdir()
    place = directories.root / name
    if place.is_dir():
        shutil.rmtree(place)
    place.symlink_to(target)
    with pytest.raises(StartError, match=f"/{name}.*: {name} is no directory"):
        await run(driver, make_launch(directories, "true"))
    assert list(target.iterdir()) == []


async def test_forks_stop_at_the_limit_and_all_of_them_end(driver, directories, groups):
    bomb = FORKS.replace(sys.executable, python_inside())
    handle, endings = await run(driver, make_launch(directories, bomb, pids_limit=20))
    await until(lambda: "unavailable" in read(directories.logs / "web.stdout.0"))
    members = groups.group("alloc-1.web").members()
    assert len(members) == 20
    await driver[0].stop(handle, 0, "")
    assert endings == [Ending(exit_code=137, signal=9)]
    assert not any(start_time_of(pid) for pid in members)


async def test_memory_that_runs_away_ends_the_task_alone(driver, directories, neighbour):
    script = TAKES_200_MB.replace(sys.executable, python_inside())
    _, endings = await run(driver, make_launch(directories, f"exec {script}"))
    await until(lambda: endings)
    assert endings == [Ending(exit_code=137, signal=9, oom_killed=True, message="OOM Killed")]
    handle = driver[1][0]
    assert driver[0]._runs[handle.task_id].is_alive


async def test_secrets_in_memory_are_the_tasks_alone_and_hold_nothing_to_run(
    driver, directories, tmp_path
):
    kept = secret_mounts(tmp_path)
    assert not kept.why_not, "who may build roots may mount"
    places = [AllocDirectories(tmp_path, name, kept) for name in ("alloc-8", "alloc-9")]
    try:
        for each in places:
            each.make_shared(["nobody"])
        mine, theirs = (each.make_task(make_task(), make_job()) for each in places)
        (theirs.secrets / "key").write_text("hush")
        script = (
            "cp /bin/echo /secrets/echo; /secrets/echo ran; umount /secrets;"
            " mount -o remount,exec /secrets; mv /secrets /elsewhere;"
            f" cat {theirs.secrets}/key; grep -c ' /secrets tmpfs .*noexec' /proc/mounts;"
            " echo mine >/secrets/key; stat -c '%a %U' /secrets"
        )
        told = await output_of(driver, mine, script)
        assert "ran" not in told.splitlines()
        assert "hush" not in told
        assert told.splitlines()[-2:] == ["1", "700 nobody"]
        assert (mine.secrets / "key").read_text() == "mine\n"
        assert mine.secrets.is_mount()
    finally:
        for each in places:
            each.remove()
    assert mounts_below(tmp_path) == []


@pytest.mark.parametrize("name", ["local", "tmp"])
async def test_what_a_task_puts_in_the_place_of_its_directories_leads_no_next_start_out(
    driver, directories, tmp_path, name
):
    host = tmp_path / "of-the-host"
    host.mkdir(mode=0o750)
    before = host.stat()
    told = await output_of(driver, directories, f"rm -rf /{name}; ln -s {host} /{name}; echo laid")
    assert told == "laid\n"
    places = AllocDirectories(tmp_path, "alloc-1")
    with pytest.raises(OSError, match=name):
        places.make_task(make_task(), make_job())
    with pytest.raises(OSError, match=name):
        await run(driver, make_launch(directories, "true", run="2"))
    assert (host.stat().st_mode, host.stat().st_uid) == (before.st_mode, before.st_uid)


async def test_the_next_allocation_takes_no_link_over_that_leads_out(directories, tmp_path):
    host = tmp_path / "of-the-host"
    host.mkdir(mode=0o750)
    shutil.rmtree(directories.shared / "data")
    for place in (directories.shared / "data", directories.local):
        shutil.rmtree(place, ignore_errors=True)
        place.symlink_to(host)
    heir = AllocDirectories(tmp_path, "alloc-2")
    heir.make_shared(["nobody"])
    heir.take_over(AllocDirectories(tmp_path, "alloc-1"), ["web"])
    heir.make_task(make_task(), make_job())
    assert not (heir.shared / "data").is_symlink()
    assert not heir.task("web").local.is_symlink()
    assert stat.S_IMODE(host.stat().st_mode) == 0o750


#: By add_key into the keyring of the user, and by keyctl what of that name lies there.
KEYS = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
add, control = {"x86_64": (248, 250)}.get(os.uname().machine, (217, 219))
if sys.argv[1] == "lay":
    print("laid", c.syscall(add, b"user", b"bivouac-test", b"hush", 4, -4), ctypes.get_errno())
else:
    print("found", c.syscall(control, 10, -4, b"user", b"bivouac-test", 0), ctypes.get_errno())
"""


async def test_keys_of_a_user_are_no_way_from_task_to_task(driver, directories, neighbour):
    command = [python_inside(), "-S", "-c", KEYS, "lay"]
    key = subprocess.run(command, user=NOBODY.pw_uid, capture_output=True, text=True, check=True)
    if "laid -1 38" in key.stdout:
        pytest.skip("this kernel has no keys")
    assert "laid -1" not in key.stdout
    for each in (neighbour, directories):
        (each.local / "keys.py").write_text(KEYS)
    told = await output_of(driver, neighbour, f"{python_inside()} -S /local/keys.py lay", run="2")
    assert told == "laid -1 38\n"
    program = (python_inside(), "-S", "/local/keys.py", "find")
    script = f"{' '.join(program)}; exec sleep 600"
    handle, _ = await run(driver, make_launch(directories, script))
    log = directories.logs / "web.stdout.0"
    await until(lambda: read(log))
    assert read(log) == "found -1 38\n"
    assert await told_inside(driver[0], handle, *program) == ("found -1 38\n", 0)
