"""Files of an allocation while they change: replaced, cut, deleted, or a trap on the way."""

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest

from cluster.agent import file_answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.file_answers import FileAnswers
from scheduler.structs.allocation import ClientStatus
from tests.cluster.agent.real_node import Node, make_work


@pytest.fixture
async def files(tmp_path):
    """The answers about one allocation's files; `root` is its directory."""
    node = Node(tmp_path)
    await node.start()
    alloc, job = make_work()
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    answers = FileAnswers(node.host, node.storage)
    answers.alloc = alloc.id
    answers.root = node.storage.directories(alloc.id).root
    yield answers
    await node.end()


def asked(files, verb, path, **body):
    return files.verbs[verb]({"AllocID": files.alloc, "Path": path, **body})


async def whole(pieces):
    return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (0o100644, "-rw-r--r--"),
        (0o041777, "dtrwxrwxrwx"),
        (0o104755, "urwxr-xr-x"),
        (0o140666, "Srw-rw-rw-"),
        (0o010600, "prw-------"),
        (0o020620, "Dcrw--w----"),
        (0o120777, "Lrwxrwxrwx"),
    ],
)
def test_a_mode_is_written_as_the_reference_writes_it(mode, text):
    assert file_answers.mode_text(mode) == text


async def test_a_text_says_its_encoding(files):
    for name, kind in {
        "notes.txt": "text/plain; charset=utf-8",
        "plain": "text/plain; charset=utf-8",
        "data.json": "application/json",
    }.items():
        (files.root / "alloc" / name).write_text("a")
        told = json.loads(await whole(asked(files, "fs.stat", f"alloc/{name}")))
        assert told["ContentType"] == kind


async def test_a_file_that_is_replaced_while_it_is_read_stays_the_one_that_was_opened(files):
    place = files.root / "alloc" / "data" / "big"
    place.write_bytes(b"a" * 200_000)
    pieces = asked(files, "fs.cat", "alloc/data/big")
    first = await anext(pieces)
    (place.parent / "new").write_bytes(b"b" * 300_000)
    (place.parent / "new").replace(place)
    assert first + await whole(pieces) == b"a" * 200_000


async def test_a_file_that_is_cut_while_it_is_read_ends_there(files):
    place = files.root / "alloc" / "data" / "big"
    place.write_bytes(b"a" * 200_000)
    pieces = asked(files, "fs.cat", "alloc/data/big")
    first = await anext(pieces)
    place.write_bytes(b"")
    assert first + await whole(pieces) == b"a" * len(first)


@pytest.mark.parametrize("deed", ["replace", "delete"])
async def test_following_ends_when_the_file_is_another_one_or_gone(files, deed):
    place = files.root / "alloc" / "data" / "log"
    place.write_bytes(b"one")
    frames = asked(files, "fs.stream", "alloc/data/log")
    assert base64.b64decode(json.loads(await anext(frames))["Data"]) == b"one"
    if deed == "replace":
        (place.parent / "new").write_bytes(b"other")
        (place.parent / "new").replace(place)
    else:
        place.unlink()
    rest = [json.loads(frame) async for frame in frames]
    assert [frame.get("FileEvent") for frame in rest] == ["file deleted"]


async def test_a_file_that_is_cut_is_followed_from_its_start(files):
    place = files.root / "alloc" / "data" / "log"
    place.write_bytes(b"one two three")
    pieces = asked(files, "fs.stream", "alloc/data/log", Plain=True)
    assert await anext(pieces) == b"one two three"
    with place.open("wb") as file:
        file.write(b"new")
    assert await anext(pieces) == b"\n[file truncated]\n"
    assert await anext(pieces) == b"new"
    place.unlink()
    assert await whole(pieces) == b"\n[file deleted]\n"


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("fs.cat", "alloc/data/file"),
        ("fs.ls", "alloc/data"),
        ("fs.ls", "alloc/data/deep"),
        ("fs.stat", "alloc/data/file"),
    ],
)
async def test_a_link_that_appears_after_the_look_leads_nowhere(
    files, monkeypatch, tmp_path, verb, path
):
    place = files.root / "alloc" / "data" / "file"
    place.write_bytes(b"fine")
    (place.parent / "deep").mkdir()
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "file").write_bytes(b"of the host")
    look = file_answers.inside

    def slow_look(root, path):
        found = look(root, path)
        place.parent.rename(place.parent.with_name("before"))
        place.parent.symlink_to(tmp_path / "outside")
        return found

    monkeypatch.setattr(file_answers, "inside", slow_look)
    with pytest.raises(AnswerRefused, match=r"escapes the alloc directory|not a dir|no such file"):
        await whole(asked(files, verb, path))


async def test_a_pipe_is_no_file_and_nobody_waits_for_it(files):
    os.mkfifo(files.root / "alloc" / "data" / "pipe")
    async with asyncio.timeout(5):
        with pytest.raises(AnswerRefused, match="no such file"):
            await whole(asked(files, "fs.cat", "alloc/data/pipe"))


async def test_no_file_stays_open_behind_a_reader(files):
    (files.root / "alloc" / "data" / "file").write_bytes(b"x" * 200_000)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        pieces = asked(files, "fs.cat", "alloc/data/file")
        await anext(pieces)
        await pieces.aclose()
        await whole(asked(files, "fs.readat", "alloc/data/file", Limit=10))
    await asyncio.sleep(0.05)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
