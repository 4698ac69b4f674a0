"""Keeps shared tasks off the cores that are set aside for others (node-agent-2.md 10).

In: the directories of cpusets, of either version. Out: every shared task on what is left. Which
cores are taken is read from the groups of those who have them, so that no end of an agent or of a
task loses it. Standard library only: the process beside a task uses it.

Files: kernel.org `admin-guide/cgroup-v1/cpusets.rst`, `admin-guide/cgroup-v2.rst`.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

#: What holds the groups of tasks with cores of their own, by version.
RESERVE_1, RESERVE_2 = "reserve", "reserve.slice"
_CPUS, _MEMORY_NODES = "cpuset.cpus", "cpuset.mems"


def inherit(cpuset: Path) -> None:
    """Fill a new cpuset of version 1: it is empty, and then nobody may enter."""
    for name in (_CPUS, _MEMORY_NODES):
        if not (cpuset / name).read_text().strip():
            (cpuset / name).write_text((cpuset.parent / name).read_text())


def balance_1(parent: Path, usable: set[int] | None = None) -> None:
    """Put every shared task below a parent of version 1 where nobody has cores of its own.

    `usable`: what the parent is to have soon, instead of what it has.
    """
    with _alone(parent):
        usable = usable or cores_in(parent / _CPUS)
        left = _left(usable, parent / RESERVE_1)
        for group in _below(parent):
            _write(group / _CPUS, usable if group.name == RESERVE_1 else left)


def balance_2(parent: Path, share: Path) -> None:
    """The same of version 2, whose groups follow what holds them."""
    if not (share / _CPUS).exists():
        return
    with _alone(parent):
        _write(share / _CPUS, _left(cores_in(parent / f"{_CPUS}.effective"), parent / RESERVE_2))


def balance_around(group: Path) -> None:
    """The same for a group that was made or removed: only one with cores changes anything."""
    reserve = group.parent
    with contextlib.suppress(OSError):
        if reserve.name == RESERVE_1:
            balance_1(reserve.parent)
        elif reserve.name == RESERVE_2:
            balance_2(reserve.parent, reserve.parent / "share.slice")


def usable_cores_of(whole: Path, kept: Iterable[int]) -> set[int]:
    """All cores of that file but those that the node keeps; all, where it keeps every one."""
    there = cores_in(whole)
    return there - set(kept) or there


def give_1(parent: Path, usable: set[int]) -> None:
    """Leave the tasks of a node of version 1 these cores."""
    # Nobody may have more than what holds it: those below shrink first, and grow last.
    balance_1(parent, usable)
    _write(parent / _CPUS, usable)
    balance_1(parent)


def give_2(parent: Path, share: Path, usable: set[int]) -> None:
    """The same of version 2."""
    _write(parent / _CPUS, usable)
    balance_2(parent, share)


def cores_in(file: Path) -> set[int]:
    """The numbers in a list as `0-2,5`; none where there is no such file."""
    cores: set[int] = set()
    with contextlib.suppress(OSError, ValueError):
        for part in file.read_text().strip().split(","):
            first, _, last = part.partition("-")
            cores.update(range(int(first), int(last or first) + 1))
    return cores


def _left(usable: set[int], reserve: Path) -> set[int]:
    """What nobody has for itself; all, where everything is taken: a cpuset is never empty."""
    taken = set().union(*(cores_in(group / _CPUS) for group in _below(reserve)))
    return usable - taken or usable


def _below(parent: Path) -> Iterator[Path]:
    try:
        names = os.listdir(parent)  # noqa: PTH208 - nothing stays open when it breaks off
    except OSError:
        return
    yield from (parent / name for name in sorted(names) if (parent / name).is_dir())


def _write(file: Path, cores: set[int]) -> None:
    """A group that has gone meanwhile needs none; what the kernel refuses stays as it was."""
    with contextlib.suppress(OSError):
        if cores_in(file) != cores:
            file.write_text(",".join(map(str, sorted(cores))))


@contextlib.contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Whoever counts and writes does both before the next one."""
    opened = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
