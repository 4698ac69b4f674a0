"""Real processes fetch from a real server and a real repository."""

import asyncio
import hashlib
import os
import threading
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from cluster.agent.artifacts import landlock, placing
from cluster.agent.artifacts.fetcher import ArtifactFetcher
from cluster.agent.artifacts.order import ArtifactRefused, Limits, fetch_order
from cluster.agent.drivers.driver import TaskDirectories
from scheduler.structs.task_group import Artifact
from tests.cluster.agent.deadline import until
from tests.file_server import tar_of

ALLOWED = Limits(private_addresses=True)


@pytest.fixture
def place(tmp_path):
    directories = TaskDirectories(root=tmp_path / "a1" / "web", shared=tmp_path / "a1" / "alloc")
    for directory in (directories.local, directories.private, directories.shared):
        directory.mkdir(parents=True)
    return directories


@pytest.fixture
def fetch(place):
    async def run(*artifacts, limits=ALLOWED, progress=lambda _received, _expected: None):
        orders = [fetch_order(a, str, place, limits=limits) for a in artifacts]
        return await ArtifactFetcher().fetch(orders, place.private, progress)

    return run


def sum_of(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


async def test_a_file_and_an_archive_arrive(served, fetch, place):
    archive = tar_of(("app/bin/run", b"#!"), ("app/readme", b"hi"))
    served.files |= {"/app.tgz": archive, "/conf": b"key = 1"}
    done = await fetch(
        Artifact(
            getter_source=f"{served.url}/app.tgz",
            getter_options={"checksum": sum_of(archive)},
            getter_headers={"X-Who": "web"},
        ),
        Artifact(
            getter_source=f"{served.url}/conf",
            getter_mode="file",
            relative_dest="local/etc/app.conf",
        ),
        Artifact(getter_source=f"{served.url}/app.tgz//app/bin", relative_dest="../alloc/bin"),
    )
    assert done.problem == ""
    assert len(done.keys) == 3
    assert (place.local / "app/bin/run").read_bytes() == b"#!"
    assert (place.local / "etc/app.conf").read_bytes() == b"key = 1"
    assert (place.shared / "bin/run").read_bytes() == b"#!"
    assert ("/app.tgz", "web") in [(path, told.get("X-Who")) for path, told in served.asked]
    assert list(place.private.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"getter_source": "/none"}, "bad response code: 404"),
        ({"getter_options": {"checksum": f"sha256:{'0' * 64}"}}, "Checksums did not match"),
        ({"getter_options": {"checksum": "crc:00"}}, "unsupported checksum type: crc"),
        ({"getter_options": {"checksum": "md5:00"}}, "invalid md5 checksum: 00"),
        ({"getter_mode": "dir"}, "plain is no archive, and mode dir wants a directory"),
        ({"getter_options": {"archive": "tgz"}}, "cannot unpack plain"),
        ({"getter_options": {"filename": "../x"}}, "'../x' is no name for a file"),
        ({"getter_source": "/plain//inner"}, "inner is not in what was fetched"),
        ({"getter_source": "/to/file:|||etc|passwd"}, "which is not fetched"),
        ({"getter_source": "/to/|to||nowhere"}, "bad response code: 404"),
        ({"getter_mode": "file", "getter_source": "/two.tgz"}, "expected a single file, got 2"),
    ],
)
async def test_what_fails_says_why_and_leaves_nothing(served, fetch, place, fields, why):
    served.files |= {"/plain": b"text", "/two.tgz": tar_of(("a", b"1"), ("b", b"2"))}
    fields = {"getter_source": "/plain", "relative_dest": "local/it"} | fields
    fields["getter_source"] = served.url + fields["getter_source"]
    done = await fetch(Artifact(**fields))
    assert not done.keys
    assert why in done.problem
    assert done.problem.startswith(f'failed to download artifact "{fields["getter_source"]}": ')
    assert not (place.local / "it").exists()
    assert list(place.private.iterdir()) == []


async def test_private_addresses_are_refused_unless_the_node_allows_them(served, fetch):
    served.files["/plain"] = b"text"
    done = await fetch(Artifact(getter_source=f"{served.url}/plain"), limits=Limits())
    assert "127.0.0.1 is the private address 127.0.0.1" in done.problem
    assert served.asked == []


@pytest.mark.parametrize("told", [9, 2])
async def test_a_file_that_is_too_large_is_refused_whatever_its_server_says(served, fetch, told):
    served.files["/plain"] = b"text-text"
    served.told["/plain"] = told
    done = await fetch(
        Artifact(getter_source=f"{served.url}/plain"), limits=replace(ALLOWED, max_size=1)
    )
    assert "and no more than 1 may be" in done.problem


async def test_all_are_tried_and_only_what_arrived_is_remembered(served, fetch, place):
    served.files["/plain"] = b"text"
    good = Artifact(getter_source=f"{served.url}/plain")
    done = await fetch(Artifact(getter_source=f"{served.url}/none"), good)
    assert "bad response code: 404" in done.problem
    assert done.keys == {fetch_order(good, str, place, limits=ALLOWED).key}


async def test_what_is_meant_for_one_server_is_not_told_to_another(served, fetch):
    served.files["/plain"] = b"text"
    other = served.url.replace("127.0.0.1", "localhost").replace("/", "|")
    artifact = Artifact(
        getter_source=f"{served.url}/to/{other}|plain", getter_headers={"X-Token": "secret"}
    )
    done = await fetch(artifact)
    assert done.problem == ""
    (_first, shown), (_second, hidden) = served.asked
    assert shown["X-Token"] == "secret"
    assert "X-Token" not in hidden


async def test_a_list_of_checksums_beside_the_file_is_used(served, fetch):
    content = b"text"
    line = f"{hashlib.sha256(content).hexdigest()}  plain\n"
    served.files |= {"/plain": content, "/sums": f"{'0' * 64}  other\n{line}".encode()}
    asked = {"checksum": f"file:{served.url}/sums"}
    good = Artifact(getter_source=f"{served.url}/plain", getter_options=asked)
    assert (await fetch(good)).problem == ""
    served.files["/sums"] = f"{'0' * 64}  plain\n".encode()
    assert "Checksums did not match" in (await fetch(good)).problem
    served.files["/sums"] = f"{'0' * 64}  other\n".encode()
    assert "has none for plain" in (await fetch(good)).problem


async def test_a_repository_at_a_tag(repository, fetch, place):
    done = await fetch(
        Artifact(getter_source=repository, relative_dest="local/new"),
        Artifact(
            getter_source=repository, getter_options={"ref": "v1"}, relative_dest="local/old"
        ),
        Artifact(getter_source=f"{repository}//bin", relative_dest="local/part"),
    )
    assert done.problem == ""
    assert (place.local / "new/bin/run").read_text() == "second\n"
    assert (place.local / "old/bin/run").read_text() == "first\n"
    assert (place.local / "part/run").read_text() == "second\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ref": "--upload-pack=touch x"}, "cannot begin with a dash"),
        ({"ref": "none"}, "git exited with"),
        ({"depth": "x"}, "depth must be a number above 0, not 'x'"),
        ({"sshkey": "?"}, "sshkey must be base64"),
    ],
)
async def test_a_repository_that_cannot_be_had_says_why(repository, fetch, options, why):
    done = await fetch(Artifact(getter_source=repository, getter_options=options))
    assert why in done.problem


async def test_a_link_that_another_task_left_leads_nowhere(served, fetch, place, tmp_path):
    (tmp_path / "outside").mkdir()
    (place.local / "it").symlink_to(tmp_path / "outside")
    served.files["/plain"] = b"text"
    done = await fetch(Artifact(getter_source=f"{served.url}/plain", relative_dest="local/it"))
    assert "local/it" in done.problem or "escapes alloc directory" in done.problem
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_is_given_to_a_task_is_never_what_a_link_leads_to(place, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("hush")
    (place.local / "it/deep").mkdir(parents=True)
    (place.local / "it/deep/file").write_text("own")
    (place.local / "it/file").symlink_to(outside / "key")
    (place.local / "it/way").symlink_to(outside)
    placing.give(place.local / "it", tmp_path / "a1", "nobody")
    assert (place.local / "it/deep/file").owner() == "nobody"
    assert (outside.owner(), (outside / "key").owner()) == ("root", "root")
    (place.local / "whole").symlink_to(outside)
    placing.give(place.local / "whole", tmp_path / "a1", "nobody")
    assert outside.owner() == "root"
    with pytest.raises(ArtifactRefused, match="escapes alloc directory"):
        placing.give(place.local / "whole/key", tmp_path / "a1", "nobody")


async def test_a_canceled_fetch_leaves_no_process_and_no_file(served, fetch, place):
    served.files["/slow"] = bytes(5_000_000)
    served.held["/slow"] = threading.Event()
    work = asyncio.ensure_future(fetch(Artifact(getter_source=f"{served.url}/slow")))
    await until(lambda: served.asked, "the request")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert list(place.private.iterdir()) == []
    assert list(place.local.iterdir()) == []
    assert workers_below(os.getpid()) == []


async def test_one_that_takes_too_long_is_ended(served, fetch, monkeypatch):
    monkeypatch.setattr("cluster.agent.artifacts.fetcher._GRACE_S", 0.2)
    served.files["/slow"] = bytes(5_000_000)
    served.held["/slow"] = threading.Event()
    limits = replace(ALLOWED, timeout_s=1.0)
    done = await fetch(Artifact(getter_source=f"{served.url}/slow"), limits=limits)
    assert "it took longer than 1 seconds" in done.problem
    assert workers_below(os.getpid()) == []


async def test_how_far_it_is_is_told(served, fetch):
    served.files["/large"] = bytes(9_000_000)
    heard = []
    done = await fetch(
        Artifact(getter_source=f"{served.url}/large"),
        progress=lambda received, expected: heard.append((received, expected)),
    )
    assert done.problem == ""
    assert len(heard) == 2
    assert all(expected == 9_000_000 for _received, expected in heard)
    assert heard[0][0] < heard[1][0] <= 9_000_000


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_landlock_keeps_a_process_to_its_directories(tmp_path):
    """In a child, since it is for good."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("x")
    child = os.fork()
    if child == 0:
        kept = landlock.keep_to(reading=[Path("/usr")], writing=[inside])
        (inside / "made").write_text("y")
        refused = 0
        for attempt in (
            (outside / "secret").read_text,
            lambda: (outside / "new").write_text("z"),
            lambda: (inside / "made").rename(outside / "made"),
        ):
            try:
                attempt()
            except OSError:
                refused += 1
        os._exit(0 if kept and refused == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (inside / "made").read_text() == "y"
    assert [file.name for file in outside.iterdir()] == ["secret"]


def workers_below(pid):
    children = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in children if "artifacts.worker" in " ".join(child.cmdline())]
