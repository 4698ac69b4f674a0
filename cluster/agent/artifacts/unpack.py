"""Archives, unpacked within limits: nothing outside its directory, no links, no bombs.

In: a file and a directory. Out: the files in it. An archive that asks for more than it may is
refused whole; what was written of it until then lies in a directory that is thrown away.
"""

import bz2
import gzip
import io
import lzma
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from cluster.agent.artifacts.order import ArtifactRefused, Limits

_CHUNK = 1024 * 1024
_OPENERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "gz": lambda file: io.BufferedReader(gzip.GzipFile(fileobj=file)),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": lambda file: io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file)),
}
_TARS = {"tgz": "gz", "tbz2": "bz2", "txz": "xz"} | {f"tar.{kind}": kind for kind in _OPENERS}
#: What an archive is told by; the longest that fits counts.
KINDS = ("tar", *_TARS, "zip", *_OPENERS)


def kind_of(name: str, wanted: str) -> str:
    """How the file is packed: by its option `archive` or else its name; "" is not at all."""
    if wanted:
        if wanted.lower() in ("false", "0", "no"):
            return ""
        if wanted.lower() not in ("true", "1", "yes"):
            if wanted not in KINDS:
                raise ArtifactRefused(f"unsupported archive type: {wanted}")
            return wanted
    fitting = [kind for kind in KINDS if name.lower().endswith(f".{kind}")]
    return max(fitting, key=len, default="")


def unpack(file: Path, kind: str, into: Path, limits: Limits) -> None:
    """Write everything in the archive below `into`. Raises ArtifactRefused."""
    into.mkdir(parents=True, exist_ok=True)
    room = _Room(limits)
    try:
        if kind == "zip":
            _unzip(file, into, room)
        elif kind == "tar" or kind in _TARS:
            with _opened(file, _TARS.get(kind, "")) as stream:
                _untar(stream, into, room)
        else:
            with _opened(file, kind) as stream:
                room.take(file.name)
                _copy(stream, into / file.name.removesuffix(f".{kind}"), 0o644, room)
    except (tarfile.TarError, zipfile.BadZipFile, zstandard.ZstdError, lzma.LZMAError) as problem:
        raise ArtifactRefused(f"cannot unpack {file.name}: {problem}") from problem
    except (EOFError, OSError, RuntimeError) as problem:
        raise ArtifactRefused(f"cannot unpack {file.name}: {problem}") from problem


class _Room:
    """What is left of the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files = self._bytes = 0

    def take(self, name: str) -> None:
        """One more file or directory."""
        self._files += 1
        if self._files > self._limits.max_files:
            raise ArtifactRefused(
                f"the archive has more than {self._limits.max_files} files (at {name})"
            )

    def fill(self, size: int) -> None:
        """So many bytes more."""
        self._bytes += size
        if self._bytes > self._limits.max_unpacked:
            raise ArtifactRefused(
                f"the archive unpacks to more than {self._limits.max_unpacked} bytes"
            )


@contextmanager
def _opened(file: Path, kind: str) -> Iterator[IO[bytes]]:
    with file.open("rb") as packed:
        if not kind:
            yield packed
            return
        with _OPENERS[kind](packed) as stream:
            yield stream


def _untar(stream: IO[bytes], into: Path, room: _Room) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            room.take(member.name)
            target = _below(into, member.name)
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                content = archive.extractfile(member)
                assert content is not None, "only files get here"
                _copy(content, target, member.mode, room)
            elif not member.isdev():
                raise ArtifactRefused(f"the archive holds the link {member.name}")
            else:
                raise ArtifactRefused(f"the archive holds the device {member.name}")


def _unzip(file: Path, into: Path, room: _Room) -> None:
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            room.take(entry.filename)
            target = _below(into, entry.filename)
            mode = entry.external_attr >> 16
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif stat.S_ISLNK(mode):
                raise ArtifactRefused(f"the archive holds the link {entry.filename}")
            else:
                with archive.open(entry) as content:
                    _copy(content, target, mode or 0o644, room)


def _below(into: Path, name: str) -> Path:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise ArtifactRefused(f"the archive holds {name}, which leads out of its directory")
    return into.joinpath(*path.parts)


def _copy(content: IO[bytes], target: Path, mode: int, room: _Room) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    with target.open("wb") as file:
        while chunk := content.read(_CHUNK):
            room.fill(len(chunk))
            file.write(chunk)
    # Neither setuid nor setgid, nor a file that its owner cannot read.
    target.chmod((mode & 0o777) | 0o600)
