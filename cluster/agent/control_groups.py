"""Control groups of tasks, in both versions of the kernel's interface (node-agent-2.md 10).

In: a name and limits. Out: a group that holds one task: what it may use, how it is ended as a
whole, whether it ran out of memory. Standard library only: the process beside a task uses it.

Files: kernel.org `admin-guide/cgroup-v2.rst` and `admin-guide/cgroup-v1/`.
"""

import contextlib
import math
import os
import select
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cluster.agent import core_shares

ROOT = Path("/sys/fs/cgroup")
MOUNTS = Path("/proc/self/mountinfo")
MEGABYTE = 1024 * 1024
#: Microseconds, of a limited processor.
PERIOD = 100_000
#: Looks at a group whose processes were killed or frozen, and seconds between them.
_TRIES, _PAUSE_S = 300, 0.01
#: What a group must be able to hold a task to.
_NEEDED_1 = ("cpu", "memory", "pids", "freezer")
_NEEDED_2 = ("cpu", "memory", "pids")


class NoControlGroups(Exception):
    """No group can be made here; the text says why."""


class GroupLimits(NamedTuple):
    """What one task may use; 0: no limit."""

    #: Weight against other tasks: megahertz.
    cpu_shares: int = 0
    #: Processors at most, also while nobody else wants them.
    cpu_count: float = 0.0
    #: Bytes: more is never given.
    memory: int = 0
    #: Bytes that are taken away last.
    memory_low: int = 0
    #: Processes and threads.
    pids: int = 0
    #: Numbers of the processors it runs on.
    cores: tuple[int, ...] = ()


class ControlGroup(ABC):
    """The control group of one task, made or yet to be."""

    version: int

    @property
    @abstractmethod
    def directories(self) -> tuple[Path, ...]:
        """Where it lies: one for version 2, one for each controller for version 1."""

    @abstractmethod
    def make(self, limits: GroupLimits) -> None:
        """Make it anew, without anybody in it. Raises OSError."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL to all that is in it, without anything escaping by a fork."""

    @abstractmethod
    def oom_kills(self) -> int:
        """How many of its processes were killed because its memory ran out."""

    @property
    def noted(self) -> dict[str, Any]:
        """For whoever is to find it again: see `found_group`."""
        return {"version": self.version, "directories": list(map(str, self.directories))}

    def join(self) -> None:
        """Put this process into it. Raises OSError."""
        for directory in self.directories:
            # 0 stands for whoever writes, whatever namespace it is in.
            (directory / "cgroup.procs").write_text("0")

    def members(self) -> list[int]:
        """The processes in it."""
        return _numbers(self.directories[0] / "cgroup.procs")

    def remove(self) -> None:
        """End what is in it and delete it; what the kernel keeps busy stays behind."""
        left = list(self.directories)
        for _ in range(_TRIES):
            self.kill()
            left = [directory for directory in left if not _removed(directory)]
            if not left:
                break
            _pause()
        for directory in self.directories:
            core_shares.balance_around(directory)


class GroupOf2(ControlGroup):
    """A group of version 2: one directory for all controllers."""

    version = 2

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def directories(self) -> tuple[Path, ...]:
        return (self._directory,)

    def make(self, limits: GroupLimits) -> None:
        if self._directory.is_dir():
            self.remove()
        self._directory.mkdir()
        for name, value in files_of_2(limits).items():
            (self._directory / name).write_text(value)
        core_shares.balance_around(self._directory)

    def kill(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if (self._directory / "cgroup.kill").exists():
                (self._directory / "cgroup.kill").write_text("1")
                return
            # Before Linux 5.14.
            _kill_all(self.members())

    def oom_kills(self) -> int:
        return _named(self._directory / "memory.events", "oom_kill")


class GroupOf1(ControlGroup):
    """A group of version 1: a directory for each controller."""

    version = 1

    def __init__(self, places: Mapping[str, Path]) -> None:
        #: By controller.
        self.places = dict(places)

    @property
    def directories(self) -> tuple[Path, ...]:
        # Controllers that are mounted together share one.
        return tuple(dict.fromkeys(self.places.values()))

    @property
    def noted(self) -> dict[str, Any]:
        places = {name: str(path) for name, path in self.places.items()}
        return {"version": self.version, "places": places}

    def make(self, limits: GroupLimits) -> None:
        if any(directory.is_dir() for directory in self.directories):
            self.remove()
        for directory in self.directories:
            directory.mkdir()
        if "cpuset" in self.places:
            core_shares.inherit(self.places["cpuset"])
        for controller, name, value in files_of_1(limits):
            if controller in self.places:
                (self.places[controller] / name).write_text(value)
        if "cpuset" in self.places:
            cpuset = self.places["cpuset"]
            is_reserved = cpuset.parent.name == core_shares.RESERVE_1
            core_shares.balance_1(cpuset.parent.parent if is_reserved else cpuset.parent)

    def kill(self) -> None:
        state = self.places["freezer"] / "freezer.state"
        with contextlib.suppress(OSError):
            # What is frozen cannot fork while it is counted.
            state.write_text("FROZEN")
            _wait_for(state, "FROZEN")
        _kill_all(self.members())
        with contextlib.suppress(OSError):
            state.write_text("THAWED")

    def oom_kills(self) -> int:
        return _named(self.places["memory"] / "memory.oom_control", "oom_kill")


def found_group(noted: Mapping[str, Any]) -> ControlGroup:
    """The group that `ControlGroup.noted` told of."""
    if noted["version"] == 2:
        return GroupOf2(Path(noted["directories"][0]))
    return GroupOf1({name: Path(path) for name, path in noted["places"].items()})


class ControlGroups(NamedTuple):
    """Where this machine's groups are made."""

    version: int
    #: What holds the groups of tasks: by controller for version 1, under "" for version 2.
    parents: Mapping[str, Path]

    def group(self, name: str, *, has_cores: bool = False) -> ControlGroup:
        """The one of that name, made or yet to be; `has_cores`: of its own."""
        if self.version == 2:
            share = self.parents[""]
            reserve = share.parent / core_shares.RESERVE_2
            return GroupOf2((reserve if has_cores else share) / f"{name}.scope")
        places = {key: parent / name for key, parent in self.parents.items()}
        if has_cores and "cpuset" in places:
            places["cpuset"] = self.parents["cpuset"] / core_shares.RESERVE_1 / name
        return GroupOf1(places)


def control_groups(
    root: Path = ROOT,
    mounts: Path = MOUNTS,
    parent: str = "bivouac",
    kept: tuple[int, ...] = (),
) -> ControlGroups:
    """The machine's groups, with our parent in them. Raises NoControlGroups.

    `kept`: cores that no task runs on.
    """
    if os.geteuid() != 0:
        raise NoControlGroups("the agent does not run as root")
    try:
        if (root / "cgroup.controllers").is_file():
            return _of_2(root, parent, kept)
        return _of_1(mounts, parent, kept)
    except OSError as problem:
        raise NoControlGroups(f"no control group can be made: {problem}") from problem


def version_here(root: Path = ROOT, mounts: Path = MOUNTS) -> int:
    """Of the control groups that are mounted; 0: none."""
    if (root / "cgroup.controllers").is_file():
        return 2
    return 1 if "memory" in _mounted(mounts) else 0


def weight_of(shares: int) -> int:
    """Version 2's weight for version 1's shares, as runtimes of containers convert them."""
    if shares <= 0:
        return 0
    if shares <= 2:
        return 1
    if shares >= 262144:
        return 10000
    power = math.log2(shares)
    return math.ceil(10 ** ((power * power + 125 * power) / 612 - 7 / 34))


def files_of_2(limits: GroupLimits) -> dict[str, str]:
    """What version 2 is to be told, by file."""
    files = {}
    if limits.cpu_shares:
        files["cpu.weight"] = str(weight_of(limits.cpu_shares))
    if limits.cpu_count:
        files["cpu.max"] = f"{_quota(limits)} {PERIOD}"
    if limits.memory_low:
        files["memory.low"] = str(limits.memory_low)
    if limits.memory:
        files["memory.max"] = str(limits.memory)
        files["memory.swap.max"] = "0"
    if limits.pids:
        files["pids.max"] = str(limits.pids)
    if limits.cores:
        files["cpuset.cpus"] = ",".join(map(str, limits.cores))
    return files


def files_of_1(limits: GroupLimits) -> Iterator[tuple[str, str, str]]:
    """What version 1 is to be told: controller, file, value."""
    if limits.cpu_shares:
        yield "cpu", "cpu.shares", str(max(2, limits.cpu_shares))
    if limits.cpu_count:
        yield "cpu", "cpu.cfs_period_us", str(PERIOD)
        yield "cpu", "cpu.cfs_quota_us", str(_quota(limits))
    if limits.memory:
        yield "memory", "memory.swappiness", "0"
        yield "memory", "memory.limit_in_bytes", str(limits.memory)
    if limits.memory_low:
        yield "memory", "memory.soft_limit_in_bytes", str(limits.memory_low)
    if limits.pids:
        yield "pids", "pids.max", str(limits.pids)
    if limits.cores:
        yield "cpuset", "cpuset.cpus", ",".join(map(str, limits.cores))


def _quota(limits: GroupLimits) -> int:
    # The kernel takes no less than a millisecond.
    return max(1000, int(limits.cpu_count * PERIOD))


def _of_2(root: Path, parent: str, kept: tuple[int, ...]) -> ControlGroups:
    there = (root / "cgroup.controllers").read_text().split()
    if missing := [name for name in _NEEDED_2 if name not in there]:
        raise NoControlGroups(f"the kernel offers no controller {', '.join(missing)}")
    wanted = [name for name in (*_NEEDED_2, "cpuset") if name in there]
    slice_ = root / f"{parent}.slice"
    share = slice_ / "share.slice"
    reserve = slice_ / core_shares.RESERVE_2
    for directory, below in ((root, slice_), (slice_, share), (slice_, reserve)):
        _enable(directory, wanted)
        below.mkdir(exist_ok=True)
    for directory in (share, reserve):
        _enable(directory, wanted)
    if "cpuset" in wanted:
        usable = core_shares.usable_cores_of(root / "cpuset.cpus.effective", kept)
        core_shares.give_2(slice_, share, usable)
    return ControlGroups(2, {"": share})


def _enable(directory: Path, controllers: list[str]) -> None:
    place = directory / "cgroup.subtree_control"
    if missing := set(controllers) - set(place.read_text().split()):
        place.write_text(" ".join(f"+{name}" for name in sorted(missing)))


def _of_1(mounts: Path, parent: str, kept: tuple[int, ...]) -> ControlGroups:
    places = _mounted(mounts)
    if not places:
        raise NoControlGroups("Failed to discover cgroup mount point")
    if missing := [name for name in _NEEDED_1 if name not in places]:
        raise NoControlGroups(f"no control group of {', '.join(missing)} is mounted")
    parents = {}
    for name in (*_NEEDED_1, "cpuacct", "cpuset"):
        if name in places:
            parents[name] = places[name] / parent
            parents[name].mkdir(exist_ok=True)
    if "cpuset" in parents:
        _prepare_1(parents["cpuset"], kept)
    return ControlGroups(1, parents)


def _prepare_1(cpuset: Path, kept: tuple[int, ...]) -> None:
    core_shares.inherit(cpuset)
    (cpuset / core_shares.RESERVE_1).mkdir(exist_ok=True)
    core_shares.inherit(cpuset / core_shares.RESERVE_1)
    usable = core_shares.usable_cores_of(cpuset.parent / "cpuset.cpus", kept)
    core_shares.give_1(cpuset, usable)


def _mounted(mounts: Path) -> dict[str, Path]:
    """Where each controller of version 1 is mounted."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in mounts.read_text().splitlines():
            place, _, kind = line.partition(" - ")
            words = kind.split()
            if words[:1] == ["cgroup"]:
                for controller in words[-1].split(","):
                    found.setdefault(controller, Path(place.split()[4]))
    return found


def _pause() -> None:
    select.select((), (), (), _PAUSE_S)


def _kill_all(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _wait_for(file: Path, text: str) -> None:
    for _ in range(_TRIES):
        if file.read_text().strip() == text:
            return
        _pause()


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _named(file: Path, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _numbers(file: Path) -> list[int]:
    with contextlib.suppress(OSError, ValueError):
        return [int(line) for line in file.read_text().split()]
    return []
