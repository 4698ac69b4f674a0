"""Counters of processes, and of the control group that holds them alone.

In: the processes of one task. Out: a TaskReading. A group that others share says nothing of the
task: the processes are added up instead.
"""

import contextlib
import functools
from collections.abc import Collection
from pathlib import Path

import psutil

from cluster.agent.control_groups import ControlGroup, GroupOf1
from cluster.agent.drivers.driver import CgroupReading, ProcessReading, TaskReading
from cluster.agent.drivers.process_table import PROCESSES, ProcessTable

CGROUPS = Path("/sys/fs/cgroup")
_MICRO, _NANO = 1_000_000, 1_000_000_000


def read_task(
    table: ProcessTable, pids: Collection[int], keeper: int, own: ControlGroup | None = None
) -> TaskReading | None:
    """The counters of these processes; None once all of them are gone.

    `keeper` is the process beside the task, which adopts and buries what the task leaves behind;
    `own` the control group that was made for the task.
    """
    processes = {pid: each for pid in pids if (each := read_process(table, pid)) is not None}
    if not processes:
        return None
    kept = table.counters(keeper)
    every = processes.values()
    if isinstance(own, GroupOf1):
        counted = read_group_of_1(own)
    else:
        group = group_of(pids)
        counted = None if group is None else read_group(group)
    user_s, system_s = (kept.ended_user_s, kept.ended_system_s) if kept else (0.0, 0.0)
    return TaskReading(
        user_s=user_s + sum(each.user_s + each.ended_user_s for each in every),
        system_s=system_s + sum(each.system_s + each.ended_system_s for each in every),
        processes=processes,
        cgroup=counted,
    )


def read_process(table: ProcessTable, pid: int) -> ProcessReading | None:
    """The counters of one process; None where there was none."""
    found = table.counters(pid)
    if found is None:
        return None
    return ProcessReading(
        user_s=found.user_s,
        system_s=found.system_s,
        ended_user_s=found.ended_user_s,
        ended_system_s=found.ended_system_s,
        rss=found.rss,
        swap=_swap_of(pid) if _has_swap() else 0,
    )


def group_of(
    pids: Collection[int], root: Path = CGROUPS, processes: Path = PROCESSES
) -> Path | None:
    """The control group in which these processes are, and nobody else; None: there is none."""
    if not (root / "cgroup.controllers").is_file() or not pids:
        return None
    try:
        lines = (processes / str(min(pids)) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    name = next((line[3:] for line in lines if line.startswith("0::")), "/").strip("/")
    if not name or ".." in name.split("/"):
        return None
    try:
        members = {int(line) for line in (root / name / "cgroup.procs").read_text().split()}
    except (OSError, ValueError):
        return None
    return root / name if members and members <= set(pids) else None


def read_group(group: Path) -> CgroupReading | None:
    """What its files say; None where it counts neither time nor memory."""
    time, memory = _pairs(group / "cpu.stat"), _pairs(group / "memory.stat")
    usage = _number(group / "memory.current")
    if usage is None or "usage_usec" not in time:
        return None
    return CgroupReading(
        user_s=time.get("user_usec", 0) / _MICRO,
        system_s=time.get("system_usec", 0) / _MICRO,
        periods=time.get("nr_periods", 0),
        throttled_periods=time.get("nr_throttled", 0),
        throttled_ns=time.get("throttled_usec", 0) * 1000,
        rss=memory.get("anon", 0),
        cache=memory.get("file", 0),
        mapped_file=memory.get("file_mapped", 0),
        kernel=memory.get("kernel", 0),
        swap=_number(group / "memory.swap.current") or 0,
        usage=usage,
        max_usage=_number(group / "memory.peak"),
    )


def read_group_of_1(group: GroupOf1) -> CgroupReading | None:
    """The same of version 1, whose controllers lie apart; None where memory is not counted."""
    places = group.places
    memory, time = _pairs(places["memory"] / "memory.stat"), _pairs(places["cpu"] / "cpu.stat")
    usage = _number(places["memory"] / "memory.usage_in_bytes")
    spent = places.get("cpuacct")
    if usage is None or spent is None:
        return None
    return CgroupReading(
        user_s=(_number(spent / "cpuacct.usage_user") or 0) / _NANO,
        system_s=(_number(spent / "cpuacct.usage_sys") or 0) / _NANO,
        periods=time.get("nr_periods", 0),
        throttled_periods=time.get("nr_throttled", 0),
        throttled_ns=time.get("throttled_time", 0),
        rss=memory.get("rss", 0),
        cache=memory.get("cache", 0),
        mapped_file=memory.get("mapped_file", 0),
        kernel=_number(places["memory"] / "memory.kmem.usage_in_bytes") or 0,
        swap=memory.get("swap", 0),
        usage=usage,
        max_usage=_number(places["memory"] / "memory.max_usage_in_bytes"),
    )


@functools.cache
def _has_swap() -> bool:
    # Machines rarely gain swap while they run; without any, nothing of a process lies there.
    return bool(psutil.swap_memory().total)


def _swap_of(pid: int) -> int:
    """Bytes, from the one line that is cheap; what maps the whole memory is not asked."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (PROCESSES / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmSwap:"):
                return int(line.split()[1]) * 1024
    return 0


def _pairs(path: Path) -> dict[str, int]:
    """`name number` lines; {} where there is no such file."""
    found = {}
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if value.isdigit():
                found[name] = int(value)
    return found


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return None
