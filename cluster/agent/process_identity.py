"""Tells a process from a later one with the same number, by its start time; standard library."""

import os
from pathlib import Path

#: The 22nd field of /proc/<pid>/stat, counted from after the command's closing bracket.
_START_FIELD = 19


def boot_id() -> str:
    """Which start of the machine this is: numbers and start times begin anew with each."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_time_of(pid: int) -> int | None:
    """Start time in clock ticks since boot; None when it is no more, or only its corpse.

    Where there is no /proc, 0 stands for every process that answers.
    """
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return 0 if _answers(pid) else None
    try:
        fields = stat.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return int(fields[_START_FIELD])


def is_same_process(pid: int, start_time: int) -> bool:
    """Whether that process still lives."""
    return pid > 0 and start_time_of(pid) == start_time


def children_of(pid: int) -> list[int]:
    """The direct children of a process, corpses excluded."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] not in (b"Z", b"X"):
            found.append(int(entry.parent.name))
    return found


def descendants_of(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children_of(waiting.pop())
        found += below
        waiting += below
    return found


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
