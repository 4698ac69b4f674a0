"""What was fetched, looked through and put where the task expects it."""

import contextlib
import errno
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from cluster.agent import own_places
from cluster.agent.artifacts.order import ArtifactRefused


def look_through(tree: Path) -> None:
    """Raise ArtifactRefused when a link in the tree leads out of it."""
    root = tree.resolve()
    for place in tree.rglob("*"):
        if place.is_symlink() and not place.resolve().is_relative_to(root):
            raise ArtifactRefused("artifact includes symlink that resolves outside of sandbox")


def put_file(file: Path, destination: Path, bounds: Path) -> None:
    """One file, at exactly that place."""
    with _opened(destination.parent, bounds) as place:
        if _is_directory(place, destination.name):
            raise ArtifactRefused(f"a directory is in the way at {destination.name}")
        _move(file, place, destination.name)


def put_tree(tree: Path, destination: Path, bounds: Path) -> None:
    """Everything in the tree into that directory, over what has the same names there."""
    with _opened(destination, bounds) as place:
        _put_below(tree, place)


def give(destination: Path, bounds: Path, user: str) -> None:
    """Make it, and everything below it, that user's; of a link the link alone."""
    uid = pwd.getpwnam(user).pw_uid
    with _opened(destination.parent, bounds) as place:
        _give(place, destination.name, uid)


@contextlib.contextmanager
def _opened(directory: Path, bounds: Path) -> Iterator[int]:
    """Held open, for other tasks of the allocation may exchange what has its name."""
    try:
        with own_places.way(bounds, directory) as place:
            yield place
    except own_places.LeadsOut as problem:
        raise ArtifactRefused("artifact destination path escapes alloc directory") from problem


def _put_below(tree: Path, place: int) -> None:
    for each in sorted(tree.iterdir()):
        is_there = _is_directory(place, each.name)
        if each.is_symlink() or not each.is_dir():
            if is_there:
                shutil.rmtree(each.name, dir_fd=place)
            _move(each, place, each.name)
            continue
        if not is_there:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each.name, dir_fd=place)
            os.mkdir(each.name, dir_fd=place)
        with own_places.directory_in(place, each.name) as inner:
            _put_below(each, inner)


def _give(place: int, name: str, uid: int) -> None:
    os.chown(name, uid, -1, dir_fd=place, follow_symlinks=False)
    if _is_directory(place, name):
        with own_places.directory_in(place, name) as inner:
            with os.scandir(inner) as entries:
                names = [entry.name for entry in entries]
            for each in names:
                _give(inner, each, uid)


def _is_directory(place: int, name: str) -> bool:
    """Itself, and no link to one."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _move(source: Path, place: int, name: str) -> None:
    """At once, also where the directory of secrets is another file system."""
    try:
        os.rename(source, name, dst_dir_fd=place)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        draft = f".{name}.draft"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=place)
        if source.is_symlink():
            os.symlink(source.readlink(), draft, dir_fd=place)
        else:
            _copy(source, place, draft)
        os.rename(draft, name, src_dir_fd=place, dst_dir_fd=place)
        source.unlink()


def _copy(source: Path, place: int, name: str) -> None:
    told = source.stat()
    with (
        source.open("rb") as reader,
        os.fdopen(own_places.create(place, name), "wb") as writer,
    ):
        shutil.copyfileobj(reader, writer)
        writer.flush()
        os.fchmod(writer.fileno(), stat.S_IMODE(told.st_mode))
        os.utime(writer.fileno(), ns=(told.st_atime_ns, told.st_mtime_ns))
