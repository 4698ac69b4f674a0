"""raw_exec as another user: its own group, its own directories, and what else it is told of."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.task_user import login_variables
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts tasks as others")
NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def open_directory():
    """A directory that every user may come through, as pytest's own is not."""
    directory = Path(tempfile.mkdtemp(prefix="bivouac-user-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


def directories_in(root, *users):
    places = AllocDirectories(root / "alloc", "alloc-1")
    places.make_shared(users or ("nobody",))
    return places.make_task(make_task(), make_job())


async def output_of(directories, script, *, user="nobody", **config):
    driver = RawExecDriver(enabled=True)
    launch = Launch(
        task_id="alloc-1/web/00000001",
        task_name="web",
        config={"command": "/bin/sh", "args": ["-c", script], **config},
        env={"PATH": os.environ["PATH"]},
        directories=directories,
        user=user,
    )
    endings = []
    handle = driver.prepare(launch)
    await driver.start(launch, handle, endings.append)
    await until(lambda: endings, "the end")
    log = directories.logs
    return (log / "web.stdout.0").read_text() + (log / "web.stderr.0").read_text()


async def test_a_task_of_nobody_has_nobodys_user_group_and_groups(open_directory):
    directories = directories_in(open_directory)
    told = await output_of(directories, "id -u; id -g; id -G")
    groups = " ".join(map(str, os.getgrouplist("nobody", NOBODY.pw_gid)))
    assert told == f"{NOBODY.pw_uid}\n{NOBODY.pw_gid}\n{groups}\n"


async def test_its_output_can_be_opened_by_name(open_directory):
    told = await output_of(directories_in(open_directory), "echo one >/dev/stdout")
    assert told == "one\n"


async def test_it_writes_to_its_own_directories_and_not_to_the_agents(open_directory):
    directories = directories_in(open_directory)
    root, shared = directories.root, directories.shared
    own = (root, root / "local", root / "secrets", root / "tmp", shared / "data")
    script = f"for d in {' '.join(map(str, own))} {root}/private"
    script += "; do touch $d/mine && echo $d; done 2>/dev/null; pwd"
    written = (await output_of(directories, script)).split()
    assert written == [*map(str, own), str(root)]
    assert (directories.local / "mine").stat().st_uid == NOBODY.pw_uid


async def test_it_puts_nothing_in_the_place_of_the_notes_by_which_its_agent_finds_it(
    open_directory,
):
    directories = directories_in(open_directory)
    runs = directories.runs
    above = [*runs.parents][:3]
    script = f"for d in {runs} {runs}/00000001 {' '.join(map(str, above))}"
    script += "; do mv $d $d.mine || touch $d/mine && echo $d; done 2>/dev/null"
    assert await output_of(directories, script) == ""
    (notes,) = runs.iterdir()
    assert {path.stat().st_uid for path in (notes, *notes.iterdir())} == {0}
    assert not notes.is_relative_to(directories.root)


def reachable(user, *paths):
    """Those of the paths that a user of the host may look into or write to."""
    script = 'for p in "$@"; do ls "$p" >/dev/null 2>&1 && echo "$p"; done; true'
    found = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *map(str, paths)],
        user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return found.stdout.split()


@pytest.mark.parametrize(
    ("users", "open_to_nobody"),
    [
        pytest.param(("",), (), id="tasks of the agent's user"),
        pytest.param(("daemon", ""), (), id="tasks of somebody else"),
        pytest.param(("nobody",), ("shared",), id="a task of its own"),
        pytest.param(("nobody", "daemon"), ("shared",), id="several users share"),
    ],
)
async def test_nobody_else_on_the_host_reaches_what_a_task_uses(
    open_directory, users, open_to_nobody
):
    directories = directories_in(open_directory, *users)
    places = (directories.root, directories.local, directories.secrets, directories.shared)
    wanted = [str(getattr(directories, name)) for name in open_to_nobody]
    assert reachable("nobody", *places) == wanted


async def test_a_way_that_is_closed_to_its_user_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    directories = directories_in(closed)
    with pytest.raises(StartError, match="the user of this task has no access to /"):
        await output_of(directories, "true")


async def test_a_user_that_is_not_there_is_named(open_directory):
    directories = directories_in(open_directory)
    with pytest.raises(StartError, match='there is no user "nosuch" on this host'):
        await output_of(directories, "true", user="nosuch")


async def test_without_a_user_it_stays_the_agents(tmp_path):
    assert await output_of(directories_in(tmp_path), "id -u; id -g", user="") == "0\n0\n"


def test_a_login_tells_its_user_about_itself():
    assert login_variables("nobody") == {
        "USER": "nobody",
        "LOGNAME": "nobody",
        "HOME": NOBODY.pw_dir,
    }
    assert login_variables("nosuch") == {}


async def test_a_score_for_when_memory_runs_out_is_set(tmp_path):
    script = "cat /proc/self/oom_score_adj"
    assert await output_of(directories_in(tmp_path), script, user="", oom_score_adj=321) == "321\n"


async def test_denied_variables_may_be_patterns(tmp_path):
    script = 'echo "[$PATH][$HOME]"'
    denied = {"denied_envvars": ["PA*"], "command": "/usr/bin/env", "args": []}
    told = await output_of(directories_in(tmp_path), script, user="", **denied)
    assert "PATH=" not in told


@pytest.mark.parametrize(
    ("config", "text"),
    [
        pytest.param({"comand": "x"}, "comand: raw_exec has no such option", id="misspelt"),
        pytest.param(
            {"cgroup_v2_override": "a/../../x"}, "control group leads out", id="leads out"
        ),
        pytest.param(
            {"cgroup_v2_override": "/x", "cgroup_v1_override": [{"cpu": "/x"}]},
            "only one of cgroups_v1_override and cgroups_v2_override may be set",
            id="both kinds of groups",
        ),
        pytest.param({"oom_score_adj": -1}, "oom_score_adj must not be negative", id="score"),
    ],
)
async def test_options_that_cannot_be_carried_out_are_refused_by_name(tmp_path, config, text):
    with pytest.raises(StartError, match=text) as refused:
        await output_of(directories_in(tmp_path), "true", user="", **config)
    assert refused.value.invalid_config
