"""The file of a backup: a compressed tar of three members, with a checksum for each.

In: a state as a stream of bytes, and what is said of it. Out: the file; and from a file both,
once every checksum is right. `meta.json` has the words of the reference's snapshots, so that its
command line can inspect the file; what only we know stands in it beside them.
"""

import gzip
import hashlib
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from scheduler.structs.wire import Nanoseconds

#: Raised when a reader of today could not make sense of a file any more.
FORMAT = 2

_META, _STATE, _SUMS = "meta.json", "state.bin", "SHA256SUMS"
_PIECE = 1 << 20
_BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError, KeyError, ValueError)


class BadArchive(Exception):
    """The file is no backup, or not the one that was written; the message says what is wrong."""


class Contents(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """What is said of a backup, and what a restore must know before it begins."""

    format: int
    #: Of the Bivouac that wrote it.
    version: str
    created: Nanoseconds
    index: int
    #: `sqlite` or `postgresql`: where it comes from; it goes into either.
    database: str
    #: Per package of tables: the names of its migrations.
    migrations: dict[str, list[str]]
    #: Rows per table.
    rows: dict[str, int]
    #: Bytes of the state before it was compressed.
    size: int = 0


class _Meta(msgspec.Struct, frozen=True, kw_only=True):
    """`meta.json`."""

    Version: int = 1
    ID: str
    Index: int
    Term: int
    Peers: str | None = None
    Configuration: dict[str, list[str]]
    ConfigurationIndex: int = 0
    Size: int
    Bivouac: Contents


def write_archive(file: BinaryIO, contents: Contents, state: BinaryIO, *, term: int) -> None:
    """Write the file; `state` is read from its beginning, `term` is the leader's epoch."""
    size = state.seek(0, io.SEEK_END)
    meta = msgspec.json.format(
        msgspec.json.encode(
            _Meta(
                ID=f"{term}-{contents.index}-{contents.created // 1_000_000}",
                Index=contents.index,
                Term=term,
                Configuration={"Servers": []},
                Size=size,
                Bivouac=msgspec.structs.replace(contents, size=size),
            )
        )
    )
    state.seek(0)
    sums = f"{hashlib.sha256(meta).hexdigest()}  {_META}\n{_sum_of(state)}  {_STATE}\n".encode()
    state.seek(0)
    # Most of it is bodies in a dense form already: more effort makes it slower and hardly smaller.
    with gzip.GzipFile("", "wb", 2, file, mtime=contents.created // 1_000_000_000) as packed:
        _add(packed, _META, io.BytesIO(meta), len(meta), contents.created)
        _add(packed, _STATE, state, size, contents.created)
        _add(packed, _SUMS, io.BytesIO(sums), len(sums), contents.created)
        # The end of a tar and not a byte more: behind it the reference wants the end of the file,
        # where `tarfile` would fill up a record of 10 KB.
        packed.write(bytes(2 * tarfile.BLOCKSIZE))


def read_contents(file: Path) -> Contents:
    """What the file says of itself, after reading all of it. Raises BadArchive."""
    sums: dict[str, str] = {}
    told = meta = b""
    with _opened(file) as tar:
        for member in tar:
            stream = tar.extractfile(member)
            if stream is None or member.name not in (_META, _STATE, _SUMS):
                raise BadArchive(f"{file} is no backup: it holds {member.name!r}")
            if member.name == _STATE:
                sums[_STATE] = _sum_of(stream)
            elif member.name == _META:
                meta = stream.read()
                sums[_META] = hashlib.sha256(meta).hexdigest()
            else:
                told = stream.read()
    pairs = [line.partition("  ") for line in told.decode("ascii", "replace").splitlines()]
    listed = {name: found for found, _, name in pairs}
    if not meta or _STATE not in sums or not listed:
        raise BadArchive(f"{file} is not complete")
    wrong = [name for name, found in sums.items() if listed.get(name) != found]
    if wrong:
        raise BadArchive(f"{file} is damaged: the checksum of {wrong[0]} is another one")
    try:
        return msgspec.json.decode(meta, type=_Meta).Bivouac
    except msgspec.MsgspecError as error:
        raise BadArchive(f"{file} is no backup of Bivouac: {error}") from None


@contextmanager
def open_state(file: Path) -> Iterator[IO[bytes]]:
    """The state in a file that `read_contents` found whole."""
    with _opened(file) as tar:
        for member in tar:
            stream = tar.extractfile(member)
            if member.name == _STATE and stream is not None:
                yield stream
                return
    raise BadArchive(f"{file} is not complete")


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file, mode="r|gz") as tar:
            yield tar
    except FileNotFoundError:
        raise BadArchive(f"{file} does not exist") from None
    except _BROKEN as error:
        raise BadArchive(f"{file} is no whole backup: {error}") from None


def _add(packed: gzip.GzipFile, name: str, stream: BinaryIO, size: int, created: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    member.mtime = created // 1_000_000_000
    packed.write(member.tobuf())
    shutil.copyfileobj(stream, packed, _PIECE)
    packed.write(bytes(-size % tarfile.BLOCKSIZE))


def _sum_of(stream: IO[bytes]) -> str:
    found = hashlib.sha256()
    while piece := stream.read(_PIECE):
        found.update(piece)
    return found.hexdigest()


def made_at(contents: Contents) -> datetime:
    """When the backup was made."""
    return datetime.fromtimestamp(contents.created / 1e9, UTC)
