"""Reads the logs of a task across their rotated files, and files as they grow (http-api.md 3.4).

In: a directory, where to begin, whether to follow. Out: pieces with their place, or frames.
"""

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cluster.agent import own_places
from cluster.agent.log_rotation import log_numbers

PIECE = 64 * 1024
#: Seconds between looks at a file that may grow.
POLL_S = 0.1
#: Polls without data before a sign of life.
HEARTBEAT_POLLS = 10


@dataclass(frozen=True)
class Piece:
    """Bytes of one file; `offset` is the place after them. No bytes: a sign of life."""

    file: str = ""
    offset: int = 0
    data: bytes = b""
    event: str = ""


@dataclass(frozen=True)
class Window:
    """Where to begin, and whether to go on at the end."""

    offset: int = 0
    from_end: bool = False
    follow: bool = False


async def read_logs(
    directory: Path, name: str, window: Window, is_over: Callable[[], bool]
) -> AsyncIterator[Piece]:
    """The task's output from the window's begin; `is_over`: nothing more will be written."""
    number, offset = _begin_of(directory, name, window)
    quiet = 0
    while True:
        over = is_over()
        data = _read(directory, f"{name}.{number}", offset)
        if data:
            quiet = 0
            offset += len(data)
            yield Piece(f"alloc/logs/{name}.{number}", offset, data)
            continue
        later = [each for each in log_numbers(directory, name) if each > number]
        if later:
            number, offset = later[0], 0
        elif not window.follow or over:
            return
        else:
            quiet += 1
            if quiet % HEARTBEAT_POLLS == 0:
                yield Piece()
            await asyncio.sleep(POLL_S)


async def read_file(
    descriptor: int, path: Path, shown: str, window: Window
) -> AsyncIterator[Piece]:
    """One open file from the window's begin, and on as it grows, is cut or deleted; closes it.

    It stays the file that was opened: another one in its place, at `path`, is not read on, and
    counts as its end.
    """
    try:
        opened = os.fstat(descriptor)
        size = opened.st_size
        offset = max(0, size - window.offset) if window.from_end else min(window.offset, size)
        quiet = 0
        while True:
            data = os.pread(descriptor, PIECE, offset)
            if data:
                quiet = 0
                offset += len(data)
                yield Piece(shown, offset, data)
                continue
            if not window.follow:
                return
            if not _is_still_there(opened, path):
                yield Piece(shown, offset, event="file deleted")
                return
            if os.fstat(descriptor).st_size < offset:
                offset = 0
                yield Piece(shown, 0, event="file truncated")
            quiet += 1
            if quiet % HEARTBEAT_POLLS == 0:
                yield Piece()
            await asyncio.sleep(POLL_S)
    finally:
        os.close(descriptor)


async def framed(pieces: AsyncIterator[Piece]) -> AsyncIterator[bytes]:
    """JSON objects back to back; the file is named whenever it changes."""
    named = ""
    async for piece in pieces:
        frame: dict[str, object] = {}
        if piece.offset:
            frame["Offset"] = piece.offset
        if piece.data:
            frame["Data"] = base64.b64encode(piece.data).decode()
        if piece.file and (piece.file != named or piece.event):
            frame["File"] = named = piece.file
        if piece.event:
            frame["FileEvent"] = piece.event
        yield msgspec.json.encode(frame)


async def plain(pieces: AsyncIterator[Piece]) -> AsyncIterator[bytes]:
    """The bytes alone; what happens to a file that is followed is a line between them."""
    async for piece in pieces:
        if piece.data:
            yield piece.data
        elif piece.event:
            yield f"\n[{piece.event}]\n".encode()


def _begin_of(directory: Path, name: str, window: Window) -> tuple[int, int]:
    """The file and the place in it where the window begins."""
    sizes = [
        (number, (directory / f"{name}.{number}").lstat().st_size)
        for number in log_numbers(directory, name)
    ]
    if not sizes:
        return 0, 0
    total = sum(size for _, size in sizes)
    skip = max(0, total - window.offset) if window.from_end else min(window.offset, total)
    for number, size in sizes[:-1]:
        if skip < size:
            return number, skip
        skip -= size
    return sizes[-1][0], skip


def _is_still_there(opened: os.stat_result, path: Path) -> bool:
    try:
        return os.path.samestat(opened, path.lstat())
    except OSError:
        return False


def _read(directory: Path, name: str, offset: int) -> bytes:
    """Of that file in the directory itself: a task may lay links to what is not its own there."""
    try:
        with own_places.directory(directory) as place:
            descriptor = own_places.open_file(place, name)
    except OSError:
        return b""
    if descriptor is None:
        return b""
    try:
        return os.pread(descriptor, PIECE, offset)
    finally:
        os.close(descriptor)
