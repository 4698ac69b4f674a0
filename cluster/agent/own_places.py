"""Touches what tasks can write to, without following what a task may have laid there.

In: a directory that no task can replace, and what lies below it. A link, a pipe or a file of
somebody else's in the way is refused or replaced, never gone through: agents are root, and what
they open, give away or change the mode of would be a file of the host.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LeadsOut(PermissionError):
    """The path lies outside of where it must, or did by the time that it was opened."""


@contextlib.contextmanager
def directory(path: Path) -> Iterator[int]:
    """A descriptor of that directory itself. Raises OSError for a link, and for anything else."""
    opened = open_directory(path)
    try:
        yield opened
    finally:
        os.close(opened)


def open_directory(path: Path) -> int:
    """The same, for the caller to close. Raises OSError."""
    return os.open(path, _DIRECTORY)


@contextlib.contextmanager
def directory_in(place: int, name: str) -> Iterator[int]:
    """A descriptor of a directory in an open one. Raises OSError for a link."""
    opened = os.open(name, _DIRECTORY, dir_fd=place)
    try:
        yield opened
    finally:
        os.close(opened)


def create(place: int, name: str) -> int:
    """A descriptor, to be written, of a new file in an open directory. Raises OSError."""
    return os.open(name, _NEW_FILE, 0o600, dir_fd=place)


def make_directory(path: Path, mode: int) -> None:
    """Have it there with exactly this mode, whatever the umask says. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(parents=True)
    with directory(path) as opened:
        os.fchmod(opened, mode)


def give_directory(path: Path, uid: int, gid: int) -> None:
    """Make the directory that user's. Raises OSError."""
    with directory(path) as opened:
        os.fchown(opened, uid, gid)


@contextlib.contextmanager
def way(root: Path, path: Path) -> Iterator[int]:
    """A descriptor of a directory below `root`, made with what is missing on its way.

    Links on it are followed as they lead at the beginning, within `root`; one that is laid
    afterwards is not gone through. Raises LeadsOut and OSError.
    """
    base, place = root.resolve(), path.resolve()
    if not place.is_relative_to(base):
        raise LeadsOut(f"{path} leads out of {root}")
    with _made(base, place.relative_to(base).parts) as opened:
        yield opened


@contextlib.contextmanager
def reading(root: Path, path: Path) -> Iterator[TextIO]:
    """An ordinary file below `root`, opened as text, links followed. Raises LeadsOut, OSError."""
    base, place = root.resolve(), path.resolve()
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if not place.is_relative_to(base):
        raise LeadsOut(f"{path} leads out of {root}")
    opened = os.open(place, flags)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, opened)
        if not place_of(opened, place).is_relative_to(base):
            raise LeadsOut(f"{path} leads out of {root}")
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise PermissionError(errno.EACCES, "no ordinary file", str(path))
        yield stack.enter_context(os.fdopen(opened, closefd=False))


def place_of(opened: int, asked: Path) -> Path:
    """Where an open file lies; as it was asked for where the kernel does not say."""
    try:
        link = Path(f"/proc/self/fd/{opened}").readlink()
        return Path(str(link).removesuffix(" (deleted)"))
    except OSError:
        return asked


def put_file(
    root: Path, path: str, content: bytes, *, mode: int, owner: tuple[int, int] | None = None
) -> None:
    """Put a file there at once, in the place of whatever had its name. Raises OSError.

    Directories that are missing are made. PermissionError where the path leads out of `root`.
    """
    *parts, name = _parts(path)
    with _made(root, parts) as place:
        put_here(place, name, content, mode=mode, owner=owner)


def put_here(
    place: int, name: str, content: bytes, *, mode: int, owner: tuple[int, int] | None
) -> None:
    """The same in an open directory. Raises OSError."""
    draft = f".{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=place)
    with os.fdopen(create(place, draft), "wb") as file:
        file.write(content)
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
    os.rename(draft, name, src_dir_fd=place, dst_dir_fd=place)


def open_file(place: int, name: str) -> int | None:
    """A descriptor, to be read, of an ordinary file in an open directory; None: there is none.

    One that has further names is none: it may be anybody's.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=place)
    except OSError:
        return None
    if is_plain(os.fstat(opened)):
        return opened
    os.close(opened)
    return None


def make_executable(program: Path) -> None:
    """As far as it can be changed: a link is not followed, and what has other names stays."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        opened = os.open(program, flags)
        try:
            told = os.fstat(opened)
            if is_plain(told):
                os.fchmod(opened, stat.S_IMODE(told.st_mode) | 0o555)
        finally:
            os.close(opened)


def is_plain(told: os.stat_result) -> bool:
    """Whether that is an ordinary file with no other name."""
    return stat.S_ISREG(told.st_mode) and told.st_nlink <= 1


@contextlib.contextmanager
def _made(root: Path, parts: Iterable[str]) -> Iterator[int]:
    """The last of these directories, each in the one before, opened; missing ones are made."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(directory(root))
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=place)
            place = stack.enter_context(directory_in(place, part))
        yield place


def _parts(path: str) -> list[str]:
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not kept:
                raise PermissionError("Path escapes the alloc directory")
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    if not kept:
        raise PermissionError("must provide a file name")
    return kept
