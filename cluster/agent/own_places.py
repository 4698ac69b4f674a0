"""Touches what tasks can write to, without following what a task may have laid there.

In: a directory that no task can replace, and what lies below it. A link, a pipe or a file of
somebody else's in the way is refused or replaced, never gone through: agents are root, and what
they open, give away or change the mode of would be a file of the host.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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


def put_file(
    root: Path, path: str, content: bytes, *, mode: int, owner: tuple[int, int] | None = None
) -> None:
    """Put a file there at once, in the place of whatever had its name. Raises OSError.

    Directories that are missing are made. PermissionError where the path leads out of `root`.
    """
    *way, name = _parts(path)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(directory(root))
        for part in way:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=place)
            place = os.open(part, _DIRECTORY, dir_fd=place)
            stack.callback(os.close, place)
        _put(place, name, content, mode, owner)


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


def _put(place: int, name: str, content: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    draft = f".{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=place)
    with os.fdopen(os.open(draft, _NEW_FILE, 0o600, dir_fd=place), "wb") as file:
        file.write(content)
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
    os.rename(draft, name, src_dir_fd=place, dst_dir_fd=place)


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
