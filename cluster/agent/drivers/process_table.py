"""Which process started which, and what each has used: one pass for all tasks of a node.

In: `/proc`, where there is one, else what psutil tells. Out: counters by process. Fields of
`stat`: man7.org, `proc_pid_stat(5)`.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

PROCESSES = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
#: A line of `stat` is some hundred bytes.
_LONGEST = 4096


class Counters(NamedTuple):
    """One process since it began."""

    parent: int
    #: Seconds of the processor, its own and those of children that it saw end.
    user_s: float
    system_s: float
    ended_user_s: float
    ended_system_s: float
    #: Resident bytes.
    rss: int


class ProcessTable:
    """The processes of this machine at one moment."""

    def __init__(self, processes: Path = PROCESSES) -> None:
        has_files = (processes / "self" / "stat").exists()
        self._found = dict(_from_files(processes) if has_files else _from_library())
        self._children: dict[int, list[int]] = {}
        for pid, counters in self._found.items():
            self._children.setdefault(counters.parent, []).append(pid)

    def below(self, pid: int) -> list[int]:
        """The children of a process, their children, and so on; not itself."""
        found: list[int] = []
        waiting = [pid]
        while waiting:
            children = self._children.get(waiting.pop(), [])
            found += children
            waiting += children
        return found

    def counters(self, pid: int) -> Counters | None:
        """Of one process; None: there was none."""
        return self._found.get(pid)


def _from_files(processes: Path) -> Iterator[tuple[int, Counters]]:
    # One short read for each: a node that measures 200 tasks does nothing else most of its time.
    for name in os.listdir(processes):  # noqa: PTH208 - paths of a thousand names cost more than reading them
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(name), _counters(_line(f"{processes}/{name}/stat"))


def _line(path: str) -> bytes:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, _LONGEST)
    finally:
        os.close(opened)


def _counters(line: bytes) -> Counters:
    # The name before may hold anything, brackets too.
    fields = line[line.rindex(b")") + 2 :].split()
    user, system, ended_user, ended_system = (int(each) / _TICKS for each in fields[11:15])
    rss = int(fields[21]) * _PAGE
    return Counters(int(fields[1]), user, system, ended_user, ended_system, rss)


def _from_library() -> Iterator[tuple[int, Counters]]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error), process.oneshot():
            times, rss = process.cpu_times(), process.memory_info().rss
            yield process.pid, Counters(
                process.ppid(), times.user, times.system,
                getattr(times, "children_user", 0.0), getattr(times, "children_system", 0.0), rss,
            )  # fmt: skip
