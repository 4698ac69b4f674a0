"""Where secrets of tasks lie: in memory where it can be had, and gone with their allocation."""

import os
import stat
import subprocess
import sys

import pytest

from cluster.agent import secret_mounts as module
from cluster.agent.agent_state import DiskStorage
from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.artifacts.placing import put_file
from cluster.agent.secret_mounts import SecretMounts, mounts_below, secret_mounts, unmount_below
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.resources import Resources
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work

MIB = 1024 * 1024
ON_DISK = SecretMounts("for the test")
TABLE = """\
27 1 254:0 / / rw - ext4 /dev/vda rw
80 27 0:50 / /a/alloc/x/web/secrets rw - tmpfs tmpfs rw
81 80 0:51 / /a/alloc/x/web/secrets/in\\040ner rw - tmpfs tmpfs rw
82 27 0:52 / /a/alloc/xy/web/secrets rw - tmpfs tmpfs rw
"""


@pytest.fixture
def mounting(tmp_path):
    """How secrets are mounted, where they can be; what a test forgot is taken away."""
    found = secret_mounts(tmp_path)
    if found.why_not:
        pytest.skip(found.why_not)
    yield found
    left = mounts_below(tmp_path)
    unmount_below(tmp_path)
    assert left == []


def made(tmp_path, secrets, *, alloc_id="alloc-1", has_image=False, **resources):
    places = AllocDirectories(tmp_path, alloc_id, secrets)
    places.make_shared()
    task = make_task(resources=Resources(**resources))
    return places, places.make_task(task, make_job(), has_image=has_image)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("asked", "granted"), [pytest.param(0, 1, id="usual"), pytest.param(3, 3, id="said")]
)
def test_secrets_lie_in_memory_in_the_size_that_the_task_says(mounting, tmp_path, asked, granted):
    places, task = made(tmp_path, mounting, secrets_mb=asked)
    told = os.statvfs(task.secrets)
    assert task.secrets.is_mount()
    assert told.f_blocks * told.f_frsize == granted * MIB
    assert told.f_flag & os.ST_NOEXEC
    assert told.f_flag & os.ST_NOSUID
    assert mode_of(task.secrets) == 0o700
    places.remove()
    assert not places.root.exists()


def test_more_than_their_size_is_not_taken(mounting, tmp_path):
    places, task = made(tmp_path, mounting)
    with pytest.raises(OSError, match="No space left"):
        (task.secrets / "key").write_bytes(b"x" * 2 * MIB)
    places.remove()


def test_a_further_start_keeps_what_lies_there(mounting, tmp_path):
    places, task = made(tmp_path, mounting)
    (task.secrets / "key").write_text("hush")
    made(tmp_path, mounting)
    assert (task.secrets / "key").read_text() == "hush"
    assert len(mounts_below(tmp_path)) == 1
    places.remove()


def test_a_link_in_the_way_is_not_followed(mounting, tmp_path):
    _, task = made(tmp_path, ON_DISK)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    task.secrets.rmdir()
    task.secrets.symlink_to(elsewhere)
    with pytest.raises(OSError, match="secrets"):
        made(tmp_path, mounting)
    assert mounts_below(tmp_path) == []
    assert mode_of(elsewhere) == 0o755


def test_what_an_agent_before_put_on_the_disk_is_not_covered(mounting, tmp_path):
    places, task = made(tmp_path, ON_DISK)
    (task.secrets / "key").write_text("hush")
    made(tmp_path, mounting)
    assert (task.secrets / "key").read_text() == "hush"
    places.remove()


def test_removing_leaves_what_is_mounted_elsewhere_alone(mounting, tmp_path):
    places, _ = made(tmp_path, mounting)
    others, task = made(tmp_path, mounting, alloc_id="alloc-10")
    (task.secrets / "key").write_text("hush")
    places.remove()
    assert (task.secrets / "key").read_text() == "hush"
    others.remove()


def test_a_download_is_put_there_from_the_disk(mounting, tmp_path):
    places, task = made(tmp_path, mounting)
    file = tmp_path / "fetched"
    file.write_text("hush")
    file.chmod(0o640)
    put_file(file, task.secrets / "key", places.root)
    assert (task.secrets / "key").read_text() == "hush"
    assert mode_of(task.secrets / "key") == 0o640
    assert [place.name for place in task.secrets.iterdir()] == ["key"]
    assert not file.exists()
    places.remove()


def test_without_the_right_to_mount_it_is_a_closed_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = secret_mounts(tmp_path)
    assert found.attributes == {"bivouac.secrets.storage": "directory"}
    assert found.sentence == (
        "Secrets of tasks lie in directories on the disk: the agent does not run as root"
    )
    _, task = made(tmp_path, found)
    assert not task.secrets.is_mount()
    assert mode_of(task.secrets) == 0o700


def test_a_refused_mount_is_told_in_the_kernels_words(tmp_path, monkeypatch):
    def refused(*_args, **_options):
        raise OSError("tmpfs at x: operation not permitted")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "_mount", refused)
    assert secret_mounts(tmp_path) == SecretMounts("tmpfs at x: operation not permitted")
    assert list(tmp_path.iterdir()) == []


def test_a_node_says_where_secrets_lie():
    assert SecretMounts("", is_unswappable=True).attributes == {
        "bivouac.secrets.storage": "tmpfs",
        "bivouac.secrets.swappable": "false",
    }
    told = SecretMounts("", is_unswappable=False)
    assert told.sentence == "Secrets of tasks lie in memory (tmpfs), which this kernel may swap"


def test_the_user_of_an_image_is_let_in(tmp_path):
    _, task = made(tmp_path, ON_DISK, has_image=True)
    assert mode_of(task.secrets) == 0o777
    assert mode_of(task.root) == 0o700


def test_mounts_are_found_by_their_place_the_innermost_first(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    found = mounts_below(tmp_path.__class__("/a/alloc/x"), table)
    assert list(map(str, found)) == ["/a/alloc/x/web/secrets/in ner", "/a/alloc/x/web/secrets"]


async def test_secrets_outlive_the_agent_and_go_with_the_allocation(mounting, tmp_path):
    node = Node(tmp_path)
    await node.start()
    script = "echo hush >$NOMAD_SECRETS_DIR/key; exec sleep 600"
    config = {"command": "/bin/sh", "args": ["-c", script]}
    alloc, job = make_work(config, driver="raw_exec")
    node.host.add(alloc, job)
    try:
        await until(lambda: node.read(alloc, "web/secrets/key") == "hush\n", "the secret")
        await node.stop()
        await node.start()
        await node.reach(alloc, ClientStatus.RUNNING)
        assert node.read(alloc, "web/secrets/key") == "hush\n"
        assert (node.storage.directories(alloc.id).root / "web" / "secrets").is_mount()
        assert node.storage.left_over() == []
    finally:
        root = node.storage.directories(alloc.id).root
        for handle in node.host.entries[alloc.id].handles.values():
            await node.host.drivers[handle.driver].stop(handle, 0, "")
        await node.host.destroy_now(alloc.id)
        await node.stop()
    assert mounts_below(root) == []
    assert not root.exists()


ENDS_BETWEEN = """
import os, signal, sys
from pathlib import Path
from cluster.agent.agent_state import DiskStorage
from tests.builders import make_job, make_task
storage = DiskStorage(Path(sys.argv[1], "state"), Path(sys.argv[1], "alloc"))
places = storage.directories("11111111-2222-3333-4444-555555555555")
places.make_shared()
task = places.make_task(make_task(), make_job())
(task.secrets / "key").write_text("hush")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_agent_killed_before_it_noted_the_allocation_leaves_no_mount(mounting, tmp_path):
    DiskStorage(tmp_path / "state", tmp_path / "alloc").close()
    subprocess.run([sys.executable, "-c", ENDS_BETWEEN, str(tmp_path)], check=False)
    assert len(mounts_below(tmp_path)) == 1
    storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
    for directories in storage.left_over():
        directories.remove()
    storage.close()
    assert mounts_below(tmp_path) == []
    assert [place.name for place in (tmp_path / "alloc").rglob("*")] == [".runs"]


def test_a_lost_record_takes_no_data_with_it(tmp_path):
    (tmp_path / "alloc" / "11111111-2222-3333-4444-555555555555").mkdir(parents=True)
    (tmp_path / "alloc" / "kept").mkdir()
    storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
    assert storage.left_over() == []
    storage.close()
    storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
    (left,) = storage.left_over()
    assert left.root.name == "11111111-2222-3333-4444-555555555555"
    storage.close()
