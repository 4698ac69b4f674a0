"""Data of an allocation on its way to another node: packed, sent, unpacked, or refused by name."""

import io
import os
import tarfile

import pytest

from cluster.agent.disk_archive import ArchiveRefused, packed, unpacked
from cluster.agent.server_link import CallFailed
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.task_group import EphemeralDisk
from tests.builders import make_allocation, make_job, make_task, make_task_group
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import NO_TRY, Node

SCRIPT = 'cat "$NOMAD_ALLOC_DIR/data/shared" "$NOMAD_TASK_DIR/own"; sleep 60'
OLD, NEW = "aaaaaaaa-0000-0000-0000-00000000000a", "aaaaaaaa-0000-0000-0000-00000000000b"
LARGE = 10**9


def left_behind(root):
    """What an allocation of another node has."""
    for place in ("alloc/data", "alloc/logs", "web/local", "web/secrets", "web/private"):
        (root / place).mkdir(parents=True)
    (root / "alloc/data/shared").write_text("shared ")
    (root / "alloc/logs/web.stdout.0").write_text("log")
    (root / "web/local/own").write_text("own")
    (root / "web/local/own").chmod(0o750)
    (root / "web/local/link").symlink_to("own")
    (root / "web/secrets/password").write_text("secret")
    os.mkfifo(root / "web/local/pipe")
    return root


async def pieces_of(data):
    yield data


async def archive_of(root):
    return b"".join([piece async for piece in packed(root)])


def made(*members):
    """An archive of these members, with contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def file(name, content=b"x"):
    return tarfile.TarInfo(name), content


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member, b""


async def test_data_travels_and_secrets_and_logs_stay(tmp_path):
    archive = await archive_of(left_behind(tmp_path / "old"))
    seen = []

    size = await unpacked(pieces_of(archive), tmp_path / "new", LARGE, seen.append)

    files = {str(each.relative_to(tmp_path / "new")) for each in (tmp_path / "new").rglob("*")}
    assert files == {
        "alloc", "alloc/data", "alloc/data/shared", "web", "web/local", "web/local/own",
        "web/local/link",
    }  # fmt: skip
    assert (tmp_path / "new/web/local/own").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "new/web/local/link").readlink() == type(tmp_path)("own")
    assert size == len(archive) == seen[-1]


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        pytest.param(made(file("web/local/../../out")), "leads out", id="upwards"),
        pytest.param(made(file("/etc/x")), "no data of an allocation", id="absolute"),
        pytest.param(made(file("web/secrets/x")), "no data of an allocation", id="secret"),
        pytest.param(made(link("web/local/x", "/etc/passwd")), "leads out", id="absolute-link"),
        pytest.param(made(link("web/local/x", "../../../x")), "leads out", id="link-upwards"),
        pytest.param(made(file("web/local/x", b"y" * 2000)), "more than 1000 bytes", id="large"),
        pytest.param(b"no archive at all" * 100, "cannot be unpacked", id="none"),
    ],
)
async def test_an_archive_that_asks_for_more_is_refused(tmp_path, archive, why):
    (tmp_path / "new").mkdir()
    with pytest.raises(ArchiveRefused, match=why):
        await unpacked(pieces_of(archive), tmp_path / "new", 1000, lambda _size: None)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path.parent / "x").exists()


async def test_who_stops_listening_stops_the_packing(tmp_path):
    root = left_behind(tmp_path / "old")
    (root / "alloc/data/large").write_bytes(b"z" * 4_000_000)
    pieces = packed(root)
    assert await anext(pieces)
    await pieces.aclose()


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path / "node")
    (tmp_path / "node").mkdir()
    await node.start()
    yield node
    await node.end()


async def begin(node, fetch, **disk):
    """A replacement of an allocation that ran elsewhere."""
    config = {"command": "/bin/sh", "args": ["-c", SCRIPT]}
    task = make_task(driver="raw_exec", config=config)
    group = make_task_group(
        tasks=(task,), restart_policy=NO_TRY, ephemeral_disk=EphemeralDisk(size_mb=300, **disk)
    )
    job = make_job(task_groups=(group,))
    alloc = make_allocation(job, id=NEW, previous_allocation=OLD)
    node.host.fetch_data = fetch
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    return alloc


def said(node, alloc):
    events = node.host.entries[alloc.id].runner.tasks["web"].state.events
    return [event.display_message for event in events if event.type == "Migrating Disk"]


async def test_a_replacement_begins_with_the_data_of_the_other_node(node, tmp_path):
    archive = await archive_of(left_behind(tmp_path / "old"))
    asked = []

    async def fetch(alloc_id):
        asked.append(alloc_id)
        yield archive

    alloc = await begin(node, fetch, migrate=True)

    await until(lambda: node.read(alloc, "alloc/logs/web.stdout.0") == "shared own", "its data")
    assert asked == [NEW]
    [line] = said(node, alloc)
    assert line.startswith("The data of the allocation before is here: ")
    await until(lambda: not node.storage.directories(OLD).root.exists(), "no copy is left")


async def test_without_the_other_node_it_begins_empty_and_says_why(node):
    async def fetch(_alloc_id):
        raise CallFailed("the node of the allocation before is down", 404)
        yield b""

    alloc = await begin(node, fetch, migrate=True)

    assert said(node, alloc) == [
        "Its data could not be had: the node of the allocation before is down. The disk is empty."
    ]
    assert not node.storage.directories(OLD).root.exists()


async def test_half_of_the_data_is_none(node, tmp_path):
    archive = await archive_of(left_behind(tmp_path / "old"))

    async def fetch(_alloc_id):
        yield archive[:1536]

    alloc = await begin(node, fetch, migrate=True)

    [line] = said(node, alloc)
    assert line.endswith("The disk is empty.")
    assert list((node.storage.directories(NEW).root / "alloc/data").iterdir()) == []


async def test_a_sticky_disk_is_not_fetched(node):
    async def fetch(_alloc_id):
        raise AssertionError
        yield b""

    assert said(node, await begin(node, fetch, sticky=True)) == []
