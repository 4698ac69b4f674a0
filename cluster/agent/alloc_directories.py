"""The directories of an allocation on its node's disk (node-agent.md 12.1)."""

import base64
import binascii
import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster.agent.drivers.driver import RUNS, TaskDirectories
from cluster.agent.own_places import make_directory, put_file
from cluster.agent.secret_mounts import SecretMounts, unmount_below
from cluster.agent.task_user import give
from scheduler.structs.job import Job
from scheduler.structs.task_group import Task


class AllocDirectories:
    """Everything below `<alloc_dir>/<allocation id>/`."""

    def __init__(
        self, alloc_dir: Path, alloc_id: str, secrets: SecretMounts | None = None
    ) -> None:
        """`secrets`: how those of tasks are kept; None: on the disk."""
        self.root = alloc_dir / alloc_id
        self._secrets = secrets or SecretMounts()

    @property
    def shared(self) -> Path:
        """Seen by all tasks of the allocation."""
        return self.root / "alloc"

    @property
    def _runs(self) -> Path:
        return self.root.parent / RUNS / self.root.name

    def task(self, name: str) -> TaskDirectories:
        """Where one task lives."""
        return TaskDirectories(root=self.root / name, shared=self.shared)

    def make_shared(self, users: Iterable[str] = ()) -> None:
        """The part that exists before any task; `users`: whom the tasks run as, "" for the agent.

        With one user all of it belongs to that one, with several everybody may write there.
        """
        others = set(users) - {""}
        make_way(self.root.parent)
        self.root.mkdir(exist_ok=True, mode=0o700)
        self.close(others)
        for name in ("data", "tmp", "logs"):
            make_directory(self.shared / name, 0o777)
        self.shared.chmod(0o777)
        if len(others) == 1:
            give(self.shared, others.pop())

    def close(self, users: Iterable[str]) -> None:
        """Let nobody of the host in but the agent, and through to their own those users alone.

        Others could plant what a task of root then runs.
        """
        self.root.chmod(0o711 if set(users) - {""} else 0o700)

    def make_task(self, task: Task, job: Job, *, has_image: bool = False) -> TaskDirectories:
        """The part of one task, with the dispatch payload if it takes one. Raises OSError.

        `has_image`: who it runs as is known to its image alone.
        """
        places = self.task(task.name)
        make_directory(places.root, 0o700)
        make_directory(places.local, 0o777)
        # The task's directory keeps everybody else out of it.
        mode = 0o777 if has_image else 0o700
        self._secrets.prepare(places.secrets, task.resources.secrets_mb, mode)
        make_directory(places.private, 0o700)
        for place in (self._runs.parent, self._runs, places.runs):
            make_directory(place, 0o700)
        make_directory(places.root / "tmp", 0o1777)
        if task.dispatch_payload and task.dispatch_payload.file and job.payload:
            with contextlib.suppress(binascii.Error):
                payload = base64.b64decode(job.payload)
                put_file(places.local, task.dispatch_payload.file, payload, mode=0o644)
        return places

    def take_over(self, previous: "AllocDirectories", task_names: list[str]) -> None:
        """Move the data of the allocation this one replaces here (sticky disk)."""
        moves = [(previous.shared / "data", self.shared / "data")]
        moves += [(previous.task(name).local, self.task(name).local) for name in task_names]
        for source, target in moves:
            # A link in its place would lead the next start out.
            if source.is_dir() and not source.is_symlink():
                shutil.rmtree(target, ignore_errors=True)
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)

    def remove(self) -> None:
        """Delete all of it; what is mounted there is taken away, never emptied."""
        unmount_below(self.root)
        shutil.rmtree(self._runs, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)


def make_way(path: Path) -> None:
    """The directory and what is missing above it: whoever knows the names may come through."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    for place in reversed(missing):
        make_directory(place, 0o711)


def place_in(directories: TaskDirectories, path: str) -> Path | None:
    """Where a task's relative path leads, links not followed; None: out of its allocation.

    One from the root counts as it is where it lies in the allocation, as `${NOMAD_TASK_DIR}` does.
    """
    bounds = directories.root.parent
    wanted = Path(path)
    if not (wanted.is_absolute() and wanted.is_relative_to(bounds)):
        root = directories.root
        if directories.is_rooted and path.startswith("/alloc/"):
            # Where its own root shows it that directory.
            root, path = directories.shared, path.removeprefix("/alloc")
        wanted = root / path.lstrip("/")
    kept: list[str] = []
    for part in wanted.parts:
        if part == "..":
            kept = kept[:-1] or kept
        elif part != ".":
            kept.append(part)
    place = Path(*kept)
    return place if place.is_relative_to(bounds) else None


def inside(root: Path, path: str) -> Path:
    """`path` below `root`, links followed. Raises PermissionError when it leads out of it."""
    target = (root / path.lstrip("/")).resolve()
    if not target.is_relative_to(root.resolve()):
        raise PermissionError("Path escapes the alloc directory")
    return target
