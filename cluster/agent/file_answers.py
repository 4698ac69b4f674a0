"""Looks into the directories of allocations: list, stat, read, follow (http-api.md 3.3).

Paths never lead out of the allocation's directory; secrets and the agent's own files stay closed.
"""

import asyncio
import contextlib
import mimetypes
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cluster.agent.agent_state import Storage
from cluster.agent.alloc_directories import inside
from cluster.agent.alloc_host import AllocHost
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.disk_archive import ArchiveRefused, packed
from cluster.agent.log_stream import Window, framed, plain, read_file
from cluster.agent.own_places import directory, place_of
from scheduler.structs.wire import Wire

Body = dict[str, object]
#: Directories of a task that may be listed, and whose files are not given out.
_CLOSED = {"secrets": "secret", "private": "private"}


class FileCall(Wire, frozen=True):
    """Which file of which allocation, and how much of it."""

    alloc_id: str
    path: str = "/"
    offset: int = 0
    #: Bytes; 0: to the end.
    limit: int = 0
    origin: str = "start"
    follow: bool = True
    #: The bytes alone, without frames.
    plain: bool = False


class FileAnswers:
    """The answers about files."""

    def __init__(self, host: AllocHost, storage: Storage) -> None:
        self.host = host
        self.storage = storage
        self.verbs: dict[str, Callable[[Body], AsyncIterator[bytes]]] = {
            "fs.ls": self._list,
            "fs.stat": self._stat,
            "fs.cat": self._cat,
            "fs.readat": self._cat,
            "fs.stream": self._stream,
            "alloc.data": self._data,
        }

    async def _list(self, body: Body) -> AsyncIterator[bytes]:
        call, root, place = self._place(body)
        try:
            entries = await asyncio.to_thread(_listed, root, place)
        except FileNotFoundError:
            raise AnswerRefused(f"open {place}: no such file or directory", 404) from None
        except NotADirectoryError:
            raise AnswerRefused(f"{call.path}: not a directory", 400) from None
        yield msgspec.json.encode(entries)

    async def _data(self, body: Body) -> AsyncIterator[bytes]:
        """For another node, where the allocation's replacement is: the server alone asks."""
        alloc_id = msgspec.convert(body, FileCall).alloc_id
        entry, directories = self.host.entries.get(alloc_id), self.storage.directories(alloc_id)
        if entry is None or directories is None or not directories.root.is_dir():
            raise AnswerRefused(f'Unknown allocation "{alloc_id}"', 404)
        if not entry.runner.is_terminal:
            raise AnswerRefused("the allocation before still runs", 400)
        try:
            async for piece in packed(directories.root):
                yield piece
        except ArchiveRefused as problem:
            raise AnswerRefused(str(problem), 500) from problem

    async def _stat(self, body: Body) -> AsyncIterator[bytes]:
        _, root, place = self._place(body)
        try:
            facts = await asyncio.to_thread(_facts_of, root, place)
        except OSError:
            raise AnswerRefused(f"stat {place}: no such file or directory", 404) from None
        kind = "application/octet-stream"
        if stat.S_ISREG(facts.st_mode):
            kind = mimetypes.guess_type(place.name)[0] or "text/plain"
            kind += "; charset=utf-8" if kind.startswith("text/") else ""
        yield msgspec.json.encode(_described(place.name, facts) | {"ContentType": kind})

    async def _cat(self, body: Body) -> AsyncIterator[bytes]:
        call, place, opened = self._readable(body)
        left = call.limit
        pieces = read_file(opened, place, call.path, Window(offset=call.offset))
        async for piece in plain(pieces):
            if call.limit <= 0:
                yield piece
                continue
            yield piece[:left]
            left -= len(piece[:left])
            if left == 0:
                return

    async def _stream(self, body: Body) -> AsyncIterator[bytes]:
        if body.get("Origin", "start") not in ("start", "end"):
            raise AnswerRefused("origin must be start or end", 400)
        call, place, opened = self._readable(body, missing=400)
        window = Window(call.offset, from_end=call.origin == "end", follow=call.follow)
        pieces = read_file(opened, place, call.path, window)
        async for frame in plain(pieces) if call.plain else framed(pieces):
            yield frame

    def _place(self, body: Body) -> tuple[FileCall, Path, Path]:
        """What is asked, the allocation's directory, and where in it that is at this moment."""
        call = msgspec.convert(body, FileCall)
        directories = self.storage.directories(call.alloc_id)
        if call.alloc_id not in self.host.entries or directories is None:
            raise AnswerRefused(f'Unknown allocation "{call.alloc_id}"', 404)
        try:
            place = inside(directories.root, call.path)
        except PermissionError as refused:
            raise AnswerRefused(str(refused), 400) from refused
        return call, directories.root.resolve(), place

    def _readable(self, body: Body, *, missing: int = 404) -> tuple[FileCall, Path, int]:
        """A file that may be read, opened: not below a task's `secrets/` or `private/`.

        One that is not there is refused with the status `missing`. What a task puts into the way
        between the look and the opening leads nowhere: the place is looked at once more.
        """
        call, root, place = self._place(body)
        if call.path.strip("/") == "":
            raise AnswerRefused("must provide a file name", 400)
        _require_open(root, place, call.path)
        descriptor = _opened(place)
        if descriptor is None:
            raise AnswerRefused(f"stat {place}: no such file or directory", missing)
        try:
            _require_open(root, place_of(descriptor, place), call.path)
        except AnswerRefused:
            os.close(descriptor)
            raise
        return call, place, descriptor


def _require_open(root: Path, place: Path, shown: str) -> None:
    """Refuse a place that is closed, or none of the allocation's."""
    _require_below(root, place)
    parts = [part.lower() for part in place.relative_to(root).parts]
    if len(parts) > 1 and parts[1] in _CLOSED and parts[0] != "alloc":
        raise AnswerRefused(f"Reading {_CLOSED[parts[1]]} file prohibited: {shown}", 403)


def _require_below(root: Path, place: Path) -> None:
    if not place.is_relative_to(root):
        raise AnswerRefused("Path escapes the alloc directory", 400)


def _opened(place: Path) -> int | None:
    """A descriptor of an ordinary file; None where there is none. Waits for no pipe's writer."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _facts_of(root: Path, place: Path) -> os.stat_result:
    """Of what lies there, a link as the link that it is. Raises OSError."""
    if place == root:
        return place.lstat()
    with _held(root, place.parent) as opened:
        return os.stat(place.name, dir_fd=opened, follow_symlinks=False)


def _listed(root: Path, place: Path) -> list[dict[str, object]]:
    """What lies in a directory; what goes away meanwhile is left out. Raises OSError."""
    found = []
    with _held(root, place) as opened:
        with os.scandir(opened) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                facts = os.stat(name, dir_fd=opened, follow_symlinks=False)
                found.append(_described(name, facts))
    return found


@contextlib.contextmanager
def _held(root: Path, place: Path) -> Iterator[int]:
    """A directory, opened: one that a task laid a link to since it was looked at is refused."""
    with directory(place) as opened:
        _require_below(root, place_of(opened, place))
        yield opened


def mode_text(mode: int) -> str:
    """As the reference writes it: every kind and special bit by a letter, then the rights."""
    kinds = (
        ("d", stat.S_ISDIR(mode)), ("L", stat.S_ISLNK(mode)),
        ("D", stat.S_ISBLK(mode) or stat.S_ISCHR(mode)), ("p", stat.S_ISFIFO(mode)),
        ("S", stat.S_ISSOCK(mode)), ("u", mode & stat.S_ISUID), ("g", mode & stat.S_ISGID),
        ("c", stat.S_ISCHR(mode)), ("t", mode & stat.S_ISVTX),
    )  # fmt: skip
    letters = "".join(letter for letter, is_set in kinds if is_set) or "-"
    bits = zip("rwxrwxrwx", range(8, -1, -1), strict=True)
    return letters + "".join(right if mode >> at & 1 else "-" for right, at in bits)


def _described(name: str, facts: os.stat_result) -> dict[str, object]:
    changed = datetime.fromtimestamp(facts.st_mtime, UTC)
    return {
        "Name": name,
        "IsDir": stat.S_ISDIR(facts.st_mode),
        "Size": facts.st_size,
        "FileMode": mode_text(facts.st_mode),
        "ModTime": changed.isoformat().replace("+00:00", "Z"),
    }
