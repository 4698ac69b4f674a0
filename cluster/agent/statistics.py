"""What allocations and the machine use now, in the shapes of the public API (http-api.md 5.5).

`Measured` names what was measured; the other numbers of a shape are 0 and mean nothing.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from cluster.agent.task_usage import CpuUsage, ProcessUsage, TaskUsage

Told = dict[str, object]
_CPU = ["System Mode", "User Mode", "Percent"]
_THROTTLED = ["Throttled Periods", "Throttled Time"]
_GROUP_MEMORY = ["RSS", "Cache", "Swap", "Mapped File", "Usage", "Kernel Usage"]
_MOST_PERCENT = 100.0


def allocation_statistics(
    usages: Mapping[str, TaskUsage],
    *,
    running: Collection[str],
    core_mhz: float = 0.0,
    devices: Mapping[str, list[Told]] = {},
) -> Told:
    """AllocResourceUsage: the running tasks added up; of one that has ended, its last."""
    counted = [usages[name] for name in running]
    memory: list[Told] = [_memory(each) for each in counted]
    cpu: list[Told] = [_cpu(each.cpu, core_mhz, each) for each in counted]
    return {
        "ResourceUsage": {
            "MemoryStats": _sum(_NO_MEMORY, memory),
            "CpuStats": _sum(_NO_CPU, cpu),
            "DeviceStats": [each for name in running for each in devices.get(name, ())],
        },
        "Tasks": {
            name: _task(usage, core_mhz, devices.get(name)) for name, usage in usages.items()
        },
        "Timestamp": max((usage.at for usage in counted), default=0),
    }


def machine_statistics(
    shares: Sequence[tuple[float, float, float]],
    core_mhz: float,
    now: int,
    alloc_dir: Path,
    devices: list[Told] | None = None,
) -> Told:
    """HostStats of the machine, and of the disk that its allocations lie on."""
    memory = psutil.virtual_memory()
    cores = [_core(number, share, core_mhz) for number, share in enumerate(shares)]
    return {
        "Memory": {
            "Total": memory.total,
            "Available": memory.available,
            "Used": memory.used,
            "Free": memory.free,
        },
        "CPU": cores,
        "DiskStats": _disks(),
        "AllocDirStats": _disk(str(alloc_dir)),
        "DeviceStats": devices,
        "Uptime": int(now / 1_000_000_000 - psutil.boot_time()),
        "Timestamp": now,
        "CPUTicksConsumed": sum((_MOST_PERCENT - share[2]) / 100 * core_mhz for share in shares),
    }


def _core(number: int, share: tuple[float, float, float], core_mhz: float) -> Told:
    user, system, idle = share
    return {
        "CPU": f"cpu{number}",
        "User": user,
        "System": system,
        "Idle": idle,
        "TotalPercent": _MOST_PERCENT - idle,
        "TotalTicks": (_MOST_PERCENT - idle) / 100 * core_mhz,
    }


def _task(usage: TaskUsage, core_mhz: float, devices: list[Told] | None) -> Told:
    return {
        "ResourceUsage": {
            "MemoryStats": _memory(usage),
            "CpuStats": _cpu(usage.cpu, core_mhz, usage),
            "DeviceStats": devices,
        },
        "Timestamp": usage.at,
        "Pids": {
            str(pid): {
                "MemoryStats": _process_memory(process),
                "CpuStats": _cpu(process.cpu, core_mhz),
                "DeviceStats": None,
            }
            for pid, process in usage.processes.items()
        },
    }


_NO_MEMORY: Told = {
    "RSS": 0,
    "Cache": 0,
    "Swap": 0,
    "MappedFile": 0,
    "Usage": 0,
    "MaxUsage": 0,
    "KernelUsage": 0,
    "KernelMaxUsage": 0,
    "Measured": None,
}
_NO_CPU: Told = {
    "SystemMode": 0.0,
    "UserMode": 0.0,
    "TotalTicks": 0.0,
    "ThrottledPeriods": 0,
    "ThrottledTime": 0,
    "Percent": 0.0,
    "Measured": None,
}


def _memory(usage: TaskUsage) -> Told:
    plain = _NO_MEMORY | {"RSS": usage.rss, "Swap": usage.swap}
    group = usage.cgroup
    if group is None:
        # No group charges the task; clients that show one number show this.
        return plain | {"Usage": usage.rss, "Measured": ["RSS", "Swap", "Usage"]}
    return plain | {
        "Cache": group.cache,
        "MappedFile": group.mapped_file,
        "Usage": group.usage,
        "MaxUsage": group.max_usage or 0,
        "KernelUsage": group.kernel,
        "Measured": [*_GROUP_MEMORY, *(["Max Usage"] if group.max_usage is not None else [])],
    }


def _process_memory(process: ProcessUsage) -> Told:
    numbers = {"RSS": process.rss, "Swap": process.swap, "Usage": process.rss}
    return _NO_MEMORY | numbers | {"Measured": ["RSS", "Swap", "Usage"]}


def _cpu(cpu: CpuUsage, core_mhz: float, task: TaskUsage | None = None) -> Told:
    group = task.cgroup if task is not None else None
    return {
        "SystemMode": cpu.system,
        "UserMode": cpu.user,
        "TotalTicks": cpu.percent / 100 * core_mhz,
        "ThrottledPeriods": group.throttled_periods if group else 0,
        "ThrottledTime": group.throttled_ns if group else 0,
        "Percent": cpu.percent,
        "Measured": [*_CPU, *(_THROTTLED if group else [])],
    }


def _sum(nothing: Told, every: Sequence[Told]) -> Told:
    """Numbers added up; measured is what was measured of any of them, in their order."""
    if not every:
        return nothing
    names: dict[str, None] = {}
    total = dict(nothing)
    for one in every:
        for key, value in one.items():
            before = total[key]
            if isinstance(value, int | float) and isinstance(before, int | float):
                total[key] = before + value
            elif isinstance(value, list):
                names |= dict.fromkeys(value)
    return total | {"Measured": list(names)}


def _disks() -> list[Told]:
    """The file systems of devices; one that does not answer is left out."""
    found = []
    mounts: dict[str, str] = {"/": ""}
    # One line for each device, however often parts of it are mounted.
    for each in psutil.disk_partitions(all=False):
        if each.device not in mounts.values():
            mounts.setdefault(each.mountpoint, each.device)
            if each.mountpoint == "/":
                mounts["/"] = each.device
    for place, device in mounts.items():
        with suppress(OSError):
            found.append(_disk(place) | {"Device": device, "Mountpoint": place})
    return found


def _disk(path: str) -> Told:
    """The file system a path lies on, without its name."""
    usage, facts = psutil.disk_usage(path), os.statvfs(path)
    used = facts.f_files - facts.f_ffree
    return {
        "Device": "",
        "Mountpoint": "",
        "Size": usage.total,
        "Used": usage.used,
        "Available": usage.free,
        "UsedPercent": usage.percent,
        "InodesUsedPercent": used / facts.f_files * 100 if facts.f_files else 0.0,
    }
