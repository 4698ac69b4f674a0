"""What was fetched, looked through and put where the task expects it."""

import errno
import shutil
from pathlib import Path

from cluster.agent.artifacts.order import ArtifactRefused


def look_through(tree: Path) -> None:
    """Raise ArtifactRefused when a link in the tree leads out of it."""
    root = tree.resolve()
    for place in tree.rglob("*"):
        if place.is_symlink() and not place.resolve().is_relative_to(root):
            raise ArtifactRefused("artifact includes symlink that resolves outside of sandbox")


def put_file(file: Path, destination: Path, bounds: Path) -> None:
    """One file, at exactly that place."""
    _make_way(destination.parent, bounds)
    if destination.is_dir() and not destination.is_symlink():
        raise ArtifactRefused(f"a directory is in the way at {destination.name}")
    _move(file, destination)


def put_tree(tree: Path, destination: Path, bounds: Path) -> None:
    """Everything in the tree into that directory, over what has the same names there."""
    _make_way(destination, bounds)
    for place in sorted(tree.iterdir()):
        target = destination / place.name
        if place.is_dir() and not place.is_symlink():
            if target.is_symlink() or target.is_file():
                target.unlink()
            put_tree(place, target, bounds)
        else:
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            _move(place, target)


def _move(place: Path, target: Path) -> None:
    """At once, also where the directory of secrets is another file system."""
    try:
        place.replace(target)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        draft = target.with_name(f".{target.name}.draft")
        draft.unlink(missing_ok=True)
        shutil.copy2(place, draft, follow_symlinks=False)
        draft.replace(target)
        place.unlink()


def _make_way(directory: Path, bounds: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if not directory.resolve().is_relative_to(bounds.resolve()):
        raise ArtifactRefused("artifact destination path escapes alloc directory")
