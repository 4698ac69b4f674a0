"""An allocation's data as a stream: packed on the node that has it, unpacked where it goes on.

In: the directory of an allocation, or pieces of an archive. Out: pieces, or files. What all tasks
share (`alloc/data`) and each task's `local/` travel; secrets, logs and temporary files never do.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    import tarfile
else:
    # Python 3.11 learned to refuse what leads out of a directory with 3.11.4 only.
    from backports import tarfile

#: Bytes of a piece.
_PIECE = 256 * 1024
#: Of zeros, behind everything that an archive holds.
_END = 1024
_RESERVED = frozenset({"alloc"})


class ArchiveRefused(Exception):
    """The data cannot be packed, or what came may not be unpacked; the text says why."""


async def packed(root: Path) -> AsyncIterator[bytes]:
    """The data below an allocation's directory, as an archive (tar) in pieces.

    Raises ArchiveRefused where it cannot be read to its end.
    """
    reader, writer = os.pipe()
    work = asyncio.create_task(asyncio.to_thread(_pack, root, writer))
    try:
        while piece := await asyncio.to_thread(os.read, reader, _PIECE):
            yield piece
    finally:
        # Whoever packs for nobody finds the pipe broken.
        os.close(reader)
        problem = await work
    if problem:
        raise ArchiveRefused(problem)


async def unpacked(
    pieces: AsyncIterator[bytes], into: Path, most: int, told: Callable[[int], None]
) -> int:
    """Write the files of an archive below `into`; how many bytes came.

    `told` is called with each piece's sum. Raises ArchiveRefused for an archive that leads out,
    that is none, or that has more than `most` bytes.
    """
    reader, writer = os.pipe()
    work = asyncio.create_task(asyncio.to_thread(_unpack, reader, into, most))
    received, end = 0, b""
    try:
        async for piece in pieces:
            received += len(piece)
            end = (end + piece)[-_END:]
            await asyncio.to_thread(_write, writer, piece)
            told(received)
    except BrokenPipeError:
        # What is wrong with it is told by who unpacks.
        pass
    finally:
        os.close(writer)
        problem = await work
    if problem or end != bytes(_END):
        raise ArchiveRefused(problem or "the archive ends too soon")
    return received


def _write(writer: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(writer, view) :]


def _pack(root: Path, writer: int) -> str:
    """Why it could not be packed; "": it is."""
    places = [Path("alloc/data")]
    try:
        places += [
            Path(task.name) / "local"
            for task in sorted(root.iterdir())
            if task.is_dir() and task.name not in _RESERVED
        ]
        with os.fdopen(writer, "wb") as out, tarfile.open(fileobj=out, mode="w|") as archive:
            for place in places:
                if (root / place).is_dir():
                    archive.add(root / place, str(place), filter=_travelling)
    except BrokenPipeError:
        return ""
    except (OSError, tarfile.TarError) as problem:
        return str(problem)
    return ""


def _travelling(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Sockets, pipes and devices mean nothing elsewhere."""
    return member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None


def _unpack(reader: int, into: Path, most: int) -> str:
    """Why it could not be unpacked; "": it is."""
    size = 0
    try:
        with os.fdopen(reader, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                parts = Path(member.name).parts
                if ".." in parts:
                    return f"the archive leads out of its directory: {member.name!r}"
                if parts[:2] != ("alloc", "data") and (len(parts) < 2 or parts[1] != "local"):
                    return f"the archive holds {member.name!r}, which is no data of an allocation"
                size += member.size
                if size > most:
                    return f"the data has more than {most} bytes"
                archive.extract(member, into, filter=_placed)
            # The padding behind the end of an archive is read too, so that nobody writes in vain.
            while stream.read(_PIECE):
                pass
    except tarfile.FilterError as problem:
        return f"the archive leads out of its directory: {problem}"
    except (OSError, tarfile.TarError) as problem:
        return f"the archive cannot be unpacked: {problem}"
    return ""


def _placed(member: tarfile.TarInfo, into: str) -> tarfile.TarInfo:
    """Nothing outside, no devices, no set-uid; owners are kept where the agent may give."""
    kept = tarfile.data_filter(member, into)
    if os.geteuid() == 0:
        kept = kept.replace(uid=member.uid, gid=member.gid, deep=False)
    return kept
