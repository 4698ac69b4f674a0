"""What tasks lay in the way of their agent: it is refused or replaced, never gone through."""

import os
import stat
from pathlib import Path

import pytest

from cluster.agent import own_places
from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.log_stream import Window, read_logs
from scheduler.structs.task_group import DispatchPayload
from tests.builders import make_job, make_task


@pytest.fixture
def outside(tmp_path):
    """A directory of the host's, with a file."""
    place = tmp_path / "outside"
    place.mkdir(mode=0o750)
    (place / "key").write_text("hush")
    return place


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "task"
    place.mkdir()
    return place


def put(root, path, content=b"new"):
    own_places.put_file(root, path, content, mode=0o640)


def test_a_file_is_put_with_the_directories_on_its_way(root):
    put(root, "/local//deep/../deep/./file")
    file = root / "local" / "deep" / "file"
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)
    assert [each.name for each in file.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["", "/", "../out", "local/../../out", "local/.."])
def test_a_path_that_leads_out_or_nowhere_is_refused(root, path):
    with pytest.raises(PermissionError):
        put(root, path)


def test_a_link_on_the_way_is_not_gone_through(root, outside):
    (root / "local").symlink_to(outside)
    with pytest.raises(OSError, match="local"):
        put(root, "local/file")
    assert [each.name for each in outside.iterdir()] == ["key"]


@pytest.fixture
def slow(root, outside, monkeypatch):
    """Where the look at a path takes long enough for a task to lay a link into it."""
    (root / "local").mkdir()
    (root / "local" / "key").write_text("own")
    look = Path.resolve

    def resolve(path, strict=False):
        found = look(path, strict)
        if path != root and not (root / "local").is_symlink():
            (root / "local").rename(root / "before")
            (root / "local").symlink_to(outside)
        return found

    monkeypatch.setattr(Path, "resolve", resolve)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("path", ["local", "local/deep"])
def test_a_link_laid_after_the_look_leads_no_way_out(root, outside, path):
    with pytest.raises(OSError, match="local"), own_places.way(root, root / path):
        pass
    assert [each.name for each in outside.iterdir()] == ["key"]


@pytest.mark.usefixtures("slow")
def test_a_link_laid_after_the_look_is_not_read_through(root):
    with pytest.raises(own_places.LeadsOut), own_places.reading(root, root / "local/key"):
        pass


def test_links_within_are_followed_and_files_alone_are_read(root, outside):
    (root / "v1").mkdir()
    (root / "current").symlink_to("v1")
    with own_places.way(root, root / "current/deep") as opened:
        own_places.put_here(opened, "file", b"own", mode=0o600, owner=None)
    with own_places.reading(root, root / "current/deep/file") as file:
        assert file.read() == "own"
    os.mkfifo(root / "pipe")
    for name in ("pipe", "v1"):
        with pytest.raises(PermissionError), own_places.reading(root, root / name):
            pass
    (root / "out").symlink_to(outside)
    for deed in (own_places.way, own_places.reading):
        with pytest.raises(own_places.LeadsOut), deed(root, root / "out/key"):
            pass


@pytest.mark.parametrize("laid", ["link", "pipe", "another name"])
def test_what_lies_at_its_place_is_replaced(root, outside, laid):
    for name in ("file", ".file.new"):
        if laid == "link":
            (root / name).symlink_to(outside / "key")
        elif laid == "pipe":
            os.mkfifo(root / name)
        else:
            (root / name).hardlink_to(outside / "key")
    put(root, "file")
    assert (root / "file").read_bytes() == b"new"
    assert stat.S_ISREG((root / "file").lstat().st_mode)
    assert (outside / "key").read_text() == "hush"


def test_a_directory_that_is_a_link_gets_neither_mode_nor_owner(root, outside):
    (root / "local").symlink_to(outside)
    for deed in (
        lambda: own_places.make_directory(root / "local", 0o777),
        lambda: own_places.give_directory(root / "local", os.getuid(), os.getgid()),
    ):
        with pytest.raises(OSError, match="local"):
            deed()
    assert stat.S_IMODE(outside.stat().st_mode) == 0o750


def test_a_program_is_made_executable_unless_it_is_somebody_elses(root, outside):
    (root / "own").write_text("")
    (root / "link").symlink_to(outside / "key")
    (root / "name").hardlink_to(outside / "key")
    os.mkfifo(root / "pipe")
    before = (outside / "key").stat().st_mode
    for name in ("own", "link", "name", "pipe", "nothing"):
        own_places.make_executable(root / name)
    assert os.access(root / "own", os.X_OK)
    assert (outside / "key").stat().st_mode == before


async def test_logs_are_read_of_files_alone(tmp_path, outside):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "web.stdout.0").symlink_to(outside / "key")
    os.mkfifo(logs / "web.stdout.1")
    (logs / "web.stdout.2").write_text("said")

    async def told(directory):
        pieces = read_logs(directory, "web.stdout", Window(), lambda: True)
        return b"".join([piece.data async for piece in pieces])

    assert await told(logs) == b"said"
    (outside / "web.stdout.0").write_text("hush")
    (tmp_path / "link").symlink_to(outside)
    assert await told(tmp_path / "link") == b""


def test_a_payload_is_no_way_out_and_holds_nobody_up(tmp_path, outside):
    places = AllocDirectories(tmp_path, "alloc-1")
    places.make_shared()
    task = make_task(dispatch_payload=DispatchPayload(file="in/put"))
    job = make_job(payload="bmV3")
    local = places.make_task(task, job).local
    assert (local / "in" / "put").read_text() == "new"
    (local / "in" / "put").unlink()
    os.mkfifo(local / "in" / "put")
    places.make_task(task, job)
    assert (local / "in" / "put").read_text() == "new"
    (local / "in").rename(local / "before")
    (local / "in").symlink_to(outside)
    with pytest.raises(OSError, match="in"):
        places.make_task(task, job)
    assert [each.name for each in outside.iterdir()] == ["key"]
